"""
How long `opar-run` takes from the shell for the seed program on the CPU: compiled, and from the
cache. `python -m bench.command_line`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.timing import medians
from tests.programs import seed


def main() -> None:
    """Print the median of 9 runs each."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "seed.mlir"
        file.write_text(seed(4, 5, 3))
        environment = os.environ | {"OPAR_CACHE_DIR": str(Path(folder) / "cache")}
        command = [sys.executable, "-m", "opar.tools.opar_run", str(file), "--device", "cpu"]

        def run(*more: str) -> None:
            subprocess.run([*command, *more], env=environment, check=True, capture_output=True)

        cold, warm = medians(lambda: run("--no-cache"), run, repeat=9)
    print(f"opar-run, seed, CPU: {cold:.2f} s compiled, {warm:.2f} s from the cache")


if __name__ == "__main__":
    main()
