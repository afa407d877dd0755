"""Compiled programs on disk, by content; several processes may use it at once (diskcache)."""

from __future__ import annotations

import hashlib
import os
import pickle
import sqlite3
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

CACHE_ENVIRONMENT = "OPAR_CACHE_DIR"
"""Environment variable that names another directory for the cache."""

_SIZE_LIMIT = 1 << 30
_CHECK = hashlib.sha256().digest_size


def cache_directory() -> Path:
    """The directory of the cache: `$OPAR_CACHE_DIR`, or `opar` in the user's cache directory."""
    if chosen := os.environ.get(CACHE_ENVIRONMENT):
        return Path(chosen)
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("opar"))


def digest(*parts: object) -> str:
    """A key for everything that a compiled program depends on: `parts`, opar itself, versions."""
    state = hashlib.sha256()
    for part in (*_toolchain(), *parts):
        data = repr(part).encode()
        state.update(len(data).to_bytes(8, "little") + data)
    return state.hexdigest()


def _toolchain() -> list[object]:
    package = Path(__file__).resolve().parent.parent
    files = sorted(package.rglob("*.py"))
    stats = [(str(f.relative_to(package)), (s := f.stat()).st_mtime_ns, s.st_size) for f in files]
    return [stats, *(version(name) for name in ("xdsl", "llvmlite"))]


def code_for(kind: str, arch: str) -> str:
    """What machine code fits: the GPU `arch`, or this very CPU."""
    if kind == "cuda":
        return arch
    import llvmlite.binding as llvm

    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def load(key: str) -> Any:
    """What is stored under `key`; None where there is nothing, or nothing whole."""
    stored = _with_cache(lambda cache: cache.get(key))
    if not isinstance(stored, bytes) or len(stored) < _CHECK:
        return None
    check, data = stored[:_CHECK], stored[_CHECK:]
    return pickle.loads(data) if hashlib.sha256(data).digest() == check else None


def store(key: str, value: Any) -> None:
    """Store `value` under `key`, with a check sum."""
    data = pickle.dumps(value)
    _with_cache(lambda cache: cache.set(key, hashlib.sha256(data).digest() + data))


def _with_cache(use: Any) -> Any:
    from diskcache import Cache, Timeout

    try:
        with Cache(str(cache_directory()), size_limit=_SIZE_LIMIT) as cache:
            return use(cache)
    except (OSError, sqlite3.Error, Timeout, EOFError, ValueError, pickle.PickleError) as error:
        warnings.warn(f"the cache in {cache_directory()} is not used: {error}", stacklevel=1)
        return None
