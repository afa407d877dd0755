"""
A product of f32 matrices written as naive loops, on the CPU, against numpy on the same machine.
`python -m bench.cpu_product`. numpy's library is taken as it is found.
"""

from __future__ import annotations

import numpy as np

import opar
from bench.timing import medians
from tests.programs import product

SIZES = (256, 512, 1024)


def measure(n: int) -> str:
    """The figures of one size: medians of 21 runs in turn."""
    type = f"memref<{n}x{n}xf32>"
    text = f"""func.func @mm(%a: {type}, %b: {type}, %c: {type}) {{
      %zero = arith.constant 0.0 : f32
      {product("%a", "%b", "%c", n, n, n)}
      return
    }}"""
    program = opar.compile(text, device="cpu")
    generator = np.random.default_rng()
    a, b = (generator.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    c = np.full((n, n), np.nan, np.float32)
    reference = np.empty_like(c)
    ours, numpy = medians(
        lambda: program(a, b, c), lambda: np.matmul(a, b, out=reference), repeat=21
    )
    error = np.linalg.norm(c - reference) / np.linalg.norm(reference)
    assert error < 1e-5, error
    return f"{ours * 1e3:.2f} ms, numpy {numpy * 1e3:.2f} ms, ratio {ours / numpy:.2f}"


def main() -> None:
    """Print milliseconds and the ratio for each size."""
    for n in SIZES:
        print(f"product of {n}x{n} f32 on the CPU: {measure(n)}")


if __name__ == "__main__":
    main()
