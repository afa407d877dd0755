"""Object code into this process."""

from __future__ import annotations

from collections.abc import Iterable

import llvmlite.binding as llvm


class LoadedObject:
    """Object code in memory; `addresses` stay valid as long as this lives."""

    def __init__(self, object_code: bytes, names: Iterable[str]):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(object_code))
        self._engine.finalize_object()
        self.addresses = {name: self._engine.get_function_address(name) for name in names}
