// RUN: opar-opt -p gpu-kernel-outlining %s | filecheck %s
// RUN: opar-opt -p 'gpu-kernel-outlining{deduplicate=false}' %s | filecheck %s --check-prefix=EACH

// Constants and what is computed from them alone are made in the kernel; the other values are its
// arguments. Constant sizes are known to the kernel.
// CHECK: builtin.module attributes {gpu.container_module}
// CHECK-LABEL: func.func @constants
// CHECK: gpu.launch_func @constants_kernel::@constants_kernel blocks in (%c2, %c1, %c1) threads in (%c8, %c1, %c1) args(%n : index, %v : f32, %a : memref<?xf32>)
func.func @constants(%a: memref<?xf32>, %n: index, %v: f32) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %ten = affine.apply affine_map<()[s0] -> (s0 + 8)>()[%c2]
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c8, %sy = %c1, %sz = %c1) {
    %i = affine.apply affine_map<(d0, d1)[s0, s1] -> (d0 + d1 + s0 + s1)>(%tx, %bx)[%ten, %n]
    affine.store %v, %a[%i] : memref<?xf32>
    gpu.terminator
  }
  return
}

// Equal kernels are made once, also from two functions with different names for the values.
// CHECK-LABEL: func.func @twice
// CHECK: gpu.launch_func @twice_kernel::@twice_kernel blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%v : f32, %a : memref<?xf32>)
// CHECK: gpu.launch_func @twice_kernel::@twice_kernel blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%v : f32, %b : memref<?xf32>)
// EACH-LABEL: func.func @twice
// EACH: gpu.launch_func @twice_kernel::@twice_kernel
// EACH: gpu.launch_func @twice_kernel_0::@twice_kernel
func.func @twice(%a: memref<?xf32>, %b: memref<?xf32>, %v: f32, %n: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    memref.store %v, %a[%tx] : memref<?xf32>
    gpu.terminator
  }
  gpu.launch blocks(%ax, %ay, %az) in (%gx = %n, %gy = %n, %gz = %n) threads(%x, %y, %z) in (%sx = %n, %sy = %n, %sz = %n) {
    memref.store %v, %b[%x] : memref<?xf32>
    gpu.terminator
  }
  return
}

// Not the same: another type, and another operation.
// CHECK-LABEL: func.func @different
// CHECK: gpu.launch_func @different_kernel::@different_kernel
// CHECK: gpu.launch_func @different_kernel_0::@different_kernel
func.func @different(%a: memref<8xf32>, %b: memref<8xf64>, %v: f32, %w: f64, %n: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    memref.store %v, %a[%tx] : memref<8xf32>
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    memref.store %w, %b[%tx] : memref<8xf64>
    gpu.terminator
  }
  return
}

// Names, tokens, attributions, workgroup memory and attributes are kept.
// CHECK-LABEL: func.func @kept
// CHECK: %t = gpu.wait async
// CHECK-NEXT: %u = gpu.launch_func async [%t] @chosen::@named clusters in (%c1, %c1, %c1) blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) dynamic_shared_memory_size %bytes args(%v : f32) {opar.note = "kept"}
// CHECK-NEXT: gpu.wait [%u]
func.func @kept(%v: f32, %bytes: i32) {
  %c1 = arith.constant 1 : index
  %t = gpu.wait async
  %u = gpu.launch async [%t] clusters(%cx, %cy, %cz) in (%kx = %c1, %ky = %c1, %kz = %c1) blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) dynamic_shared_memory_size %bytes module(@chosen) function(@named) workgroup(%w : memref<4xf32, #gpu.address_space<workgroup>>) private(%p : memref<2xf32, #gpu.address_space<private>>) {
    memref.store %v, %w[%tx] : memref<4xf32, #gpu.address_space<workgroup>>
    memref.store %v, %p[%cx] : memref<2xf32, #gpu.address_space<private>>
    gpu.terminator
  } {opar.note = "kept"}
  gpu.wait [%u]
  return
}

// LLVM#149318: a launch in loops of the host, its grid from an affine.apply of the loop variable.
// CHECK-LABEL: func.func @loops
// CHECK: affine.for %i
// CHECK: %g = affine.apply
// CHECK-NEXT: gpu.launch_func @loops_kernel::@loops_kernel blocks in (%g, %c1, %c1) threads in (%c1, %c1, %c1) args(%v : f32, %a : memref<8x8xf32>, %i : index)
func.func @loops(%a: memref<8x8xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  affine.for %i = 0 to 8 {
    %g = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %g, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      affine.store %v, %a[%i, %bx] : memref<8x8xf32>
      gpu.terminator
    }
  }
  return
}

memref.global "private" constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>

func.func @square(%x: f32) -> f32 {
  %y = arith.mulf %x, %x : f32
  return %y : f32
}

// Functions and constants that the body uses are copied beside the kernel; several blocks move.
// CHECK-LABEL: func.func @symbols
// CHECK: gpu.launch_func @symbols_kernel::@symbols_kernel
func.func @symbols(%a: memref<4xf32>, %c: i1) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    cf.cond_br %c, ^some, ^end
  ^some:
    %t = memref.get_global @table : memref<4xf32>
    %x = memref.load %t[%tx] : memref<4xf32>
    %y = func.call @square(%x) : (f32) -> f32
    memref.store %y, %a[%tx] : memref<4xf32>
    cf.br ^end
  ^end:
    gpu.terminator
  }
  return
}

// Nothing to do: this function launches nothing.
// CHECK-LABEL: func.func @host
// CHECK-NEXT: memref.store %v, %a[]
// CHECK-NEXT: func.return
func.func @host(%a: memref<f32>, %v: f32) {
  memref.store %v, %a[] : memref<f32>
  return
}

// A kernel leaves the name to a function that it calls, as both are in its module.
// CHECK-LABEL: func.func @leaves
// CHECK: gpu.launch_func @leaves_kernel_0::@leaves_kernel_0
func.func @leaves(%a: memref<?xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %w = func.call @leaves_kernel(%v) : (f32) -> f32
    memref.store %w, %a[%tx] : memref<?xf32>
    gpu.terminator
  }
  return
}
func.func private @leaves_kernel(%v: f32) -> f32 {
  %w = arith.addf %v, %v : f32
  return %w : f32
}

// Kernels stay in the module of the function that launches them.
// CHECK: builtin.module @inner attributes {gpu.container_module}
// CHECK: gpu.launch_func @in_a_module_kernel::@in_a_module_kernel
// CHECK: gpu.module @in_a_module_kernel
module @inner {
  func.func @in_a_module(%a: memref<?xf32>, %v: f32) {
    %c1 = arith.constant 1 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      memref.store %v, %a[%tx] : memref<?xf32>
      gpu.terminator
    }
    return
  }
}

// The kernels come last in the module.
// CHECK: gpu.module @constants_kernel {
// CHECK-NEXT: gpu.func @constants_kernel(%n: index, %v: f32, %a: memref<?xf32>) kernel attributes {known_block_size = array<i32: 8, 1, 1>, known_grid_size = array<i32: 2, 1, 1>} {
// CHECK-DAG: %bx = gpu.block_id x
// CHECK-DAG: %tx = gpu.thread_id x
// CHECK-DAG: %c2 = arith.constant 2 : index
// CHECK-DAG: %ten = affine.apply affine_map<()[s0] -> ((s0 + 8))>()[%c2]
// CHECK: gpu.return
// CHECK: gpu.module @twice_kernel {
// CHECK-NOT: gpu.module @twice_kernel_0
// CHECK: gpu.module @different_kernel {
// CHECK: gpu.module @different_kernel_0 {
// CHECK: gpu.module @chosen {
// CHECK-NEXT: gpu.func @named(%v: f32) workgroup(%{{[0-9]+}}: memref<4xf32, #gpu.address_space<workgroup>>) private(%{{[0-9]+}}: memref<2xf32, #gpu.address_space<private>>) kernel
// CHECK: gpu.cluster_id x
// CHECK: gpu.module @loops_kernel {
// CHECK-NEXT: gpu.func @loops_kernel(%v: f32, %a: memref<8x8xf32>, %i: index) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
// CHECK: gpu.module @symbols_kernel {
// CHECK-DAG: memref.global "private" constant @table
// CHECK-DAG: func.func @square
// CHECK: gpu.func @symbols_kernel
// CHECK: cf.cond_br
// CHECK: gpu.module @leaves_kernel_0 {
// CHECK-NEXT: func.func private @leaves_kernel(
// CHECK: gpu.func @leaves_kernel_0(%v: f32, %a: memref<?xf32>) kernel
// CHECK: func.call @leaves_kernel(%v)
