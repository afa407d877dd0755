"""Every `math` operation on the CPU against numpy in double, in units of the last place."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.backend.kernel_tools import HostKernel, from_bf16, kernel, to_bf16

COUNT = 64
FLOATS = {"f16": np.float16, "f32": np.float32, "f64": np.float64}


def run(op: str, type: str, inputs: list[np.ndarray], lanes: int = 1) -> np.ndarray:
    """Apply `op`, all of whose operands and result have one type, to each element."""
    out = np.zeros_like(inputs[0])
    names = [f"%m{i}" for i in range(len(inputs))]
    arguments = ", ".join(f"{n}: memref<{COUNT}x{type}>" for n in [*names, "%out"])
    wide = f"vector<{lanes}x{type}>"
    body = f"%b = gpu.block_id x\n%c = arith.constant {lanes} : index\n"
    body += "%i = arith.muli %b, %c : index\n"
    for i, name in enumerate(names):
        body += f"%v{i} = vector.load {name}[%i] : memref<{COUNT}x{type}>, {wide}\n"
    operands = ", ".join(f"%v{i}" for i in range(len(inputs)))
    shaped = wide
    if lanes == 1:
        body = body.replace("vector.load", "memref.load").replace(f", {wide}", "")
        shaped = type
    body += f"%r = math.{op} {operands} : {shaped}\n"
    if lanes == 1:
        body += f"memref.store %r, %out[%i] : memref<{COUNT}x{type}>"
    else:
        body += f"vector.store %r, %out[%i] : memref<{COUNT}x{type}>, {wide}"
    HostKernel(kernel(arguments, body))(*inputs, out, grid=(COUNT // lanes, 1, 1))
    return out


def ulps(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference in units of the last place; both must agree on NaN and infinity."""
    dtype = found.dtype.type
    with np.errstate(all="ignore"):
        rounded = expected.astype(dtype)
    special = ~np.isfinite(rounded)
    np.testing.assert_array_equal(found[special], rounded[special])
    exact, close = expected[~special], found[~special].astype(np.float64)
    unit = np.maximum(
        np.spacing(np.abs(rounded[~special])).astype(np.float64), np.finfo(dtype).tiny * 2.0**-10
    )
    return float(np.max(np.abs(close - exact) / unit, initial=0))


def round_away(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


FUNCTIONS: dict[str, tuple[Callable[..., np.ndarray], float, float]] = {
    "absf": (np.abs, -50, 50),
    "acos": (np.arccos, -1.2, 1.2),
    "acosh": (np.arccosh, 0.5, 50),
    "asin": (np.arcsin, -1.2, 1.2),
    "asinh": (np.arcsinh, -50, 50),
    "atan": (np.arctan, -50, 50),
    "atanh": (np.arctanh, -1.2, 1.2),
    "cbrt": (np.cbrt, -50, 50),
    "ceil": (np.ceil, -50, 50),
    "cos": (np.cos, -50, 50),
    "cosh": (np.cosh, -8, 8),
    "erf": (np.vectorize(math.erf), -3, 3),
    "exp": (np.exp, -8, 8),
    "exp2": (np.exp2, -8, 8),
    "expm1": (np.expm1, -8, 8),
    "floor": (np.floor, -50, 50),
    "log": (np.log, -1, 50),
    "log10": (np.log10, -1, 50),
    "log1p": (np.log1p, -2, 50),
    "log2": (np.log2, -1, 50),
    "round": (round_away, -50, 50),
    "roundeven": (np.rint, -50, 50),
    "rsqrt": (lambda x: 1 / np.sqrt(x), -1, 50),
    "sin": (np.sin, -50, 50),
    "sinh": (np.sinh, -8, 8),
    "sqrt": (np.sqrt, -1, 50),
    "tan": (np.tan, -50, 50),
    "tanh": (np.tanh, -8, 8),
    "trunc": (np.trunc, -50, 50),
}
EXACT = {"absf", "ceil", "floor", "round", "roundeven", "sqrt", "trunc"}


def samples(low: float, high: float, dtype: type, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng(seed).uniform(low, high, COUNT).astype(dtype)
    values[:8] = [0, -0.0, np.nan, np.inf, -np.inf, 1, 0.5, 2.5]
    return values


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_function(op: str, type: str, lanes: int) -> None:
    function, low, high = FUNCTIONS[op]
    x = samples(low, high, FLOATS[type])
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float64))
    found = run(op, type, [x], lanes)
    # numpy's double is the reference, itself right to an ulp of double.
    limit = 0.5 if op in EXACT else {"f16": 0.51, "f32": 1.5, "f64": 4}[type]
    assert ulps(found, expected) <= limit


@pytest.mark.parametrize("op", FUNCTIONS)
def test_function_on_bf16(op: str) -> None:
    function, low, high = FUNCTIONS[op]
    x = to_bf16(samples(low, high, np.float32))
    with np.errstate(all="ignore"):
        expected = function(from_bf16(x).astype(np.float64))
    found = from_bf16(run(op, "bf16", [x]))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found[finite], expected[finite], rtol=2.0**-8, atol=1e-30)


@pytest.mark.parametrize("type", FLOATS)
@pytest.mark.parametrize("op,function", [("atan2", np.arctan2), ("copysign", np.copysign)])
def test_two_operands(op: str, function: Callable[..., np.ndarray], type: str) -> None:
    x, y = (samples(-5, 5, FLOATS[type], seed) for seed in (0, 1))
    y = np.roll(y, 3)
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float64), y.astype(np.float64))
    assert ulps(run(op, type, [x, y]), expected) <= (4 if type == "f64" else 1.5)


@pytest.mark.parametrize("type", FLOATS)
def test_power(type: str) -> None:
    x, y = (samples(0, 4, FLOATS[type], seed) for seed in (0, 1))
    with np.errstate(all="ignore"):
        expected = np.power(x.astype(np.float64), y.astype(np.float64))
    assert ulps(run("powf", type, [x, y]), expected) <= (4 if type == "f64" else 1.5)


@pytest.mark.parametrize("type", ["f32", "f64"])
def test_fma_is_rounded_once(type: str) -> None:
    x, y, z = (samples(-5, 5, FLOATS[type], seed) for seed in (0, 1, 2))
    x[10], y[10], z[10] = 1 + np.finfo(x.dtype).eps, 1 + np.finfo(x.dtype).eps, -1
    found = run("fma", type, [x, y, z])
    with np.errstate(all="ignore"):
        wide = [v.astype(np.longdouble) for v in (x, y, z)]
        expected = (wide[0] * wide[1] + wide[2]).astype(x.dtype)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    assert same.sum() >= COUNT - (0 if type == "f32" else 1)


def test_integers() -> None:
    x = np.random.default_rng(0).integers(-(2**31), 2**31, COUNT, np.int32)
    x[:4] = [0, 1, -1, -(2**31)]
    bits = [f"{int(v) & 0xFFFFFFFF:032b}" for v in x]
    np.testing.assert_array_equal(run("absi", "i32", [x]), np.abs(x))
    np.testing.assert_array_equal(run("ctpop", "i32", [x]), [b.count("1") for b in bits])
    leading = [32 if "1" not in b else b.index("1") for b in bits]
    np.testing.assert_array_equal(run("ctlz", "i32", [x]), leading)
    trailing = [32 if "1" not in b else b[::-1].index("1") for b in bits]
    np.testing.assert_array_equal(run("cttz", "i32", [x]), trailing)


def test_integer_power() -> None:
    x = np.resize(np.array([0, 1, -1, 2, -3, 10, 7, -2], np.int32), COUNT)
    y = np.random.default_rng(0).integers(0, 9, COUNT).astype(np.int32)
    np.testing.assert_array_equal(run("ipowi", "i32", [x, y]), x**y)
    found = run("ipowi", "i32", [x, np.where(x == 0, 1, -y - 1).astype(np.int32)])
    expected = [0 if v in (0,) or abs(v) > 1 else v ** (int(n) + 1)
                for v, n in zip(x.tolist(), y, strict=True)]  # fmt: skip
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("type", FLOATS)
def test_power_of_integer(type: str) -> None:
    out = np.zeros(COUNT, FLOATS[type])
    x = np.random.default_rng(0).uniform(-2, 2, COUNT).astype(FLOATS[type])
    n = np.random.default_rng(1).integers(-5, 6, COUNT).astype(np.int32)
    text = kernel(
        f"%x: memref<{COUNT}x{type}>, %n: memref<{COUNT}xi32>, %o: memref<{COUNT}x{type}>",
        f"""%i = gpu.block_id x
        %a = memref.load %x[%i] : memref<{COUNT}x{type}>
        %b = memref.load %n[%i] : memref<{COUNT}xi32>
        %r = math.fpowi %a, %b : {type}, i32
        memref.store %r, %o[%i] : memref<{COUNT}x{type}>""",
    )
    HostKernel(text)(x, n, out, grid=(COUNT, 1, 1))
    expected = x.astype(np.float64) ** n
    np.testing.assert_allclose(out, expected, rtol=float(8 * np.finfo(out.dtype).eps))
