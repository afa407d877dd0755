"""libdevice, NVIDIA's math library as LLVM bitcode: where it is, and linking it in."""

from __future__ import annotations

import importlib.util
import os
from functools import cache
from pathlib import Path

_RELATIVE = Path("nvvm/libdevice/libdevice.10.bc")


@cache
def find_libdevice() -> Path | None:
    """
    `libdevice.10.bc`, or None: by cuda-pathfinder, in the wheel `nvidia-nvvm`, under `$CUDA_HOME`
    or `$CUDA_PATH`, or in `/usr/local/cuda`.
    """
    for directory in _candidates():
        file = directory / _RELATIVE
        if file.is_file():
            return file
    return _by_pathfinder()


def _candidates() -> list[Path]:
    found = [Path(os.environ[v]) for v in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(v)]
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations or () if spec is not None else ():
        found += sorted(Path(place).glob("cu*"), reverse=True)
        found.append(Path(place) / "cuda_nvcc")
    return [*found, Path("/usr/local/cuda")]


def _by_pathfinder() -> Path | None:
    try:
        from cuda.pathfinder import find_bitcode_lib  # pyright: ignore
    except ImportError:
        return None
    try:
        return Path(find_bitcode_lib("device"))
    except Exception as error:  # its errors have no common public class
        if type(error).__module__.startswith("cuda.pathfinder"):
            return None
        raise
