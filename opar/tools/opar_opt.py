"""`opar-opt`: parse MLIR, run passes, print MLIR, LLVM IR or PTX."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.frontend.mlir import MLIRFrontend
from xdsl.utils.exceptions import DiagnosticException
from xdsl.xdsl_opt_main import xDSLOptMain

from opar.dialects import register_dialects
from opar.dialects.parsing import parse_module, verify
from opar.transforms import parse_pipeline, pass_factories


@dataclass(frozen=True)
class LocatedMLIRFrontend(MLIRFrontend):
    """xDSL's MLIR frontend, with a source location on every operation."""

    def parse(self, ctx: Context, input: IO[bytes], input_name: str = "input") -> ModuleOp:
        module = parse_module(
            input.read().decode(), input_name, ctx, implicit_module=not self.no_implicit_module
        )
        verify(module)
        return module


class OparOptMain(xDSLOptMain):
    """The xDSL driver with opar's dialects, passes and targets instead of xDSL's own."""

    def register_all_dialects(self) -> None:
        register_dialects(self.ctx)

    def register_all_frontends(self) -> None:
        self.available_frontends["mlir"] = lambda: LocatedMLIRFrontend

    def register_all_passes(self) -> None:
        for name, factory in pass_factories().items():
            self.register_pass(name, factory)

    def setup_pipeline(self) -> None:
        parse_pipeline(self.args.passes)  # a readable error instead of a traceback
        super().setup_pipeline()

    def register_all_targets(self) -> None:
        from xdsl.targets import get_all_targets

        self.available_targets["mlir"] = get_all_targets()["mlir"]


def main() -> None:
    """Entry point: 0 on success, 1 and one message on what the user did wrong."""
    try:
        OparOptMain(description="opar modular optimizer driver").run()
    except DiagnosticException as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
