"""Every `arith` operation on the CPU against numpy, scalar and vector, on all element types."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.backend.kernel_tools import HostKernel, from_bf16, kernel, to_bf16

COUNT = 64
INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def run(op: str, types: list[str], result: str, inputs: list[np.ndarray], lanes: int, extra: str):
    """Apply `op` to each element; `lanes` > 1 uses vectors. Returns the results."""
    dtype = {"i1": np.bool_, "bf16": np.uint16, "index": np.int64, **INTEGERS, **FLOATS}[result]
    out = np.zeros(len(inputs[0]), dtype)
    names = [f"%m{i}" for i in range(len(types))]
    arguments = ", ".join(
        f"{n}: memref<{COUNT}x{t}>" for n, t in zip([*names, "%out"], [*types, result], strict=True)
    )
    body = "%i = gpu.block_id x\n"
    if lanes == 1:
        load = "%v{0} = memref.load {1}[%i] : memref<{2}x{3}>\n"
        store = f"memref.store %r, %out[%i] : memref<{COUNT}x{result}>"
        shaped = list(types)
    else:
        body += f"%c = arith.constant {lanes} : index\n%j = arith.muli %i, %c : index\n"
        load = "%v{0} = vector.load {1}[%j] : memref<{2}x{3}>, vector<" + str(lanes) + "x{3}>\n"
        store = f"vector.store %r, %out[%j] : memref<{COUNT}x{result}>, vector<{lanes}x{result}>"
        shaped = [f"vector<{lanes}x{t}>" for t in types]
    for i, (name, type) in enumerate(zip(names, types, strict=True)):
        body += load.format(i, name, COUNT, type)
    operands = ", ".join(f"%v{i}" for i in range(len(types)))
    end = shaped[0]
    if extra == "to":
        to = result if lanes == 1 else f"vector<{lanes}x{result}>"
        end += f" to {to}"
    body += f"%r = {op} {operands} : {end}\n{store}"
    HostKernel(kernel(arguments, body))(*inputs, out, grid=(COUNT // lanes, 1, 1))
    return out


def integers(type: str, seed: int) -> np.ndarray:
    info = np.iinfo(INTEGERS[type])
    values = np.random.default_rng(seed).integers(
        info.min, info.max, COUNT, INTEGERS[type], endpoint=True
    )
    values[:8] = [0, 1, -1, info.min, info.max, 7, -7, 2]
    return np.roll(values, 3 * seed)


def floats(type: str, seed: int) -> np.ndarray:
    values = (np.random.default_rng(seed).standard_normal(COUNT) * 10).astype(FLOATS[type])
    values[:10] = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, np.nan, 65504]
    values[10] = np.finfo(FLOATS[type]).smallest_subnormal
    return np.roll(values, 3 * seed)


def unsigned(x: np.ndarray) -> np.ndarray:
    return x.view(x.dtype.str.replace("i", "u"))


def floor_div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x // y).astype(x.dtype)


def trunc_div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([abs(int(a)) // abs(int(b)) * (1 if (a < 0) == (b < 0) else -1)
                     for a, b in zip(x, y, strict=True)]).astype(x.dtype)  # fmt: skip


def ceil_div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.array([-(-int(a) // int(b)) for a, b in zip(x, y, strict=True)]).astype(x.dtype)


INTEGER_OPS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minui": lambda x, y: np.minimum(unsigned(x), unsigned(y)).view(x.dtype),
    "maxui": lambda x, y: np.maximum(unsigned(x), unsigned(y)).view(x.dtype),
    "divsi": trunc_div,
    "divui": lambda x, y: (unsigned(x) // unsigned(y)).view(x.dtype),
    "remsi": lambda x, y: (x - trunc_div(x, y) * y).astype(x.dtype),
    "remui": lambda x, y: (unsigned(x) % unsigned(y)).view(x.dtype),
    "floordivsi": floor_div,
    "ceildivsi": ceil_div,
    "ceildivui": lambda x, y: ceil_div(unsigned(x), unsigned(y)).view(x.dtype),
    "shli": lambda x, y: x << y,
    "shrsi": lambda x, y: x >> y,
    "shrui": lambda x, y: (unsigned(x) >> unsigned(y)).view(x.dtype),
}


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("op", INTEGER_OPS)
def test_integer(op: str, type: str, lanes: int) -> None:
    x, y = integers(type, 0), integers(type, 1)
    if "div" in op or "rem" in op:
        y[y == 0] = 3
        y[(x == np.iinfo(x.dtype).min) & (y == -1)] = 5
    if op.startswith("sh"):
        y = (unsigned(y) % (8 * x.itemsize)).view(x.dtype)
    found = run(f"arith.{op}", [type, type], type, [x, y], lanes, "")
    with np.errstate(over="ignore"):
        expected = INTEGER_OPS[op](x, y)
    np.testing.assert_array_equal(found, expected)


FLOAT_OPS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "maximumf": np.maximum,
    "minimumf": np.minimum,
    "maxnumf": np.fmax,
    "minnumf": np.fmin,
}


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("type", [*FLOATS, "bf16"])
@pytest.mark.parametrize("op", FLOAT_OPS)
def test_float(op: str, type: str, lanes: int) -> None:
    if type == "bf16":
        inputs = [to_bf16(floats("f32", s)) for s in (0, 1)]
        x, y = (from_bf16(v) for v in inputs)
    else:
        x, y = inputs = [floats(type, s) for s in (0, 1)]
    with np.errstate(all="ignore"):
        expected = FLOAT_OPS[op](x, y)
    found = run(f"arith.{op}", [type, type], type, inputs, lanes, "")
    if type == "bf16":
        found, expected = from_bf16(found), from_bf16(to_bf16(expected))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("type", [*FLOATS, "bf16"])
def test_negation(type: str) -> None:
    x = to_bf16(floats("f32", 0)) if type == "bf16" else floats(type, 0)
    found = run("arith.negf", [type], type, [x], 1, "")
    wide = from_bf16 if type == "bf16" else np.asarray
    np.testing.assert_array_equal(wide(found), -wide(x))
    numbers = ~np.isnan(wide(x))
    np.testing.assert_array_equal(np.signbit(wide(found))[numbers], ~np.signbit(wide(x))[numbers])


COMPARE = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
           "gt": np.greater, "ge": np.greater_equal}  # fmt: skip


@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("sign", ["s", "u"])
@pytest.mark.parametrize("op", COMPARE)
def test_integer_comparison(op: str, sign: str, type: str) -> None:
    x, y = integers(type, 0), integers(type, 1)
    y[::3] = x[::3]
    predicate = op if op in ("eq", "ne") else sign + op
    a, b = (unsigned(x), unsigned(y)) if sign == "u" else (x, y)
    found = run(f"arith.cmpi {predicate},", [type, type], "i1", [x, y], 1, "")
    np.testing.assert_array_equal(found, COMPARE[op](a, b))


@pytest.mark.parametrize("type", [*FLOATS, "bf16"])
@pytest.mark.parametrize("op", [*(o + c for o in "ou" for c in COMPARE), "ord", "uno", "true"])
def test_float_comparison(op: str, type: str) -> None:
    inputs = [floats("f32" if type == "bf16" else type, s) for s in (0, 1)]
    if type == "bf16":
        inputs = [to_bf16(v) for v in inputs]
    x, y = (from_bf16(v) if type == "bf16" else v for v in inputs)
    inputs[1][::3] = inputs[0][::3]
    y = from_bf16(inputs[1]) if type == "bf16" else inputs[1]
    nan = np.isnan(x) | np.isnan(y)
    if op in ("ord", "uno", "true"):
        expected = {"ord": ~nan, "uno": nan, "true": np.ones(COUNT, bool)}[op]
    elif op[0] == "o":
        expected = COMPARE[op[1:]](x, y) & ~nan
    else:
        expected = COMPARE[op[1:]](x, y) | nan
    found = run(f"arith.cmpf {op},", [type, type], "i1", inputs, 1, "")
    np.testing.assert_array_equal(found, expected)


CASTS = [
    ("extsi", "i8", "i32"), ("extsi", "i32", "i64"), ("extui", "i8", "i64"),
    ("extui", "i16", "i32"), ("trunci", "i64", "i32"), ("trunci", "i32", "i8"),
    ("sitofp", "i32", "f32"), ("sitofp", "i64", "f64"), ("sitofp", "i8", "f16"),
    ("sitofp", "i64", "f32"), ("uitofp", "i64", "f32"), ("uitofp", "i8", "f16"),
    ("uitofp", "i32", "f64"), ("uitofp", "i64", "f64"), ("fptosi", "f32", "i32"),
    ("fptosi", "f64", "i64"), ("fptosi", "f16", "i16"), ("fptoui", "f32", "i8"),
    ("fptoui", "f64", "i64"), ("extf", "f16", "f32"), ("extf", "f32", "f64"),
    ("extf", "f16", "f64"), ("truncf", "f64", "f32"), ("truncf", "f64", "f16"),
    ("truncf", "f32", "f16"), ("bitcast", "f32", "i32"), ("bitcast", "i16", "f16"),
    ("bitcast", "f64", "i64"), ("index_cast", "i32", "index"), ("index_cast", "index", "i32"),
    ("index_castui", "i32", "index"), ("index_castui", "index", "i32"),
]  # fmt: skip


# xDSL has the other casts for scalars only.
VECTOR_CASTS = [(*cast, 4) for cast in CASTS if cast[0] in ("extf", "truncf", "bitcast")]


@pytest.mark.parametrize("op,source,target,lanes", [*((*c, 1) for c in CASTS), *VECTOR_CASTS])
def test_cast(op: str, source: str, target: str, lanes: int) -> None:
    dtype = {"index": np.int64, **INTEGERS, **FLOATS}[target]
    if op.startswith("fpto"):
        high = 120 if op == "fptosi" else 250
        low = -high if op == "fptosi" else 0
        x = np.random.default_rng(0).uniform(low, high, COUNT).astype(FLOATS[source])
    elif source.startswith("f"):
        x = floats(source, 0)
    else:
        x = integers("i64" if source == "index" else source, 0)
    with np.errstate(all="ignore"):
        if op == "bitcast":
            expected = x.view(dtype)
        elif op in ("extui", "index_castui", "uitofp"):
            expected = unsigned(x).astype(dtype)
        elif op == "fptoui":
            expected = x.astype(np.uint64).astype(dtype)
        else:
            expected = x.astype(dtype)
    found = run(f"arith.{op}", [source], target, [x], lanes, "to")
    np.testing.assert_array_equal(found, expected)


def test_double_to_half_is_rounded_once() -> None:
    # 1 + 2^-11 + 2^-30 lies above the tie that rounding to float first would make of it.
    x = np.full(COUNT, 1 + 2.0**-11 + 2.0**-30)
    found = run("arith.truncf", ["f64"], "f16", [x], 1, "to")
    np.testing.assert_array_equal(found, x.astype(np.float16))
    found = run("arith.truncf", ["f64"], "bf16", [np.full(COUNT, 1 + 2.0**-8 + 2.0**-40)], 1, "to")
    np.testing.assert_array_equal(from_bf16(found), np.float32(1 + 2.0**-7))


@pytest.mark.parametrize("source", ["f32", "f64", "i32", "i64", "i8"])
def test_to_bf16(source: str) -> None:
    x = floats(source, 0) if source.startswith("f") else integers(source, 0)
    op = "truncf" if source.startswith("f") else "sitofp"
    found = run(f"arith.{op}", [source], "bf16", [x], 1, "to")
    with np.errstate(all="ignore"):
        expected = to_bf16(x.astype(np.float32))
    np.testing.assert_array_equal(from_bf16(found), from_bf16(expected))


def test_from_bf16() -> None:
    x = to_bf16(floats("f32", 0))
    np.testing.assert_array_equal(run("arith.extf", ["bf16"], "f32", [x], 1, "to"), from_bf16(x))
    x = to_bf16(np.arange(COUNT, dtype=np.float32) - 30)
    np.testing.assert_array_equal(
        run("arith.fptosi", ["bf16"], "i32", [x], 1, "to"), np.arange(COUNT) - 30
    )


@pytest.mark.parametrize("type", INTEGERS)
@pytest.mark.parametrize("op", ["mulsi_extended", "mului_extended", "addui_extended"])
def test_extended(op: str, type: str) -> None:
    x, y = integers(type, 0), integers(type, 1)
    low, high = np.zeros_like(x), np.zeros_like(x)
    carry = op == "addui_extended"
    flag = "i1" if carry else type
    widen = f"%h2 = arith.extui %h : i1 to {type}" if carry and type != "i1" else ""
    text = kernel(
        ", ".join(f"{n}: memref<{COUNT}x{type}>" for n in ("%x", "%y", "%low", "%high")),
        f"""%i = gpu.block_id x
        %a = memref.load %x[%i] : memref<{COUNT}x{type}>
        %b = memref.load %y[%i] : memref<{COUNT}x{type}>
        %l, %h = arith.{op} %a, %b : {type}{f", {flag}" if carry else ""}
        {widen}
        memref.store %l, %low[%i] : memref<{COUNT}x{type}>
        memref.store {"%h2" if carry else "%h"}, %high[%i] : memref<{COUNT}x{type}>""",
    )
    HostKernel(text)(x, y, low, high, grid=(COUNT, 1, 1))
    bits = 8 * x.itemsize
    for a, b, lo, hi in zip(x, y, low, high, strict=True):
        if op == "mulsi_extended":
            total = int(a) * int(b)
        else:
            a, b = int(a) % 2**bits, int(b) % 2**bits
            total = a + b if carry else a * b
        assert (int(lo) - total) % 2**bits == 0
        assert (int(hi) - (total >> bits)) % 2**bits == 0


def test_select_and_booleans() -> None:
    x, y = integers("i32", 0), integers("i32", 1)
    flags = np.random.default_rng(0).integers(0, 2, COUNT).astype(bool)
    out = np.zeros_like(x)
    text = kernel(
        f"%f: memref<{COUNT}xi1>, %x: memref<{COUNT}xi32>, %y: memref<{COUNT}xi32>, "
        f"%o: memref<{COUNT}xi32>, %flip: i1",
        f"""%i = gpu.block_id x
        %c = memref.load %f[%i] : memref<{COUNT}xi1>
        %d = arith.xori %c, %flip : i1
        %a = memref.load %x[%i] : memref<{COUNT}xi32>
        %b = memref.load %y[%i] : memref<{COUNT}xi32>
        %r = arith.select %d, %a, %b : i32
        memref.store %r, %o[%i] : memref<{COUNT}xi32>
        memref.store %d, %f[%i] : memref<{COUNT}xi1>""",
    )
    before = flags.copy()
    HostKernel(text)(flags, x, y, out, True, grid=(COUNT, 1, 1))
    np.testing.assert_array_equal(out, np.where(~before, x, y))
    np.testing.assert_array_equal(flags, ~before)


CONSTANTS = [
    ("f32", "0.1", np.float32(0.1)), ("f32", "0x7FC00000", np.float32(np.nan)),
    ("f32", "0xFF800000", np.float32(-np.inf)), ("f16", "0.1", np.float16(0.1)),
    ("f16", "65504.0", np.float16(65504)), ("f64", "0.1", 0.1), ("f64", "-1.0e-310", -1e-310),
    ("i8", "-128", np.int8(-128)), ("i64", "-9223372036854775808", np.int64(-(2**63))),
]  # fmt: skip


@pytest.mark.parametrize("type,literal,value", CONSTANTS)
def test_constant(type: str, literal: str, value: np.generic) -> None:
    out = np.zeros(1, {**INTEGERS, **FLOATS}[type])
    text = kernel(
        f"%o: memref<1x{type}>",
        f"""%i = arith.constant 0 : index
        %v = arith.constant {literal} : {type}
        memref.store %v, %o[%i] : memref<1x{type}>""",
    )
    HostKernel(text)(out)
    np.testing.assert_array_equal(out[0], value)


def test_bf16_constant() -> None:
    out = np.zeros(2, np.uint16)
    text = kernel(
        "%o: memref<2xbf16>, %v: bf16",
        """%i = arith.constant 0 : index
        %j = arith.constant 1 : index
        %c = arith.constant 3.140625 : bf16
        memref.store %c, %o[%i] : memref<2xbf16>
        memref.store %v, %o[%j] : memref<2xbf16>""",
    )
    HostKernel(text)(out, 2.5)
    np.testing.assert_array_equal(from_bf16(out), np.array([3.140625, 2.5], np.float32))
