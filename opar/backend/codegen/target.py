"""What differs between the targets of a kernel, as one record a target implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Operation

if TYPE_CHECKING:
    from opar.backend.codegen.context import Context
    from opar.dialects import gpu


@dataclass(frozen=True)
class Limits:
    """The most that one kernel may ask for; None where there is no limit."""

    threads_per_block: int | None
    block_dim: tuple[int, int, int] | None
    static_shared_bytes: int
    private_bytes: int
    shared_advice: str = ""
    """What else to do about too much static workgroup memory."""


class TargetRecord(ABC):
    """NVPTX or the host CPU, as the emitters see them."""

    name: str
    """How messages call the target, such as `sm_90`."""
    limits: Limits
    has_half: bool
    """Whether f16 can be computed with at all."""
    native_bfloat: bool
    """Whether LLVM converts between float and bfloat here without a library call."""
    native_half_from_double: bool
    """Whether LLVM converts double to half here without a library call."""

    division_traps: bool
    """Whether dividing an integer by zero stops the process."""

    @abstractmethod
    def symbol(self, name: str) -> str:
        """The symbol of a kernel whose mangled name is `name`."""

    @abstractmethod
    def address_space(self, space: Attribute) -> int:
        """LLVM address space of an MLIR memory space; `UnsupportedError` if there is none."""

    @abstractmethod
    def hardware_id(self, ctx: Context, kind: str, dim: int) -> ir.Value:
        """An i64 id; `kind` is `thread_id`, `block_id`, `block_dim` or `grid_dim`, `dim` 0-2."""

    @abstractmethod
    def subgroup_property(self, ctx: Context, name: str) -> ir.Value:
        """An i64: `lane_id`, `subgroup_size`, `subgroup_id` or `num_subgroups`."""

    @abstractmethod
    def barrier(self, ctx: Context, op: Operation) -> None:
        """Wait for all threads of the block; `UnsupportedError` where they run in turn."""

    @abstractmethod
    def workgroup_memory(self, ctx: Context, type: MemRefType) -> ir.Value:
        """A pointer to static memory of `type` that the threads of a block share."""

    @abstractmethod
    def dynamic_memory(self, ctx: Context) -> tuple[ir.Value, ir.Value]:
        """The pointer to the launch's dynamic workgroup memory and its size in bytes (i64)."""

    @abstractmethod
    def exchange(
        self, ctx: Context, mode: str, value: ir.Value, offset: ir.Value, width: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        """
        `value` (i32) of another lane of the subgroup and whether that lane is in range; `mode` is
        `xor`, `up`, `down` or `idx`, `offset` and `width` i32, as in `gpu.shuffle`.
        """

    @abstractmethod
    def math_call(
        self, ctx: Context, op: Operation, name: str, operands: Sequence[ir.Value], fast: bool
    ) -> ir.Value:
        """
        Call the scalar math function `name` (C's name for double, such as `sin`) on operands of
        float or double; `fast` allows an approximation. May raise `UnsupportedError`.
        """

    @abstractmethod
    def selects(self, intrinsic: str, element: ir.Type, fast: bool) -> bool:
        """Whether LLVM selects a math intrinsic on float or double without a library call."""

    @abstractmethod
    def emit_kernel(self, module: ir.Module, op: gpu.FuncOp, name: str) -> None:
        """Emit the kernel `op` under the symbol `name`, as this target's launches call it."""
