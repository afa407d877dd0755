"""How loop nests become launches: nests, access strides, and one mapping a target. No passes."""
