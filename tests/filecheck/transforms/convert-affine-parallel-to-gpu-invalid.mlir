// RUN: opar-opt -p convert-affine-parallel-to-gpu --verify-diagnostics --split-input-file %s | filecheck %s
// RUN: opar-opt -p 'convert-affine-parallel-to-gpu{target=cpu}' --verify-diagnostics --split-input-file %s | filecheck %s

func.func @results() -> f32 {
  %v = arith.constant 1.0 : f32
  // CHECK: convert-affine-parallel-to-gpu-invalid.mlir:7:3: 'affine.parallel': a parallel loop with results is supported inside another one only; store what each iteration finds, and combine it in a loop of its own
  %r = affine.parallel (%i) = (0) to (10) reduce ("addf") -> f32 {
    affine.yield %v : f32
  }
  return %r : f32
}

// -----

// LLVM#185250
func.func @assign(%a: memref<4xf32>, %v: f32) {
  affine.parallel (%i) = (0) to (4) {
    // CHECK: 'affine.parallel': the reduction 'assign' is not supported: it has no neutral element, so that an empty loop has no result
    %r = affine.parallel (%j) = (0) to (10) reduce ("assign") -> f32 {
      affine.yield %v : f32
    }
    affine.store %r, %a[%i] : memref<4xf32>
  }
  return
}

// -----

func.func @signed(%a: memref<4xsi32>, %v: si32) {
  affine.parallel (%i) = (0) to (4) {
    // CHECK: 'affine.parallel': a reduction of si32 is not supported: arith has no operation on it
    %r = affine.parallel (%j) = (0) to (10) reduce ("maxs") -> si32 {
      affine.yield %v : si32
    }
    affine.store %r, %a[%i] : memref<4xsi32>
  }
  return
}

// -----

func.func @allocates() {
  affine.parallel (%i) = (0) to (4) {
    affine.for %j = 0 to 3 {
      // CHECK: 'memref.alloc': cannot run inside a parallel loop; move it out, or use memref.alloca
      %a = memref.alloc() : memref<4xf32>
    }
  }
  return
}

// -----

func.func @barrier() {
  affine.parallel (%i) = (0) to (4) {
    // CHECK: 'gpu.barrier': cannot run inside a parallel loop; move it out
    gpu.barrier
  }
  return
}

// -----

func.func private @elsewhere(index)

func.func @external() {
  affine.parallel (%i) = (0) to (4) {
    // CHECK: 'func.call': @elsewhere has no body here, so a parallel loop cannot call it
    func.call @elsewhere(%i) : (index) -> ()
  }
  return
}

// -----

func.func @fill(%a: memref<4xf32>, %v: f32) {
  // CHECK: 'affine.parallel': @fill is called from a parallel loop, so inline it there
  affine.parallel (%i) = (0) to (4) {
    affine.store %v, %a[%i] : memref<4xf32>
  }
  return
}

// LLVM#64639: the function that is called would launch.
func.func @calls(%a: memref<4xf32>, %v: f32) {
  affine.parallel (%i) = (0) to (4) {
    func.call @fill(%a, %v) : (memref<4xf32>, f32) -> ()
  }
  return
}

// -----

memref.global "private" @variable : memref<4xf32> = uninitialized

func.func @global(%a: memref<4xf32>) {
  affine.parallel (%i) = (0) to (4) {
    // CHECK: 'memref.get_global': @variable is no constant, so take it outside of the parallel loop
    %g = memref.get_global @variable : memref<4xf32>
    %v = affine.load %g[%i] : memref<4xf32>
    affine.store %v, %a[%i] : memref<4xf32>
  }
  return
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    gpu.func @k(%a: memref<f32>, %v: f32) kernel {
      // CHECK: 'affine.parallel': the reduction 'assign' is not supported
      %r = affine.parallel (%i) = (0) to (4) reduce ("assign") -> f32 {
        affine.yield %v : f32
      }
      gpu.return
    }
  }
}
