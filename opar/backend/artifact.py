"""What compiling gives: all that is needed to run a program, with no IR objects in it."""

from __future__ import annotations

from dataclasses import dataclass

from opar.backend.device import KernelCode
from opar.backend.schedule import Schedule


@dataclass(frozen=True)
class Artifact:
    """
    `kernels` maps `module::function` to `N:NAME`, kernel NAME of `code[N]`; launches of the
    schedule name kernels in the second form. `module_text` is the lowered module.
    """

    schedule: Schedule
    kernels: dict[str, str]
    code: tuple[KernelCode, ...]
    module_text: str
    kind: str
    arch: str
