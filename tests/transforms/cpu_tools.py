"""Arrays and programs for tests that run on the CPU device."""

from __future__ import annotations

import numpy as np

import opar

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32, "i8": np.int8}
TOLERANCE = {np.float16: 2e-2, np.float32: 1e-5, np.float64: 1e-13}


def data(generator: np.random.Generator, type: str, *shape: int) -> np.ndarray:
    """Random numbers; small whole ones where they are integers."""
    dtype = TYPES[type]
    if np.issubdtype(dtype, np.integer):
        return generator.integers(-9, 10, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def poisoned(type: str, *shape: int) -> np.ndarray:
    """An output that shows which elements were never written."""
    dtype = TYPES[type]
    if np.issubdtype(dtype, np.integer):
        return np.full(shape, 77, dtype)
    return np.full(shape, np.nan, dtype)


def check(found: np.ndarray, reference: np.ndarray) -> None:
    """Integers bit for bit, floats by the norm of the error to a float64 reference."""
    if np.issubdtype(found.dtype, np.integer):
        assert (found == reference.astype(found.dtype)).all()
        return
    assert not np.isnan(found).any()
    error = np.linalg.norm(found.astype(np.float64) - reference)
    assert error <= TOLERANCE[found.dtype.type] * max(1.0, float(np.linalg.norm(reference)))


def run(body: str, arguments: dict[str, tuple[str, np.ndarray]], constants: str = "") -> None:
    """Run host code `body` on memrefs: name -> (MLIR type, array)."""
    parameters = ", ".join(f"%{name}: {type}" for name, (type, _) in arguments.items())
    text = f"func.func @f({parameters}) {{\n{constants}\n{body}\nreturn\n}}"
    opar.compile(text, device="cpu")(*(array for _, array in arguments.values()))


def of(array: np.ndarray) -> str:
    """The memref type of an array of known shape."""
    names = {np.dtype(d): n for n, d in TYPES.items()}
    return f"memref<{'x'.join(map(str, array.shape))}x{names[array.dtype]}>"


def constant(type: str, value: int = 0) -> str:
    return f"arith.constant {value}{'.0' if type[0] == 'f' else ''} : {type}"


def times(type: str) -> tuple[str, str]:
    return ("arith.mulf", "arith.addf") if type[0] == "f" else ("arith.muli", "arith.addi")
