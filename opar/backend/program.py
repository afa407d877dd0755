"""`compile` and `Program`: opar from Python."""

from __future__ import annotations

import os
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from opar.backend import cache
from opar.backend.arguments import any_written_overlap, bind
from opar.backend.artifact import Artifact
from opar.backend.device import Device, Kernel, Memory
from opar.backend.executor import execute
from opar.backend.memory_plan import MemoryPlanner, MemoryUse
from opar.backend.schedule import Schedule
from opar.errors import DeviceError, OptionError

if TYPE_CHECKING:
    import rustworkx
    from xdsl.dialects.builtin import ModuleOp

DEVICES = ("auto", "cuda", "cpu")


@lru_cache
def get_device(kind: str = "auto") -> Device:
    """
    The device of a kind: `cuda`, `cpu`, or `auto` for a GPU where there is one, else the CPU.
    The same object each time, so that programs share its threads and memory.

    Raises `DeviceError` for `cuda` without PyCUDA, driver or GPU; `OptionError` for other names.
    """
    if kind not in DEVICES:
        raise OptionError(f"device '{kind}' is none of {', '.join(DEVICES)}")
    if kind == "auto":
        try:
            return get_device("cuda")
        except DeviceError:
            return get_device("cpu")
    if kind == "cuda":
        from opar.backend.cuda_device import CudaDevice

        return CudaDevice()
    from opar.backend.host_device import HostDevice

    return HostDevice()


def compile(
    source_or_module: str | os.PathLike[str] | ModuleOp,
    entry: str | None = None,
    device: str | Device = "auto",
    target: str | None = None,
    pipeline: str | None = None,
    *,
    use_cache: bool = True,
    verify_schedule: bool | None = None,
    schedule_seed: int | None = None,
    max_streams: int | None = None,
    memory_allowance: float | None = None,
) -> Program:
    """
    Compile one function of an MLIR module.

    `source_or_module`: MLIR text, the path (`pathlib.Path`) of a file of it, or a module.
    `entry`: the function; may be left out where there is only one.
    `device`: `auto`, `cuda`, `cpu`, or a device object. `target`: the GPU to make code for
    (`sm_90`), by default the device's. `pipeline`: passes as in `opar-opt -p`, by default
    `opar-pipeline`. `use_cache`: keep the compiled program on disk. `verify_schedule`: check that
    every two operations that conflict are ordered; by default programs of up to 256 operations are
    checked. Turn it off for programs that mean to race. `schedule_seed`: on the CPU, complete
    operations in another order that the tokens allow for each number (see `HostDevice`).
    `max_streams`: run on no more streams. `memory_allowance`: how much more memory temporaries may
    take than if the operations ran one after the other, as a fraction of that (0.5: half as much
    again); where they would take more, fewer streams are used. None is no limit.

    Raises children of `opar.errors.OparError` that name the place in the source.
    """
    if isinstance(source_or_module, os.PathLike):
        path = os.fspath(source_or_module)
        with open(path, encoding="utf-8") as file:
            text, name = file.read(), path
    elif isinstance(source_or_module, str):
        text, name = source_or_module, "<string>"
    else:
        text, name = _module_text(source_or_module), "<module>"
    return compile_named(
        text,
        name,
        entry,
        device,
        target,
        pipeline,
        use_cache=use_cache,
        verify_schedule=verify_schedule,
        schedule_seed=schedule_seed,
        max_streams=max_streams,
        memory_allowance=memory_allowance,
    )


def _module_text(module: object) -> str:
    from xdsl.dialects.builtin import ModuleOp  # not needed for a program in the cache

    if isinstance(module, ModuleOp):
        return str(module)
    kind = type(module).__name__
    raise OptionError(f"a program is MLIR text, a pathlib.Path or a ModuleOp, not {kind}")


def compile_named(
    text: str,
    name: str,
    entry: str | None = None,
    device: str | Device = "auto",
    target: str | None = None,
    pipeline: str | None = None,
    *,
    use_cache: bool = True,
    verify_schedule: bool | None = None,
    schedule_seed: int | None = None,
    max_streams: int | None = None,
    memory_allowance: float | None = None,
) -> Program:
    """`compile` of text that messages say comes from file `name`."""
    chosen = get_device(device) if isinstance(device, str | None) else device
    if schedule_seed is not None:
        chosen = _seeded(chosen, schedule_seed)
    arch = target or getattr(chosen, "arch", "host")
    if chosen.kind == "cpu" and target not in (None, "host"):
        raise OptionError(f"target {target} is a GPU, but the program is compiled for the CPU")
    if max_streams is not None and max_streams < 1:
        raise OptionError(f"max_streams is {max_streams}: it must be at least 1")
    if memory_allowance is not None and not memory_allowance >= 0:
        raise OptionError(f"memory_allowance is {memory_allowance}: it must not be negative")
    program = Program(text, name, chosen, arch, entry, pipeline, use_cache, verify_schedule)
    program.max_streams, program.memory_allowance = max_streams, memory_allowance
    return program


def _seeded(device: Device, seed: int) -> Device:
    """A device of its own for one program, that runs operations in the order of a seed."""
    from opar.backend.host_device import HostDevice

    if not isinstance(device, HostDevice):
        raise OptionError(
            f"a schedule seed orders operations on the CPU, not on {device.kind}: {device.name}; "
            "choose device cpu"
        )
    return HostDevice(device.workers, seed)


class Program:
    """
    A compiled function. Call it with one numpy array for each memref argument (or, on CUDA, an
    array with `__cuda_array_interface__`, used in place) and a number for each other argument.

    It returns what the function returns: nothing (None), one value, or a tuple. Arguments that the
    function writes are changed in place. Arguments that share memory are allowed: the call then
    takes a version of the program that does not assume the opposite.
    """

    def __init__(
        self,
        text: str,
        name: str,
        device: Device,
        arch: str,
        entry: str | None,
        pipeline: str | None,
        use_cache: bool,
        verify_schedule: bool | None = None,
    ):
        self.device = device
        self._text, self._name = text, name
        self._arch, self._entry, self._pipeline = arch, entry, pipeline
        self._use_cache = use_cache
        self._verify_schedule = verify_schedule
        self._loaded: dict[bool, tuple[Artifact, dict[str, Kernel]]] = {}
        self._globals: dict[str, Memory] = {}
        self._planners: dict[bool, MemoryPlanner] = {}
        self.max_streams: int | None = None
        self.memory_allowance: float | None = None
        self.memory_use: MemoryUse | None = None
        """The memory for temporaries in the last call, None before the first."""
        self.from_cache = False
        """Whether the program came from the cache."""
        self._version(assume_noalias=True)

    def __call__(self, *arguments: Any) -> Any:
        """Run the function once. Raises `ArgumentError`, `DeviceError`, `TargetLimitError`."""
        assume_noalias = True
        artifact, kernels = self._version(assume_noalias)
        bound = bind(artifact.schedule, arguments, self.device.kind == "cuda")
        if any_written_overlap(artifact.schedule, bound):
            assume_noalias = False
            artifact, kernels = self._version(assume_noalias)
        planner = self._planner(assume_noalias, artifact.schedule)
        schedule = artifact.schedule
        results = execute(schedule, self.device, kernels, bound, self._globals, planner)
        self.memory_use = planner.last
        if len(results) == 1:
            return results[0]
        return tuple(results) if results else None

    @property
    def artifact(self) -> Artifact:
        """What was compiled, for arguments that do not overlap."""
        return self._version(assume_noalias=True)[0]

    @property
    def schedule(self) -> Schedule:
        """The operations that a call runs."""
        return self.artifact.schedule

    @cached_property
    def module(self) -> ModuleOp:
        """The lowered module."""
        from opar.dialects.parsing import parse_module

        return parse_module(self.artifact.module_text, f"{self._name} (lowered)")

    @property
    def ptx(self) -> str:
        """The PTX of all kernels; raises `OptionError` on the CPU."""
        if self.artifact.kind != "cuda":
            raise OptionError("the program was compiled for the CPU: it has no PTX")
        return "\n".join(str(code.code) for code in self.artifact.code)

    @cached_property
    def token_graph(self) -> rustworkx.PyDiGraph:
        """Operations (nodes, of the schedule) and tokens (edges, to the operation that waits)."""
        from opar.backend.token_graph import token_graph

        return token_graph(self.schedule)

    def to_dot(self) -> str:
        """The token graph in Graphviz' DOT language; edges say which hazards made them."""
        from opar.backend.token_graph import to_dot

        return to_dot(self.schedule, self._edge_reasons)

    def to_svg(self) -> str:
        """
        The token graph as one SVG file, laid out in layers; edges say which hazards made them.
        Raises `OptionError` for a program of more than 2,000 operations.
        """
        from opar.backend.token_graph_svg import to_svg

        return to_svg(self.schedule, self._edge_reasons)

    def _repr_svg_(self) -> str | None:
        """What Jupyter shows; nothing for a program that is too large to draw."""
        try:
            return self.to_svg()
        except OptionError:
            return None

    @cached_property
    def _edge_reasons(self) -> dict[tuple[int, int], tuple[str, ...]]:
        from opar.backend.explain import edge_reasons

        return edge_reasons(self.artifact)

    def explain(self, earlier: int, later: int) -> str:
        """
        Why step `later` of the schedule waits for step `earlier`, or why it does not: buffers,
        elements and hazards. Raises `OptionError` for numbers of no such steps.
        """
        from opar.backend.explain import explain

        return explain(self.artifact, earlier, later)

    def _planner(self, assume_noalias: bool, schedule: Schedule) -> MemoryPlanner:
        if assume_noalias not in self._planners:
            self._planners[assume_noalias] = MemoryPlanner(
                schedule, self.device.kind == "cuda", self.max_streams, self.memory_allowance
            )
        return self._planners[assume_noalias]

    def _version(self, assume_noalias: bool) -> tuple[Artifact, dict[str, Kernel]]:
        loaded = self._loaded.get(assume_noalias)
        if loaded is None:
            artifact = self._compiled(assume_noalias)
            kernels: dict[str, Kernel] = {}
            for number, code in enumerate(artifact.code):
                for name, kernel in self.device.load(code).items():
                    kernels[f"{number}:{name}"] = kernel
            loaded = self._loaded[assume_noalias] = artifact, kernels
        return loaded

    def _compiled(self, assume_noalias: bool) -> Artifact:
        kind = self.device.kind
        code = cache.code_for(kind, self._arch)
        described = (self._text, self._name, self._entry, kind, code, self._pipeline)
        key = cache.digest(*described, assume_noalias, self._verify_schedule)
        found = cache.load(key) if self._use_cache else None
        if isinstance(found, Artifact):
            self.from_cache = True
            return found
        from opar.backend.compiler import Options, compile_text

        options = Options(
            kind,
            self._arch,
            self._entry,
            self._pipeline,
            assume_noalias,
            self._verify_schedule,
            self._use_cache,
        )
        artifact = compile_text(self._text, self._name, options)
        if self._use_cache:
            cache.store(key, artifact)
        return artifact
