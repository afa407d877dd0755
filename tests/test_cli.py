"""The command lines: what they print, save and refuse. Each refusal is one message and exit 1."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.programs import IN_PLACE, seed

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def run(tool: str, *arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"opar.tools.{tool}", *map(str, arguments)],
        input=text,
        capture_output=True,
        text=True,
    )


def refused(result: subprocess.CompletedProcess[str]) -> str:
    """The message of a run that was refused properly."""
    assert result.returncode == 1, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("error: ")
    assert result.stdout == ""
    return result.stderr


@pytest.fixture
def seed_file(tmp_path: Path) -> Path:
    path = tmp_path / "seed.mlir"
    path.write_text(seed(4, 5, 3))
    return path


@pytest.mark.parametrize("device", DEVICES)
def test_random_arguments_and_saved_results(device: str, seed_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    result = run("opar_run", seed_file, "--device", device, "--seed", 7, "--output", out)
    assert result.returncode == 0, result.stderr
    generator = np.random.default_rng(7)
    a = generator.standard_normal((4, 5)).astype(np.float32)
    b = generator.standard_normal((5, 3)).astype(np.float32)
    with np.load(out) as saved:
        assert saved.files == ["result0"]
        np.testing.assert_allclose(saved["result0"], 2 * (a @ b), rtol=1e-5)
    assert "@seed -> result0 4x3 float32" in result.stdout
    assert f"device      {device}: " in result.stdout
    assert "3 launches" in result.stdout and "streams     2" in result.stdout


@pytest.mark.parametrize("device", DEVICES)
def test_given_arguments_and_written_ones(device: str, tmp_path: Path) -> None:
    x = np.arange(6, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    result = run(
        "opar_run", "-", "--device", device, "--arg", tmp_path / "x.npy",
        "--arg", "zeros:6", "--arg", "2.5", "--print", "--output", tmp_path / "out.npz",
        text=IN_PLACE,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    with np.load(tmp_path / "out.npz") as saved:
        assert saved.files == ["arg1"]
        np.testing.assert_array_equal(saved["arg1"], 3.5 * x)
    assert "arg1 =\n[ 0.   3.5  7.  10.5 14.  17.5]" in result.stdout


def test_schedule_and_graph(seed_file: Path) -> None:
    shown = run("opar_run", seed_file, "--device", "cpu", "--emit-schedule").stdout
    assert "launch seed_kernel<1x1x1, 1x1x1>(a, b, p)" in shown
    assert "stream 1" in shown and "[event]" in shown and "seed.mlir:" in shown
    dot = run("opar_run", seed_file, "--device", "cpu", "--emit-dot").stdout
    assert dot.startswith("digraph {")
    assert [line for line in dot.splitlines() if "->" in line] == [
        '2 -> 5 [label="RAW on %p ([0..3, 0..2])"];',
        '4 -> 5 [label="RAW on %q ([0..3, 0..2])"];',
        '5 -> 6 [label="host wait"];',
    ]
    assert 'label="2: launch seed_kernel<1x1x1, 1x1x1>(a, b, p)\\nstream 0"' in dot


def test_svg_is_written_whole_or_not_at_all(seed_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "graph.svg"
    path.write_text("old")
    result = run("opar_run", seed_file, "--device", "cpu", "--emit-svg", path)
    assert result.returncode == 0 and result.stdout == ""
    assert ElementTree.fromstring(path.read_text()).tag.endswith("svg")
    printed = run("opar_run", seed_file, "--device", "cpu", "--emit-svg", "-").stdout
    assert printed == path.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["graph.svg", "seed.mlir"]
    nowhere = tmp_path / "nothere" / "graph.svg"
    message = refused(run("opar_run", seed_file, "--device", "cpu", "--emit-svg", nowhere))
    assert f"{nowhere}: No such file or directory" in message
    message = refused(run("opar_run", seed_file, "--device", "cpu", "--emit-svg", tmp_path))
    assert "Is a directory" in message
    full = run("opar_run", seed_file, "--device", "cpu", "--emit-svg", "/dev/full")
    assert "No space left on device" in refused(full)


def test_schedule_seed(seed_file: Path) -> None:
    shown = [
        run("opar_run", seed_file, "--device", "cpu", "--print", *order).stdout.split("result0 =")[
            1
        ]
        for order in ([], ["--schedule-seed", 0], ["--schedule-seed", 1])
    ]
    assert shown[0] == shown[1] == shown[2]


def test_the_second_run_comes_from_the_cache(seed_file: Path) -> None:
    first = run("opar_run", seed_file, "--device", "cpu")
    second = run("opar_run", seed_file, "--device", "cpu", "--repeat", 3)
    assert "from the cache" not in first.stdout
    assert "from the cache" in second.stdout and "median of 3" in second.stdout
    assert (
        "from the cache" not in run("opar_run", seed_file, "--device", "cpu", "--no-cache").stdout
    )


TWO = "func.func @f() { return }\nfunc.func @g() { return }\n"
UNKNOWN = """func.func @f(%a: memref<4xf32>) {
  affine.parallel (%i) = (0) to (4) {
    %x = affine.load %a[%i] : memref<4xf32>
    "test.op"(%x) : (f32) -> ()
  }
  return
}
"""


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("func.func @f() {\n  return\n", [], "<stdin>:3:1: "),
        (
            "func.func @f(%a: index) {\n  %s, %o = arith.addui_extended %a, %a : index, i1\n"
            "  return\n}",
            [],
            "<stdin>:2:3: 'arith.addui_extended': Unsupported input type",
        ),
        ("func.func @f() {\n  %x = foo.bar\n}", [], "<stdin>:2:3: unknown operation 'foo.bar'"),
        (UNKNOWN, [], "<stdin>:4:5: 'test.op': not supported in a kernel"),
        (TWO, [], "the module has several functions; choose the entry among @f, @g"),
        (TWO, ["--entry", "h"], "there is no function @h with a body; there is: @f, @g"),
        ("module {}", [], "the module has no function with a body"),
        (seed(4, 5, 3), ["--arg", "zeros"], "@seed takes 2 arguments, got 1 --arg"),
        (
            seed(4, 5, 3),
            ["--arg", "zeros:4x4", "--arg", "random"],
            "argument #0 (%a) of @seed: dimension 1 must be 5 (4x5xf32), got 4",
        ),
        (seed(4, 5, 3), ["--arg", "nothere.npy", "--arg", "random"], "there is no file"),
        (seed(4, 5, 3), ["--arg", "random:axb", "--arg", "random"], "'axb' is not a list of sizes"),
        (IN_PLACE, [], "the type leaves sizes open; give them: random:8"),
        (
            IN_PLACE,
            ["--arg", "zeros:3", "--arg", "zeros:3", "--arg", "x"],
            "'x' is no number of type f32",
        ),
        (TWO, ["--entry", "f", "--device", "tpu"], "device 'tpu' is none of auto, cuda, cpu"),
        (TWO, ["--entry", "f", "-p", "nothing"], "Unrecognized passes: ['nothing']"),
        (TWO, ["--entry", "f", "--repeat", "0"], "--repeat 0: must be at least 1"),
        (TWO, ["--entry", "f", "--schedule-seed", "-1"], "schedule seed -1: must be an integer"),
        (TWO, ["--entry", "f", "--seed", "-1"], "--seed -1: must not be negative"),
        (
            IN_PLACE,
            ["--arg", "zeros:3", "--arg", "zeros:3", "--arg", "zeros:3"],
            "a number has no sizes, got 'zeros:3'",
        ),
        (
            IN_PLACE,
            ["--arg", f"zeros:{10**30}", "--arg", "zeros:3", "--arg", "1"],
            "larger than any memory",
        ),
        (IN_PLACE, ["--arg", f"zeros:{10**17}", "--arg", "zeros:3", "--arg", "1"], "out of memory"),
        (
            "func.func @f() {" + "scf.execute_region {" * 3000 + "}" * 3000 + "return }",
            [],
            "the program nests too deeply",
        ),
        (TWO, ["--entry", "f", "--target", "sm_90"], "is a GPU, but the program is compiled for"),
    ],
)
def test_bad_input(text: str, arguments: list[str], message: str) -> None:
    if "--device" not in arguments:
        arguments = [*arguments, "--device", "cpu"]
    assert message in refused(run("opar_run", "-", *arguments, text=text))


def test_missing_file() -> None:
    assert "nothere.mlir: No such file" in refused(run("opar_run", "nothere.mlir"))
    assert "nothere.mlir: No such file" in refused(run("opar_opt", "nothere.mlir"))


def test_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "binary.mlir"
    path.write_bytes(b"\xff\xfe\x00")
    for tool in ("opar_run", "opar_opt"):
        assert "not a text file" in refused(run(tool, path))


def test_no_gpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing, and how to get it; without PyCUDA that is PyCUDA."""
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    from opar.backend.cuda_device import CudaDevice
    from opar.errors import DeviceError

    with pytest.raises(DeviceError, match=r"PyCUDA is not usable.*pip install 'opar\[cuda\]'"):
        CudaDevice()


def test_split_input_counts_lines_of_the_file() -> None:
    text = "func.func @f() {\n  return\n}\n// -----\nfunc.func @g() {\n  foo.bar\n}\n"
    message = run("opar_opt", "--split-input-file", text=text).stderr
    assert message.startswith("error: <stdin>:6:3: unknown operation 'foo.bar'")


def test_an_endless_string_is_refused_at_once() -> None:
    assert "string literal" in refused(run("opar_opt", text='"' + "a" * 5000))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "ptx{ar=3}"], "target 'ptx{ar=3}': Provided arguments [\"ar\"] not found"),
        (["-t", "ptx{{"], "Expected argument name here"),
        (["-p", "gpu-async-dataflow{a=1}"], "passes 'gpu-async-dataflow{a=1}'"),
        (["-p", "a{{"], "Expected argument name here"),
        (["-p", "opar-pipeline{target=tpu}"], "target 'tpu' is none of cuda, cpu"),
    ],
)
def test_bad_options(arguments: list[str], message: str) -> None:
    assert message in refused(run("opar_opt", *arguments, text="module {}"))


@pytest.mark.parametrize("tool", ["opar_opt", "opar_run"])
def test_closed_and_full_streams(tool: str, seed_file: Path) -> None:
    command = f"{sys.executable} -m opar.tools.{tool}"
    for shell, message in [
        (f"{command} - <&-", "error: "),
        (f"{command} {seed_file} >/dev/full", "error: standard output: No space left on device"),
    ]:
        result = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
        assert "Traceback" not in result.stderr and "Exception" not in result.stderr
        if "full" in shell:
            assert result.returncode == 1 and result.stderr.startswith(message)
    closed = subprocess.run(
        ["bash", "-c", f"{command} {seed_file} >&-"], capture_output=True, text=True
    )
    assert closed.stderr == ""


def test_interrupt(tmp_path: Path) -> None:
    """Ctrl-C ends a compilation without a traceback."""
    launch = "affine.parallel (%i) = (0) to (4) { affine.store %x, %a[%i] : memref<4xf32> }\n"
    path = tmp_path / "long.mlir"
    path.write_text(f"func.func @f(%a: memref<4xf32>, %x: f32) {{\n{launch * 4000}return }}\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "opar.tools.opar_run", path, "--device", "cpu"],
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and errors == ""
