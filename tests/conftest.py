"""Shared by all tests: GPU tests are skipped with the reason where there is no GPU."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    from opar.backend.program import get_device
    from opar.errors import DeviceError

    try:
        get_device("cuda")
    except DeviceError as error:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=str(error)))


@pytest.fixture(autouse=True)
def cache_in_tmp(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests share no cache with the user."""
    directory = tmp_path_factory.getbasetemp() / "cache"
    monkeypatch.setenv("OPAR_CACHE_DIR", str(directory))


@pytest.fixture
def examples() -> Path:
    """The folder of the examples."""
    return ROOT / "examples"


@pytest.fixture(scope="session")
def ptxas() -> Path:
    """The assembler of the wheel `nvidia-cuda-nvcc`; never one on PATH, which may be older."""
    packages = Path(sysconfig.get_paths()["purelib"])
    found = sorted(packages.glob("nvidia/cu*/bin/ptxas"))
    if not found:
        pytest.skip("ptxas is not installed: pip install nvidia-cuda-nvcc")
    return found[-1]
