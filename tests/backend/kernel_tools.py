"""Kernels from MLIR text, on the CPU or to PTX: what the codegen tests share."""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from opar.backend.codegen.abi import KernelInfo
from opar.backend.host_object import compile_host
from opar.backend.load_host import LoadedObject
from opar.backend.ptx import PtxModule, compile_ptx
from opar.dialects import gpu
from opar.dialects.parsing import parse_module, verify

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_SCALARS = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def gpu_module(text: str) -> gpu.ModuleOp:
    """The only gpu.module of a program, verified."""
    module = parse_module(text, "kernel.mlir")
    verify(module)
    (found,) = [op for op in module.walk() if isinstance(op, gpu.ModuleOp)]
    return found


def kernel(arguments: str, body: str, attributes: str = "", extra: str = "") -> str:
    """A module with one kernel `@k`."""
    return (
        f"gpu.module @m {{\n{extra}\ngpu.func @k({arguments}) kernel {attributes} {{\n"
        f"{body}\ngpu.return\n}}\n}}"
    )


def ptx(text: str, arch: str = "sm_80") -> PtxModule:
    """The PTX of a program's kernels."""
    return compile_ptx(gpu_module(text), arch)


def assemble(ptxas: Path, text: str, arch: str, tmp_path: Path) -> None:
    """Assemble PTX; fails with the assembler's message."""
    source = tmp_path / "kernel.ptx"
    source.write_text(text)
    result = subprocess.run(
        [ptxas, f"-arch={arch}", source, "-o", tmp_path / "kernel.cubin"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr + text


class HostKernel:
    """The kernel `@k` of a program, compiled for the CPU and callable."""

    def __init__(self, text: str):
        compiled = compile_host(gpu_module(text))
        self.info: KernelInfo = compiled.kernels["k"]
        self._loaded = LoadedObject(compiled.object_code, [self.info.name])
        self._entry = _ENTRY(self._loaded.addresses[self.info.name])

    def __call__(
        self,
        *arguments: np.ndarray | int | float,
        grid: Sequence[int] = (1, 1, 1),
        block: Sequence[int] = (1, 1, 1),
        blocks: tuple[int, int] | None = None,
    ) -> None:
        """
        Run it. Arrays are passed as the types of the parameters want them: sizes and strides, in
        elements, where they are dynamic. `blocks` is the range of linear blocks, all by default.
        """
        cells: list[np.ndarray] = []
        for params, argument in zip(self.info.params, arguments, strict=True):
            for param in params:
                if param.kind == "pointer":
                    assert isinstance(argument, np.ndarray)
                    value = np.array(argument.ctypes.data, np.uint64)
                elif param.kind == "size":
                    assert isinstance(argument, np.ndarray)
                    value = np.array(argument.shape[param.dim], np.int64)
                elif param.kind == "stride":
                    assert isinstance(argument, np.ndarray)
                    value = np.array(argument.strides[param.dim] // argument.itemsize, np.int64)
                elif param.type == "bf16":
                    value = to_bf16(np.array(argument, np.float32))
                else:
                    value = np.array(argument, _SCALARS[param.type])
                cells.append(value)
        pointers = (ctypes.c_void_p * len(cells))(*(cell.ctypes.data for cell in cells))
        geometry = (ctypes.c_int64 * 6)(*grid, *block)
        begin, end = blocks or (0, math.prod(grid))
        self._entry(
            ctypes.addressof(pointers) if cells else None, ctypes.addressof(geometry), begin, end
        )


def to_bf16(values: np.ndarray) -> np.ndarray:
    """float32 rounded to nearest even in bf16, as uint16 bits."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded).astype(np.uint16)


def from_bf16(bits: np.ndarray) -> np.ndarray:
    """bf16 bits as float32."""
    return (np.asarray(bits, np.uint16).astype(np.uint32) << 16).view(np.float32)
