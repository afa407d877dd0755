"""opar: operation-level parallelism for MLIR programs on GPUs."""
