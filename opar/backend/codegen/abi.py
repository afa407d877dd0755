"""
The flattened kernel interface: what a launch passes for each argument of a `gpu.func`.

A memref argument becomes a pointer that already includes the static or dynamic offset of its
type, then one i64 for each dynamic size, then one i64 for each dynamic stride. What the type
says statically is not passed, nor are the strides of an identity layout, which follow from the
sizes. A scalar is passed by value; `index` is i64. Strides are in elements.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
)
from xdsl.ir import Attribute

from opar.backend.codegen.layout import memref_strides
from opar.backend.codegen.types import scalar_type
from opar.errors import UnsupportedError

ParamKind = Literal["pointer", "size", "stride", "scalar"]


@dataclass(frozen=True)
class Param:
    """
    One value that a launch passes.

    `type` is `ptr`, `i1`, `i8`, `i16`, `i32`, `i64`, `f16`, `bf16`, `f32` or `f64`; `dim` is the
    dimension of a `size` or `stride`, otherwise None.
    """

    kind: ParamKind
    type: str
    dim: int | None = None


@dataclass(frozen=True)
class KernelInfo:
    """
    What a launch needs to know about a compiled kernel.

    `name` is the symbol in the PTX or object code; `params` has one tuple for each argument of
    the `gpu.func`, in order, each the flattened values of that argument.
    """

    name: str
    params: tuple[tuple[Param, ...], ...]
    static_shared_bytes: int
    known_block_size: tuple[int, int, int] | None
    uses_dynamic_shared: bool

    @property
    def flat_params(self) -> tuple[Param, ...]:
        """All values of the launch, in order."""
        return tuple(param for argument in self.params for param in argument)


def scalar_name(type: Attribute) -> str | None:
    """The name of a scalar type in the interface, None where it cannot be passed by value."""
    match type:
        case IndexType():
            return "i64"
        case IntegerType() if type.width.data in (1, 8, 16, 32, 64):
            return f"i{type.width.data}"
        case BFloat16Type():
            return "bf16"
        case Float16Type() | Float32Type() | Float64Type():
            return f"f{type.bitwidth}"
        case _:
            return None


def flatten(type: Attribute) -> tuple[Param, ...]:
    """
    The values that an argument of `type` is passed as, in order.

    Raises `UnsupportedError` for a type that no kernel argument may have.
    """
    if isinstance(type, MemRefType):
        strides = memref_strides(type)
        if scalar_type(type.element_type) is None:
            raise UnsupportedError(
                f"{type} cannot be a kernel argument: its elements are not scalars"
            )
        sizes = tuple(
            Param("size", "i64", dim)
            for dim, size in enumerate(type.get_shape())
            if size == DYNAMIC_INDEX
        )
        if isinstance(type.layout, NoneAttr):
            return (Param("pointer", "ptr"), *sizes)
        dynamic_strides = tuple(
            Param("stride", "i64", dim) for dim, stride in enumerate(strides) if stride is None
        )
        return (Param("pointer", "ptr"), *sizes, *dynamic_strides)
    name = scalar_name(type)
    if name is None:
        raise UnsupportedError(
            f"a value of type {type} cannot be a kernel argument; "
            "pass a memref, i1, i8, i16, i32, i64, an index or a float"
        )
    return (Param("scalar", name),)


_LEGAL = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def mangle(name: str) -> str:
    """
    A symbol that PTX accepts for the kernel `name`: `name` itself where it is a plain identifier,
    otherwise its legal characters and a hash, so that two names never meet.

    MLIR and LLVM allow dots, dollars, quotes and any other character; PTX does not, and LLVM
    prints them unchanged (LLVM issue 58491). Names that start with `opar_` are opar's own.
    """
    if _LEGAL.fullmatch(name) and name != "WARP_SZ" and not name.startswith("opar_"):
        return name
    legal = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_")
    return f"k_{legal}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
