"""Fixtures of the backend tests."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def ptxas() -> Path:
    """The assembler of the wheel `nvidia-cuda-nvcc`; never one on PATH, which may be older."""
    packages = Path(sysconfig.get_paths()["purelib"])
    found = sorted(packages.glob("nvidia/cu*/bin/ptxas"))
    if not found:
        pytest.skip("ptxas is not installed: pip install nvidia-cuda-nvcc")
    return found[-1]
