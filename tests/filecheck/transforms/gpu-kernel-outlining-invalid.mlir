// RUN: opar-opt -p gpu-kernel-outlining --verify-diagnostics --split-input-file %s | filecheck %s

func.func @within() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    // CHECK: gpu-kernel-outlining-invalid.mlir:7:5: 'gpu.launch': a launch within a launch is not supported; launch both from the host
    gpu.launch blocks(%ax, %ay, %az) in (%hx = %c1, %hy = %c1, %hz = %c1) threads(%ux, %uy, %uz) in (%rx = %c1, %ry = %c1, %rz = %c1) {
      gpu.terminator
    }
    gpu.terminator
  }
  return
}

// -----

func.func @f() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.terminator
  }
  return
}

// LLVM#64639, LLVM#128837: the body calls a function that launches.
func.func @through_a_call() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    // CHECK: 'func.call': @f launches a kernel, which a kernel cannot do
    func.call @f() : () -> ()
    gpu.terminator
  }
  return
}

// -----

func.func private @elsewhere(f32) -> f32

func.func @external(%a: memref<f32>, %v: f32) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    // CHECK: 'func.call': @elsewhere has no body, so a kernel cannot call it
    %w = func.call @elsewhere(%v) : (f32) -> f32
    memref.store %w, %a[] : memref<f32>
    gpu.terminator
  }
  return
}

// -----

memref.global "private" @variable : memref<f32> = uninitialized

func.func @global() {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    // CHECK: 'memref.get_global': @variable is no constant, so take it outside of the launch
    %g = memref.get_global @variable : memref<f32>
    gpu.terminator
  }
  return
}

// -----

module attributes {gpu.container_module} {
  gpu.module @m {
    func.func private @leaf(%v: f32) -> f32 {
      %w = arith.mulf %v, %v : f32
      return %w : f32
    }
  }
  func.func private @leaf(%v: f32) -> f32 {
    %w = arith.addf %v, %v : f32
    return %w : f32
  }
  func.func @other_leaf(%a: memref<f32>, %v: f32) {
    %c1 = arith.constant 1 : index
    // CHECK: 'gpu.launch': its body needs @leaf, but @m holds something else of that name; rename one of them
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) module(@m) {
      %w = func.call @leaf(%v) : (f32) -> f32
      memref.store %w, %a[] : memref<f32>
      gpu.terminator
    }
    return
  }
}
