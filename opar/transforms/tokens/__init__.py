"""How `gpu-async-dataflow` writes tokens into the IR."""
