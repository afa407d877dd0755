"""The filecheck files, one test each, so that one runner reports everything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "filecheck"


@pytest.mark.parametrize("name", sorted(str(f.relative_to(FILES)) for f in FILES.rglob("*.mlir")))
def test_filecheck(name: str, tmp_path: Path) -> None:
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = os.environ | {"PATH": path, "OPAR_LIT_OUTPUT": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", "from lit.main import main; main()", "-v", str(FILES / name)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0 and "Passed: 1" in result.stdout, result.stdout + result.stderr
