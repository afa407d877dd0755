"""
The mapping of loop nests to launches, proved on random nests: every iteration runs exactly once,
and grids and blocks are within the limits of CUDA, whatever the bounds.
"""

from __future__ import annotations

import random

import pytest
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

import opar
from opar.dialects.parsing import new_context, parse_module
from opar.errors import OptionError, UnsupportedError
from opar.transforms.mapping import cuda
from tests.transforms.mapping_tools import ARGUMENTS, Interpreter, NestGenerator

SIZES = [[0] * ARGUMENTS, [1] * ARGUMENTS, [-4, 7, 3], [9, 2, 5]]


def run(module: ModuleOp, arguments: list[int]) -> Interpreter:
    """Run the only function of `module`."""
    (function,) = (op for op in module.walk() if isinstance(op, func.FuncOp))
    interpreter = Interpreter()
    interpreter.call(function, arguments)
    return interpreter


def prove(text: str, passes: str, sizes: list[list[int]] = SIZES) -> list[tuple[list, list]]:
    """Every iteration of the converted function runs once; returns the (grid, block)s launched."""
    original, converted = opar.parse_module(text), opar.parse_module(text)
    opar.run_passes(converted, passes)
    assert "affine.parallel" not in str(converted)
    launches = []
    for arguments in sizes:
        wanted, found = run(original, arguments), run(converted, arguments)
        assert found.stores == wanted.stores, f"arguments {arguments}\n{text}\n{converted}"
        assert max(found.stores.values(), default=1) == 1
        launches += found.launches
    return launches


def check_limits(launches: list[tuple[list, list]]) -> None:
    for grid, block in launches:
        assert all(1 <= n <= most for n, most in zip(grid, cuda.MAX_GRID, strict=True)), grid
        assert all(1 <= n <= most for n, most in zip(block, cuda.MAX_BLOCK, strict=True)), block
        assert block[0] * block[1] * block[2] <= cuda.MAX_THREADS


@pytest.fixture
def seed() -> int:
    """Other nests in each run; the seed is printed when a test fails."""
    seed = random.SystemRandom().getrandbits(32)
    print("nests from seed", seed)
    return seed


@pytest.mark.parametrize("max_grid", [(2**31 - 1, 65535, 65535), (2, 2, 2), (1, 3, 1)])
def test_random_nests_on_a_gpu(
    seed: int, max_grid: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuda, "MAX_GRID", max_grid)
    generator = NestGenerator(seed)
    for _ in range(40):
        text = generator.function("f")
        block = generator.random.choice(["", "1", "7", "4,4", "2,3,4", "1024", "8,8,8"])
        options = f"{{block-size={block}}}" if block else ""
        check_limits(prove(text, f"convert-affine-parallel-to-gpu{options}"))


@pytest.mark.parametrize("bits", [32, 64, 128, 512])
def test_random_nests_on_the_cpu(seed: int, bits: int) -> None:
    generator = NestGenerator(seed)
    for _ in range(30):
        text = generator.function("f")
        passes = f"convert-affine-parallel-to-gpu{{target=cpu vector-bits={bits}}}"
        for grid, block in prove(text, passes):
            assert all(n >= 0 for n in grid)
            assert block == [1, 1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("target=tpu", "target 'tpu' is none of cuda, cpu"),
        ("block-size=2048", "at most"),
        ("block-size=32,32,2", "1024 threads"),
        ("block-size=1,1,65", "at most"),
        ("block-size=0", "at most"),
        ("block-size=1,1,1,1", "up to three sizes"),
    ],
)
def test_wrong_options(options: str, message: str) -> None:
    module = opar.parse_module("func.func @f() { return }")
    with pytest.raises(OptionError, match=message):
        opar.run_passes(module, f"convert-affine-parallel-to-gpu{{{options}}}")


def test_nothing_is_changed_where_something_is_refused() -> None:
    module = opar.parse_module("""
func.func @f(%a: memref<4xf32>, %v: f32) {
  affine.parallel (%i) = (0) to (4) {
    affine.store %v, %a[%i] : memref<4xf32>
  }
  affine.parallel (%i) = (0) to (4) {
    %b = memref.alloc() : memref<4xf32>
  }
  return
}""")
    before = str(module)
    with pytest.raises(UnsupportedError, match=r"<string>:7:5: 'memref\.alloc'"):
        opar.run_passes(module, "convert-affine-parallel-to-gpu")
    assert str(module) == before


def test_unknown_operations_are_refused() -> None:
    text = """
func.func @f() {
  affine.parallel (%i) = (0) to (4) {
    "some.thing"(%i) : (index) -> ()
    affine.yield
  }
  return
}"""
    module = parse_module(text, ctx=new_context(allow_unregistered=True))
    with pytest.raises(UnsupportedError, match=r"'some\.thing' is unknown"):
        opar.run_passes(module, "convert-affine-parallel-to-gpu")
