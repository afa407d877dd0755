"""Programs that several tests run, as MLIR text."""

from __future__ import annotations


def product(a: str, b: str, out: str, rows: int, inner: int, cols: int) -> str:
    """A loop nest for `out = a * b`, as a person writes it."""
    left, right = f"memref<{rows}x{inner}xf32>", f"memref<{inner}x{cols}xf32>"
    return f"""
  affine.parallel (%i) = (0) to ({rows}) {{
    affine.parallel (%j) = (0) to ({cols}) {{
      %dot = affine.for %k = 0 to {inner} iter_args(%acc = %zero) -> (f32) {{
        %l = affine.load {a}[%i, %k] : {left}
        %r = affine.load {b}[%k, %j] : {right}
        %lr = arith.mulf %l, %r : f32
        %next = arith.addf %acc, %lr : f32
        affine.yield %next : f32
      }}
      affine.store %dot, {out}[%i, %j] : memref<{rows}x{cols}xf32>
    }}
  }}"""


def seed(rows: int, inner: int, cols: int) -> str:
    """Two products of the same arguments and their sum: 2*A*B, in the shape of the seed file."""
    out = f"memref<{rows}x{cols}xf32>"
    return f"""
func.func @seed(%a: memref<{rows}x{inner}xf32>, %b: memref<{inner}x{cols}xf32>) -> {out} {{
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() {{alignment = 16 : i64}} : {out}
  %s = memref.alloc() {{alignment = 16 : i64}} : {out}
  {product("%a", "%b", "%p", rows, inner, cols)}
  %q = memref.alloc() {{alignment = 16 : i64}} : {out}
  {product("%a", "%b", "%q", rows, inner, cols)}
  affine.parallel (%i) = (0) to ({rows}) {{
    affine.parallel (%j) = (0) to ({cols}) {{
      %x = affine.load %p[%i, %j] : {out}
      %y = affine.load %q[%i, %j] : {out}
      %z = arith.addf %x, %y : f32
      affine.store %z, %s[%i, %j] : {out}
    }}
  }}
  return %s : {out}
}}
"""


IN_PLACE = """
func.func @in_place(%x: memref<?xf32>, %y: memref<?xf32>, %scale: f32) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  affine.parallel (%i) = (0) to (%n) {
    %a = affine.load %x[%i] : memref<?xf32>
    %b = arith.mulf %a, %scale : f32
    affine.store %b, %y[%i] : memref<?xf32>
  }
  affine.parallel (%i) = (0) to (%n) {
    %a = affine.load %x[%i] : memref<?xf32>
    %b = affine.load %y[%i] : memref<?xf32>
    %c = arith.addf %a, %b : f32
    affine.store %c, %y[%i] : memref<?xf32>
  }
  return
}
"""
"""y = scale * x, then y = x + y; with y = x both steps see what the first wrote."""
