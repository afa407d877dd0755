"""`python -m bench`: every measurement that this machine allows, one after another."""

from __future__ import annotations

from bench import command_line, cpu_product, tokens
from opar.backend.program import get_device
from opar.errors import DeviceError

if __name__ == "__main__":
    command_line.main()
    cpu_product.main()
    tokens.main()
    try:
        get_device("cuda")
    except DeviceError as error:
        print(f"GPU measurements left out: {error}")
    else:
        from bench import gpu_overlap, gpu_streams

        gpu_overlap.main(("128", "512", "1024"))
        gpu_streams.main()
