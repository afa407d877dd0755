"""`opar-opt`: parse MLIR, run passes, print MLIR, LLVM IR or PTX."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable
from typing import IO, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.target import Target
from xdsl.xdsl_opt_main import xDSLOptMain

from opar.dialects import register_dialects
from opar.dialects.parsing import parse_module, verify
from opar.errors import OptionError, SourceError
from opar.tools.guard import guard
from opar.transforms import parse_pipeline, pass_factories


def _llvm_target() -> type[Target]:
    from opar.backend.targets import LLVMTarget

    return LLVMTarget


def _ptx_target() -> type[Target]:
    from opar.backend.targets import PTXTarget

    return PTXTarget


class OparOptMain(xDSLOptMain):
    """The xDSL driver with opar's dialects, passes and targets instead of xDSL's own."""

    def register_all_dialects(self) -> None:
        register_dialects(self.ctx)

    def register_all_frontends(self) -> None:
        from xdsl.frontend.mlir import MLIRFrontend

        self.available_frontends["mlir"] = lambda: MLIRFrontend

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        """Standard input for no file or `-`; every file is MLIR, whatever its name."""
        if self.args.input_file in (None, "-"):
            return sys.stdin.buffer, "mlir"
        return open(self.args.input_file, "rb"), "mlir"

    def get_input_name(self) -> str:
        return "<stdin>" if self.args.input_file in (None, "-") else self.args.input_file

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp:
        """Parse and verify, with the source location of every operation."""
        name = self.get_input_name()
        try:
            text = chunk.read().decode()
        except UnicodeDecodeError as error:
            raise SourceError(f"{name}: not a text file: {error}") from error
        module = parse_module(
            text,
            name,
            self.ctx,
            implicit_module=not self.args.no_implicit_module,
            line_offset=start_offset,
        )
        if not self.args.disable_verify:
            verify(module)
        return module

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.add_argument(
            "--remarks",
            action="store_true",
            help="say on standard error why each operation waits for another",
        )

    def register_all_passes(self) -> None:
        for name, factory in pass_factories().items():
            self.register_pass(name, factory)

    def setup_pipeline(self) -> None:
        # Readable errors instead of tracebacks.
        parse_pipeline(self.args.passes)
        self._check_target()
        if self.args.remarks:
            handler = logging.StreamHandler()
            handler.setFormatter(logging.Formatter("remark: %(message)s"))
            logging.getLogger("opar.remarks").addHandler(handler)
            logging.getLogger("opar.remarks").setLevel(logging.INFO)
        super().setup_pipeline()

    def _check_target(self) -> None:
        factory = cast(Callable[[], type[Target]], self.available_targets[self._target_name()])
        try:
            factory().from_spec(parse_spec(self.args.target))
        except (ValueError, TypeError) as error:
            raise OptionError(f"target '{self.args.target}': {error}") from error

    def _target_name(self) -> str:
        return parse_spec(self.args.target).name

    def register_all_targets(self) -> None:
        from xdsl.targets import get_all_targets

        self.available_targets["mlir"] = get_all_targets()["mlir"]
        self.available_targets["llvm"] = _llvm_target
        self.available_targets["ptx"] = _ptx_target


def main() -> None:
    """Entry point: 0 on success, 1 and one message on what the user did wrong."""
    guard(lambda: OparOptMain(description="opar modular optimizer driver").run())


if __name__ == "__main__":
    main()
