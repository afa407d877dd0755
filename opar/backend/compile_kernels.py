"""The kernels that a program launches as code for its target."""

from __future__ import annotations

from xdsl.dialects import builtin
from xdsl.traits import SymbolTable

from opar.backend import cache
from opar.backend.device import KernelCode
from opar.dialects import gpu


def compile_kernels(
    program: builtin.ModuleOp, kind: str, arch: str, use_cache: bool = False
) -> tuple[dict[str, str], tuple[KernelCode, ...]]:
    """
    Compile the gpu.modules that the functions of `program` launch from: the code of each, and for
    `module::function` the name `N:NAME`, kernel NAME of code N. With `use_cache` a gpu.module that
    was compiled before, in this program or another, is not compiled again.

    `kind` is `cuda` or `cpu`, `arch` the GPU (`sm_90`). Raises `UnsupportedError`,
    `TargetLimitError`, and for GPUs `OptionError` and `DeviceError`.
    """
    modules: dict[gpu.ModuleOp, None] = {}
    for op in program.walk():
        if isinstance(op, gpu.LaunchFuncOp):
            kernel = SymbolTable.lookup_symbol(op, op.kernel)
            parent = kernel.parent_op() if kernel is not None else None
            if isinstance(parent, gpu.ModuleOp):
                modules[parent] = None
    names: dict[str, str] = {}
    codes: list[KernelCode] = []
    for number, module in enumerate(modules):
        code, symbols = _compiled(module, kind, arch, use_cache)
        for symbol, name in symbols.items():
            names[f"{module.sym_name.data}::{symbol}"] = f"{number}:{name}"
        codes.append(code)
    return names, tuple(codes)


def _compiled(
    module: gpu.ModuleOp, kind: str, arch: str, use_cache: bool
) -> tuple[KernelCode, dict[str, str]]:
    """The code of a gpu.module, and the names of its kernels in it."""
    key = ""
    if use_cache:
        key = cache.digest("kernels", str(module), kind, cache.code_for(kind, arch))
        if (found := cache.load(key)) is not None:
            return found
    if kind == "cuda":
        from opar.backend.ptx import compile_ptx

        compiled = compile_ptx(module, arch)
        text, kernels = compiled.text, compiled.kernels
    else:
        from opar.backend.host_object import compile_host

        compiled = compile_host(module)
        text, kernels = compiled.object_code, compiled.kernels
    parameters = {
        info.name: tuple(p.type for group in info.params for p in group)
        for info in kernels.values()
    }
    made = KernelCode(text, parameters), {symbol: info.name for symbol, info in kernels.items()}
    if use_cache:
        cache.store(key, made)
    return made
