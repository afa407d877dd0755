"""`opar-run`: compile a function of an MLIR file and run it."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from opar.errors import ArgumentError, OptionError
from opar.tools.guard import guard

if TYPE_CHECKING:
    import numpy as np

    from opar.backend.program import Program
    from opar.backend.schedule import Argument

_ARG_HELP = """value of the next argument, one for each: FILE.npy, `random` or `zeros` (with the
sizes behind, as `random:4x5`, where the type leaves some open), or a number; without any --arg all
are random"""


def main() -> None:
    """Entry point: 0 on success, 1 and one message on what the user did wrong."""
    guard(lambda: _run(_parser().parse_args()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="opar-run", description=__doc__)
    add = parser.add_argument
    add("file", metavar="FILE", help="MLIR file, or - for standard input")
    add("--entry", metavar="NAME", help="the function to run, where there are several")
    add("--device", default="auto", help="auto (default), cuda or cpu")
    add("--target", metavar="sm_XX", help="GPU to make code for, by default the one that is there")
    add("--arg", dest="args", action="append", default=[], metavar="VALUE", help=_ARG_HELP)
    add("--seed", type=int, default=0, metavar="N", help="seed of random arguments (default 0)")
    add("--output", metavar="OUT.npz", help="save results (result0, ...) and written arguments")
    add("--print", dest="show", action="store_true", help="print the results")
    add("--repeat", type=int, default=1, metavar="N", help="run N times and print the median time")
    add("-p", "--passes", metavar="PASSES", help="passes instead of opar-pipeline")
    add("--emit-schedule", action="store_true", help="print the schedule")
    add("--emit-dot", action="store_true", help="print the token graph in DOT and stop")
    add("--emit-svg", metavar="FILE", help="draw the token graph as SVG (- to print it) and stop")
    add(
        "--verify-schedule",
        action=argparse.BooleanOptionalAction,
        help="check that operations that conflict are ordered (by default for up to 256 of them)",
    )
    add(
        "--schedule-seed",
        type=int,
        metavar="N",
        help="on the CPU, complete operations in the order that N chooses among those allowed",
    )
    add("--max-streams", type=int, metavar="N", help="use no more streams than N")
    add(
        "--memory-allowance",
        type=float,
        metavar="X",
        help="use fewer streams where temporaries would take more than 1 + X times the memory "
        "that they take one operation after the other",
    )
    add("--no-cache", action="store_true", help="compile even if the program is in the cache")
    return parser


def _run(options: argparse.Namespace) -> None:
    if options.repeat < 1:
        raise OptionError(f"--repeat {options.repeat}: must be at least 1")
    if options.seed < 0:
        raise OptionError(f"--seed {options.seed}: must not be negative")
    text, name = _read(options.file)
    from opar.backend.program import compile_named

    start = time.perf_counter()
    program = compile_named(
        text,
        name,
        options.entry,
        options.device,
        options.target,
        options.passes,
        use_cache=not options.no_cache,
        verify_schedule=options.verify_schedule,
        schedule_seed=options.schedule_seed,
        max_streams=options.max_streams,
        memory_allowance=options.memory_allowance,
    )
    compile_time = time.perf_counter() - start
    if options.emit_dot:
        print(program.to_dot())
    if options.emit_svg == "-":
        print(program.to_svg(), end="")
    elif options.emit_svg is not None:
        _write_whole(options.emit_svg, program.to_svg())
    if options.emit_dot or options.emit_svg is not None:
        return
    if options.emit_schedule:
        print(program.schedule.describe())
    arguments = _arguments(program, options)
    results: Any = None
    times = []
    for _ in range(options.repeat):
        start = time.perf_counter()
        results = program(*arguments)
        times.append(time.perf_counter() - start)
    outputs = _outputs(program, arguments, results)
    _report(program, outputs, compile_time, times)
    if options.show:
        _print_values(outputs)
    if options.output:
        import numpy as np

        with open(options.output, "wb") as file:
            np.savez(file, **outputs)


def _write_whole(file: str, text: str) -> None:
    """Write a file whole or not at all; a device or a pipe is written as it is."""
    if os.path.exists(file) and not os.path.isfile(file):
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
        return
    target = os.path.realpath(file)
    part = f"{target}.{os.getpid()}.part"
    try:
        with open(part, "x", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(part, target)
    except OSError as error:
        raise OSError(error.errno, error.strerror, file) from error
    finally:
        with contextlib.suppress(OSError):
            os.remove(part)


def _read(file: str) -> tuple[str, str]:
    if file == "-":
        return sys.stdin.read(), "<stdin>"
    with open(file, encoding="utf-8") as stream:
        try:
            return stream.read(), file
        except UnicodeDecodeError as error:
            raise OptionError(f"{file}: not a text file: {error}") from error


def _arguments(program: Program, options: argparse.Namespace) -> list[Any]:
    import numpy as np

    wanted = program.schedule.arguments
    texts = options.args or ["random"] * len(wanted)
    if len(texts) != len(wanted):
        raise ArgumentError(
            f"@{program.schedule.entry} takes {len(wanted)} arguments, got {len(texts)} --arg"
        )
    generator = np.random.default_rng(options.seed)
    return [
        _argument(f"argument #{i} (%{a.name})", a, text, generator)
        for i, (a, text) in enumerate(zip(wanted, texts, strict=True))
    ]


def _argument(what: str, argument: Argument, text: str, generator: np.random.Generator) -> Any:
    import numpy as np

    kind, _, sizes = text.partition(":")
    if kind not in ("random", "zeros"):
        return _given(what, argument, text)
    if sizes and argument.shape is None:
        raise ArgumentError(f"{what}: a number has no sizes, got '{text}'")
    shape = _shape(what, argument, sizes)
    from opar.backend.numbers import dtype_of

    dtype = dtype_of(argument.dtype)
    if kind == "zeros":
        values = np.zeros(shape, dtype)
    elif argument.dtype == "bf16":
        bits = generator.standard_normal(shape, np.float32).view(np.uint32)
        values = (bits >> 16).astype(dtype)
    elif dtype.kind == "f":
        values = generator.standard_normal(shape).astype(dtype)
    elif dtype.kind == "b":
        values = generator.integers(0, 2, shape).astype(dtype)
    else:
        values = generator.integers(-100, 100, shape).astype(dtype)
    return values if argument.shape is not None else values.item()


def _shape(what: str, argument: Argument, sizes: str) -> tuple[int, ...]:
    declared = argument.shape or ()
    if not sizes:
        if None in declared:
            example = "x".join("8" if s is None else str(s) for s in declared)
            raise ArgumentError(f"{what}: the type leaves sizes open; give them: random:{example}")
        return tuple(s for s in declared if s is not None)
    try:
        given = tuple(int(s) for s in sizes.split("x"))
    except ValueError as error:
        raise ArgumentError(f"{what}: '{sizes}' is not a list of sizes such as 4x5") from error
    if any(s < 0 for s in given):
        raise ArgumentError(f"{what}: '{sizes}' has a negative size")
    if math.prod(given) > sys.maxsize:
        raise ArgumentError(f"{what}: '{sizes}' is larger than any memory")
    return given


def _given(what: str, argument: Argument, text: str) -> Any:
    import numpy as np

    if argument.shape is None:
        try:
            return float(text) if argument.dtype.startswith(("f", "bf")) else int(text, 0)
        except ValueError as error:
            message = f"{what}: '{text}' is no number of type {argument.dtype}"
            raise ArgumentError(message) from error
    try:
        return np.load(text, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ArgumentError(f"{what}: {text} is no .npy file: {error}") from error
    except FileNotFoundError as error:
        message = f"{what}: there is no file '{text}'; give FILE.npy, random or zeros"
        raise ArgumentError(message) from error


def _outputs(program: Program, arguments: list[Any], results: Any) -> dict[str, Any]:
    """What the run gave, by name: results, and arguments that were written."""
    import numpy as np

    if results is None:
        results = ()
    elif not isinstance(results, tuple):
        results = (results,)
    outputs = {f"result{i}": np.asarray(r) for i, r in enumerate(results)}
    for i, (declared, value) in enumerate(zip(program.schedule.arguments, arguments, strict=True)):
        if declared.written:
            outputs[f"arg{i}"] = value
    return outputs


def _report(
    program: Program, outputs: dict[str, Any], compile_time: float, times: list[float]
) -> None:
    schedule = program.schedule
    shown = ", ".join(
        f"{n} {'x'.join(map(str, v.shape)) or 'scalar'} {v.dtype}" for n, v in outputs.items()
    )
    counts = ", ".join(f"{n} {name}" for name, n in schedule.counts().items() if n)
    origin = " (from the cache)" if program.from_cache else ""
    times = sorted(times)
    median = times[len(times) // 2]
    many = f" (median of {len(times)})" if len(times) > 1 else ""
    print(f"@{schedule.entry} -> {shown or 'nothing'}")
    print(f"  device      {program.device.kind}: {program.device.name} ({program.artifact.arch})")
    print(f"  operations  {counts or 'none'}")
    use = program.memory_use
    streams = schedule.streams if use is None else min(schedule.streams, use.streams)
    print(f"  streams     {streams}, {len(schedule.recorded)} events")
    if use is not None and use.separate:
        others = f"{_bytes(use.sequential)} if run in order, {_bytes(use.separate)} unshared"
        print(f"  temporaries {_bytes(use.planned)} ({others})")
    print(f"  compile     {compile_time * 1e3:.1f} ms{origin}")
    print(f"  run         {median * 1e3:.3f} ms{many}")


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} GiB"


def _print_values(outputs: dict[str, Any]) -> None:
    import numpy as np

    for name, value in outputs.items():
        print(f"{name} =\n{np.array2string(value, precision=6, threshold=200)}")


if __name__ == "__main__":
    main()
