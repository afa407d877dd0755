"""MLIR number types and the numpy dtypes that hold them."""

from __future__ import annotations

from typing import Any

import numpy as np

_DTYPES = {
    "index": "int64",
    "i1": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "f16": "float16",
    "bf16": "uint16",
    "f32": "float32",
    "f64": "float64",
}

_ALSO_ACCEPTED = {
    "i8": ("uint8",),
    "i16": ("uint16",),
    "i32": ("uint32",),
    "i64": ("uint64",),
    "index": ("uint64",),
    "i1": (),
    "bf16": ("bfloat16",),
}


def dtype_of(type_name: str) -> np.dtype:
    """
    The numpy dtype of an MLIR number type. `index` is int64; `bf16` is uint16, the bits, as numpy
    has no such type of its own.
    """
    return np.dtype(_DTYPES[type_name])


def accepts(type_name: str, dtype: np.dtype) -> bool:
    """Whether an array of `dtype` holds values of the type: the same bits, of either sign."""
    return dtype.name == _DTYPES[type_name] or dtype.name in _ALSO_ACCEPTED.get(type_name, ())


def bits_of(type_name: str, value: float) -> bytes:
    """The bytes of `value` as the type, little endian."""
    if type_name == "bf16":
        bits = int(_rounded(np.float32, value).view(np.uint32))
        if bits & 0x7FFFFFFF > 0x7F800000:  # a NaN stays one
            return np.uint16(bits >> 16 | 0x40).tobytes()
        return np.uint16(bits + 0x7FFF + (bits >> 16 & 1) >> 16).tobytes()
    dtype = dtype_of(type_name)
    if dtype.kind in "iu":
        mask = (1 << (8 * dtype.itemsize)) - 1
        return (int(value) & mask).to_bytes(dtype.itemsize, "little")
    return _rounded(dtype.type, value).tobytes()


def _rounded(kind: Any, value: float) -> Any:
    """`value` as a numpy number of a kind; too large a number becomes infinite, as in hardware."""
    with np.errstate(over="ignore"):
        return kind(value)
