"""
Every operation on every type, for every architecture: all must select (LLVM ends the process where
it does not, so those run in a process of their own) and assemble.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from opar.backend.host_object import compile_host
from opar.backend.ptx import ARCHITECTURES
from tests.backend.kernel_tools import assemble, gpu_module, kernel
from tests.backend.test_codegen_arith import FLOAT_OPS, INTEGER_OPS
from tests.backend.test_codegen_math import FUNCTIONS

ASSEMBLED = ["sm_75", "sm_80", "sm_90"]

_COMPILE = """
import json, sys
from pathlib import Path
from tests.backend.kernel_tools import ptx
for name, text in json.load(sys.stdin).items():
    print(name, flush=True)
    Path(sys.argv[2], name + ".ptx").write_text(ptx(text, sys.argv[1]).text)
"""


def compile_apart(programs: dict[str, str], arch: str, directory: Path) -> list[Path]:
    """PTX files from a process of its own; fails with what LLVM said when it dies."""
    result = subprocess.run(
        [sys.executable, "-c", _COMPILE, arch, directory],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    reached = result.stdout.split()
    assert result.returncode == 0, f"{arch}, {reached[-1:]}: {result.stderr}"
    return [directory / f"{name}.ptx" for name in programs]


ODD = ["i1", "i7", "i24", "i33", "index"]


def function(name: str, type: str, lanes: int, flags: str = "") -> str:
    """A kernel that applies every operation on `type` and stores every result."""

    def wide(element: str) -> str:
        return element if lanes == 1 else f"vector<{lanes}x{element}>"

    integer = type.startswith("i")
    lines = ["%t = gpu.thread_id x"]
    for n in ("a", "b"):
        lines.append(f"%{n} = memref.load %m{n}[%t] : memref<?x{type}>")
        if lanes > 1:
            lines[-1] = f"%{n} = vector.load %m{n}[%t] : memref<?x{type}>, {wide(type)}"
    if integer:
        binary = [*(f"arith.{op}" for op in INTEGER_OPS), "math.ipowi"]
        unary = [f"math.{op}" for op in ("absi", "ctpop", "ctlz", "cttz")]
    else:
        binary = [*(f"arith.{op}" for op in FLOAT_OPS), "math.atan2", "math.copysign", "math.powf"]
        unary = ["arith.negf", *(f"math.{op}" for op in FUNCTIONS)]
    lines.append("%d = memref.load %flag[%t] : memref<?xi1>")
    if lanes == 1:  # xDSL compares and converts scalars only
        compare = "cmpi slt, %a, %b" if integer else f"cmpf ult, %a, %b {flags}"
        lines.append(f"%e = arith.{compare} : {type}")
        lines.append("memref.store %e, %flag[%t] : memref<?xi1>")
    results = [f"{op} %a, %b {flags}: {wide(type)}" for op in binary]
    results += [f"{op} %a {flags}: {wide(type)}" for op in unary]
    results.append(f"arith.select %d, %a, %b : {wide(type)}")
    if integer:
        results += [f"arith.mul{sign}i_extended %a, %b : {wide(type)}" for sign in "su"]
    else:
        results.append(f"math.fma %a, %b, %a {flags}: {wide(type)}")
    if not integer and lanes == 1:
        results.append(f"math.fpowi %a, %n : {type}, i32")
        lines.append(f"%n = arith.fptosi %b : {type} to i32")
    for i, expression in enumerate(results):
        name_ = f"%r{i}, %h{i}" if "_extended" in expression else f"%r{i}"
        lines.append(f"{name_} = {expression}")
        lines.append(f"%i{i} = arith.constant {i * lanes} : index")
        access = f"%out[%i{i}] : memref<?x{type}>"
        lines.append(
            f"memref.store %r{i}, {access}"
            if lanes == 1
            else f"vector.store %r{i}, {access}, {wide(type)}"
        )
    arguments = ", ".join(f"%{n}: memref<?x{type}>" for n in ("ma", "mb", "out"))
    body = "\n".join(lines)
    return f"gpu.func @{name}({arguments}, %flag: memref<?xi1>) kernel {{\n{body}\ngpu.return\n}}"


def everything(type: str) -> str:
    """Kernels for scalars and vectors of two lengths; for floats also approximate."""
    if type == "i1":
        return f"gpu.module @m {{ {function('scalars', type, 1)} }}"
    kernels = [function("scalars", type, 1), function("pairs", type, 2)]
    if type not in ODD:
        kernels.append(function("triples", type, 3))
    if not type.startswith("i"):
        kernels.append(function("fast", type, 2, "fastmath<fast>"))
        kernels.append(function("approximate", type, 1, "fastmath<afn>"))
    return "gpu.module @m {\n" + "\n".join(kernels) + "\n}"


FLOATS = ["f16", "bf16", "f32", "f64"]
INTEGERS = ["i8", "i16", "i32", "i64"]
CAST_TYPES = [*ODD, *INTEGERS, *FLOATS]


def casts() -> str:
    """A kernel with every conversion between the scalar types."""

    def bits(type: str) -> int:
        return 64 if type == "index" else int(type.lstrip("ibf"))

    found: list[tuple[str, str, str]] = []
    for source in CAST_TYPES:
        for target in CAST_TYPES:
            kinds = tuple("n" if t == "index" else t[0].replace("b", "f") for t in (source, target))
            wider = bits(target) - bits(source)
            names: tuple[str, ...] = ()
            if "n" in kinds:
                names = ("index_cast",) if set(kinds) == {"i", "n"} else ()
            elif kinds == ("i", "i"):
                names = ("extsi", "extui") if wider > 0 else ("trunci",) if wider < 0 else ()
            elif kinds == ("f", "f") and source != target:
                names = ("extf",) if wider > 0 else ("truncf",) if wider < 0 else ("bitcast",)
            elif kinds == ("i", "f"):
                names = ("sitofp", "uitofp", *(["bitcast"] if wider == 0 else []))
            elif kinds == ("f", "i"):
                names = ("fptosi", "fptoui", *(["bitcast"] if wider == 0 else []))
            found += [(name, source, target) for name in names]
    lines = ["%t = gpu.thread_id x"]
    lines += [f"%v{t} = memref.load %m{t}[%t] : memref<?x{t}>" for t in CAST_TYPES]
    for i, (op, source, target) in enumerate(found):
        lines.append(f"%r{i} = arith.{op} %v{source} : {source} to {target}")
        lines.append(f"%i{i} = arith.constant {i} : index")
        lines.append(f"memref.store %r{i}, %m{target}[%i{i}] : memref<?x{target}>")
    arguments = ", ".join(f"%m{t}: memref<?x{t}>" for t in CAST_TYPES)
    return kernel(arguments, "\n".join(lines))


@pytest.mark.parametrize("arch", ASSEMBLED)
@pytest.mark.parametrize("types", [ODD, INTEGERS, FLOATS[:2], FLOATS[2:]], ids=lambda t: t[0])
def test_every_operation_assembles(
    types: list[str], arch: str, ptxas: Path, tmp_path: Path
) -> None:
    programs = {type: everything(type) for type in types}
    if types is ODD:
        programs["casts"] = casts()
    for file in compile_apart(programs, arch, tmp_path):
        text = file.read_text()
        assert ".extern" not in text
        assemble(ptxas, text, arch, tmp_path)


@pytest.mark.parametrize("part", range(2))
def test_every_architecture_compiles(part: int, tmp_path: Path) -> None:
    kernels = [function(type, type, 1, "fastmath<afn>") for type in ("bf16", "f32")]
    text = "gpu.module @m {\n" + "\n".join(kernels) + "\n}"
    for arch in sorted(set(ARCHITECTURES) - set(ASSEMBLED))[part::2]:
        (file,) = compile_apart({"floats": text}, arch, tmp_path)
        assert f".target {arch}" in file.read_text()


def test_every_operation_compiles_for_the_cpu() -> None:
    for type in [*ODD, *INTEGERS, *FLOATS]:
        compile_host(gpu_module(everything(type)))
    compile_host(gpu_module(casts()))
