"""Why an operation waits, and why not: in words, from the analysis that made the tokens."""

from __future__ import annotations

import subprocess
import sys

import pytest

import opar
from opar.errors import OptionError

TYPE = "memref<64xf32>"


def nest(source: str, target: str, bounds: str) -> str:
    return f"""
  affine.parallel (%i) = {bounds} {{
    %v = affine.load {source}[%i] : {TYPE}
    affine.store %v, {target}[%i] : {TYPE}
  }}"""


PROGRAM = f"""func.func @f(%a: {TYPE}) -> {TYPE} {{
  %p = memref.alloc() : {TYPE}
  %q = memref.alloc() : {TYPE}
  {nest("%a", "%p", "(0) to (32)")}
  {nest("%a", "%p", "(32) to (64)")}
  {nest("%p", "%q", "(0) to (16)")}
  return %q : {TYPE}
}}"""


def test_program_explains() -> None:
    program = opar.compile(PROGRAM, device="cpu")
    low, high, copy = (
        i for i, op in enumerate(program.schedule.operations) if op.name == "f_kernel"
    )
    waits = program.explain(low, copy)
    assert "waits for" in waits and "directly: RAW on %p ([0..31] and [0..15])" in waits
    free = program.explain(high, copy)
    assert "does not wait for" in free and "%p: [32..63] and [0..15] do not meet" in free
    assert "both only read %a" in program.explain(low, high)
    with pytest.raises(OptionError, match="are no two steps in order"):
        program.explain(copy, low)


def test_remarks_name_buffer_elements_and_hazard() -> None:
    passes = "convert-affine-parallel-to-gpu,gpu-kernel-outlining,gpu-async-dataflow"
    result = subprocess.run(
        [sys.executable, "-m", "opar.tools.opar_opt", "-p", passes, "--remarks"],
        input=PROGRAM,
        capture_output=True,
        text=True,
        check=True,
    )
    remarks = result.stderr.splitlines()
    assert remarks[0] == (
        "remark: <stdin>:15:3: 'gpu.launch_func': waits for <stdin>:5:3: 'gpu.launch_func': "
        "RAW on %p ([0..31] and [0..15])"
    )
    assert len(remarks) == 3 and "it is still running at the end" in remarks[2]
