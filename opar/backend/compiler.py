"""From MLIR text to an `Artifact`: the schedule, the compiled kernels and the lowered module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation
from xdsl.traits import SymbolTable

from opar.analysis.accesses import COMMUTING_ATOMICS, AccessAnalysis
from opar.analysis.aliasing import AliasAnalysis
from opar.backend.artifact import Artifact
from opar.backend.build_schedule import build_schedule
from opar.backend.compile_kernels import compile_kernels
from opar.backend.verify_schedule import SMALL, verify_schedule
from opar.dialects import gpu
from opar.dialects.parsing import new_context, parse_module, verify
from opar.errors import EntryError
from opar.transforms import run_passes


@dataclass(frozen=True)
class Options:
    """
    How to compile. `kind` is `cuda` or `cpu`; `arch` the GPU's `sm_XX`, or the CPU's name;
    `pipeline` the passes as in `opar-opt -p`, None for `opar-pipeline`; `assume_noalias`: the
    arguments do not overlap where one is written; `verify_schedule`: whether to check the
    schedule against the data; None checks short ones; `use_cache`: whether kernels are kept on
    disk.
    """

    kind: str
    arch: str
    entry: str | None = None
    pipeline: str | None = None
    assume_noalias: bool = True
    verify_schedule: bool | None = None
    use_cache: bool = False


def compile_text(text: str, name: str, options: Options) -> Artifact:
    """
    Compile one function of a module. Raises children of `DiagnosticException`: `SourceError`,
    `EntryError`, `UnsupportedError`, `TargetLimitError`, `OptionError`.
    """
    ctx = new_context()
    module = parse_module(text, name, ctx)
    verify(module)
    function = choose_entry(module, options.entry)
    entry = function.sym_name.data
    _keep_reachable(module, function)
    _run_passes(ctx, module, options)
    function = choose_entry(module, entry)
    accesses = AccessAnalysis(AliasAnalysis(options.assume_noalias))
    names, code = compile_kernels(module, options.kind, options.arch, options.use_cache)
    lowered = str(module)
    schedule, origins = build_schedule(function, names, accesses)
    wanted = options.verify_schedule
    if wanted or (wanted is None and len(schedule.operations) <= SMALL):
        aliases = AliasAnalysis(options.assume_noalias)
        commuting = COMMUTING_ATOMICS in module.attributes
        verify_schedule(schedule, origins, AccessAnalysis(aliases, commuting))
    return Artifact(schedule, names, code, lowered, options.kind, options.arch)


def choose_entry(module: builtin.ModuleOp, entry: str | None) -> func.FuncOp:
    """The entry function: the one named, or the only one with a body."""
    functions = {
        op.sym_name.data: op
        for op in module.body.ops
        if isinstance(op, func.FuncOp) and not op.is_declaration
    }
    if entry is not None:
        if entry not in functions:
            known = ", ".join(f"@{n}" for n in functions) or "none"
            raise EntryError(f"there is no function @{entry} with a body; there is: {known}")
        return functions[entry]
    if len(functions) == 1:
        return next(iter(functions.values()))
    if not functions:
        raise EntryError("the module has no function with a body")
    names = ", ".join(f"@{n}" for n in functions)
    raise EntryError(f"the module has several functions; choose the entry among {names}")


def _keep_reachable(module: builtin.ModuleOp, entry: func.FuncOp) -> None:
    """Drop the functions and kernels that `entry` does not use, directly or through others."""
    kept: set[Operation] = {entry}
    work: list[Operation] = [entry]
    while work:
        for symbol in _symbols(work.pop()):
            used = SymbolTable.lookup_symbol(module, symbol.root_reference.data)
            if used is not None and used not in kept:
                kept.add(used)
                work.append(used)
    for op in list(module.body.ops):
        if isinstance(op, func.FuncOp | gpu.ModuleOp) and op not in kept:
            op.detach()
            op.erase()


def _symbols(op: Operation) -> Iterator[SymbolRefAttr]:
    for child in op.walk():
        for attribute in (*child.properties.values(), *child.attributes.values()):
            if isinstance(attribute, SymbolRefAttr):
                yield attribute


def _run_passes(ctx: Context, module: builtin.ModuleOp, options: Options) -> None:
    spec = options.pipeline
    if spec is None:
        noalias = str(options.assume_noalias).lower()
        vectors = f" vector-bits={_vector_bits()}" if options.kind == "cpu" else ""
        spec = f"opar-pipeline{{target={options.kind} assume-noalias-args={noalias}{vectors}}}"
    run_passes(module, spec, ctx)


def _vector_bits() -> int:
    """The length of this CPU's vectors."""
    import llvmlite.binding as llvm

    return 512 if llvm.get_host_cpu_features().get("avx512f", False) else 256
