"""What a call does beside launches: copies, odd arguments, forks, interrupts, broken caches."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opar
from opar.backend import cache, host_object
from opar.errors import ArgumentError, DeviceError, OparError, OptionError, UnsupportedError

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]

SLOW = """
  affine.parallel (%i) = (0) to (64) {
    %s = affine.for %k = 0 to 200000 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i] : memref<64xf32>
      %n = arith.addf %acc, %x : f32
      affine.yield %n : f32
    }
    affine.store %s, %a[%i] : memref<64xf32>
  }"""

HOST_COPY = f"""
func.func @f(%a: memref<64xf32>, %b: memref<64xf32>) {{
  %zero = arith.constant 0.0 : f32
  %t = memref.alloc() : memref<64xf32>
  {SLOW}
  memref.copy %a, %t : memref<64xf32> to memref<64xf32>
  affine.parallel (%i) = (0) to (64) {{
    %x = affine.load %t[%i] : memref<64xf32>
    affine.store %x, %b[%i] : memref<64xf32>
  }}
  return
}}"""


@pytest.mark.parametrize("device", DEVICES)
def test_a_copy_by_the_host_stands_between_launches(device: str) -> None:
    program = opar.compile(HOST_COPY, device=device)
    for _ in range(5):
        a, b = np.ones(64, np.float32), np.full(64, np.nan, np.float32)
        program(a, b)
        assert (b == 200000).all()


@pytest.mark.parametrize("device", DEVICES)
def test_a_function_that_only_copies(device: str) -> None:
    text = """func.func @f(%a: memref<4xf32>, %b: memref<4xf32>) {
      memref.copy %a, %b : memref<4xf32> to memref<4xf32>
      return
    }"""
    a, b = np.arange(4, dtype=np.float32), np.full(4, np.nan, np.float32)
    opar.compile(text, device=device)(a, b)
    np.testing.assert_array_equal(a, b)


def test_negative_strides_are_refused() -> None:
    type = "memref<4xf32, strided<[?]>>"
    text = f"""func.func @f(%a: {type}) {{
      affine.parallel (%i) = (0) to (4) {{
        %x = affine.load %a[%i] : {type}
        affine.store %x, %a[%i] : {type}
      }}
      return
    }}"""
    program = opar.compile(text, device="cpu")
    program(np.zeros(8, np.float32)[::2])
    with pytest.raises(ArgumentError, match="strides are negative"):
        program(np.zeros(4, np.float32)[::-1])


SCALARS = """func.func @f(%a: {0}, %b: {0}) -> {1} {{
  %r = {2} : {3}
  return %r : {1}
}}"""


@pytest.mark.parametrize(
    ("type", "result", "operation", "signature", "a", "b", "expected"),
    [
        ("i8", "i64", "arith.extsi %a", "i8 to i64", 200, 0, -56),
        ("i8", "i1", "arith.cmpi slt, %a, %b", "i8", 200, 0, True),
        ("i1", "i64", "arith.extsi %a", "i1 to i64", True, False, -1),
        ("i1", "i1", "arith.cmpi slt, %a, %b", "i1", True, False, True),
        ("i32", "i32", "arith.divui %a, %b", "i32", -1, 2, 2147483647),
        ("i32", "i32", "arith.remui %a, %b", "i32", -1, 7, 3),
        ("i8", "i8", "arith.ceildivui %a, %b", "i8", -1, 2, -128),
        ("i32", "i32", "arith.addi %a, %b", "i32", 2**31 - 1, 1, -(2**31)),
    ],
)
def test_host_arithmetic_is_mlirs(
    type: str, result: str, operation: str, signature: str, a: int, b: int, expected: int
) -> None:
    text = SCALARS.format(type, result, operation, signature)
    assert opar.compile(text, device="cpu")(a, b) == expected


def test_bf16_rounds_to_even() -> None:
    from opar.backend.numbers import bits_of

    cases = {1.00390625: 0x3F80, 1.01171875: 0x3F82, float("inf"): 0x7F80, -0.0: 0x8000}
    for value, bits in cases.items():
        assert bits_of("bf16", value) == bits.to_bytes(2, "little")
    nan = int.from_bytes(bits_of("bf16", float("nan")), "little")
    assert nan & 0x7FFF > 0x7F80


@pytest.mark.parametrize(
    ("text", "arguments", "error"),
    [
        ("func.func @f(%x: f32) -> f32 { return %x : f32 }", (10**400,), ArgumentError),
        ("func.func @f(%x: ui8) { return }", (1,), UnsupportedError),
        (
            "func.func @f() -> memref<4611686018427387904xf32> {\n"
            "  %a = memref.alloc() : memref<4611686018427387904xf32>\n"
            "  return %a : memref<4611686018427387904xf32>\n}",
            (),
            DeviceError,
        ),
    ],
)
def test_refusals_are_opars(text: str, arguments: tuple, error: type[OparError]) -> None:
    with pytest.raises(error):
        opar.compile(text, device="cpu")(*arguments)


FORK = """
import os, sys
import numpy as np
import opar
from tests.backend.test_execution import HOST_COPY
program = opar.compile(HOST_COPY, device="cpu")
a, b = np.ones(64, np.float32), np.zeros(64, np.float32)
program(a, b)
child = os.fork()
if child == 0:
    a = np.ones(64, np.float32)
    program(a, b)
    os._exit(0 if (b == 200000).all() else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

AT_EXIT = """
import atexit
import numpy as np
import opar
from tests.backend.test_execution import HOST_COPY
program = opar.compile(HOST_COPY, device="cpu")
def late():
    try:
        program(np.ones(64, np.float32), np.zeros(64, np.float32))
    except Exception as error:
        print(type(error).__name__)
atexit.register(late)
"""

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("script", [FORK, AT_EXIT])
def test_forks_and_exits_do_not_hang(script: str) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    result = subprocess.run(
        [sys.executable, "-c", script],
        env=environment,
        timeout=60,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr


def test_an_interrupt_waits_for_what_runs() -> None:
    from opar.backend.host_device import HostDevice
    from opar.backend.host_session import KERNEL, HostKernel

    device = HostDevice(workers=2)
    running, go_on, ran = threading.Event(), threading.Event(), []

    def first(*_: int) -> None:
        running.set()
        go_on.wait(30)
        ran.append("first")

    session = device.begin(1)
    for function in (first, lambda *_: ran.append("second")):
        kernel = HostKernel(KERNEL(function), ())
        session.launch(0, kernel, (1, 1, 1), (1, 1, 1), 0, ())
    running.wait(30)

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Timer(0.2, go_on.set).start()

    threading.Timer(0.1, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        session.finish()
    assert ran == ["first"]  # what ran was waited for, what had not begun was left out


def test_broken_cache_entries_are_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPAR_CACHE_DIR", str(tmp_path))
    text = "func.func @f() -> i32 {\n  %c = arith.constant 7 : i32\n  return %c : i32\n}"
    assert opar.compile(text, device="cpu")() == 7
    assert opar.compile(text, device="cpu").from_cache
    from diskcache import Cache

    for broken in (b"", b"garbage" * 20, "text", None):
        with Cache(str(tmp_path)) as entries:
            for key in list(entries):
                entries[key] = broken
        program = opar.compile(text, device="cpu")
        assert program() == 7 and not program.from_cache
    assert opar.compile(text, device="cpu").from_cache


def test_entries_of_a_module_share_its_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPAR_CACHE_DIR", str(tmp_path))
    line = "memref<4xi32>"
    functions = "".join(
        f"""
func.func @f{n}(%a: {line}) {{
  %n = arith.constant {n} : index
  %one = arith.constant 1 : index
  gpu.launch_func @k::@store blocks in (%one, %one, %one) threads in (%n, %one, %one)
      args(%a : {line})
  return
}}"""
        for n in (1, 3)
    )
    text = f"""module attributes {{gpu.container_module}} {{
gpu.module @k {{
  gpu.func @store(%a: {line}) kernel {{
    %t = gpu.thread_id x
    %v = arith.constant 7 : i32
    memref.store %v, %a[%t] : {line}
    gpu.return
  }}
}}{functions}
}}"""
    pipeline = "gpu-async-dataflow,gpu-assign-streams"
    compiled: list[object] = []

    def count(module: object) -> object:
        compiled.append(module)
        return original(module)  # pyright: ignore[reportArgumentType]

    original = host_object.compile_host
    monkeypatch.setattr(host_object, "compile_host", count)
    for n in (1, 3):
        found = np.zeros(4, np.int32)
        opar.compile(text, f"f{n}", "cpu", pipeline=pipeline)(found)
        np.testing.assert_array_equal(found, [7] * n + [0] * (4 - n))
    assert len(compiled) == 1


def test_a_cache_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OPAR_CACHE_DIR", str(tmp_path / "file"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert cache.load("key") is None
    assert "is not used" in str(caught[0].message)


@pytest.mark.parametrize("source", [3, b"module {}", None])
def test_a_program_is_text_or_module(source: Any) -> None:
    with pytest.raises(OptionError, match=r"MLIR text, a pathlib\.Path or a ModuleOp, not"):
        opar.compile(source, device="cpu")


def test_a_device_is_named() -> None:
    with pytest.raises(OptionError, match="device 'None' is none of auto, cuda, cpu"):
        opar.compile("module {}", device=None)  # pyright: ignore[reportArgumentType]
