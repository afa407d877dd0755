// RUN: opar-opt %s -t ptx | filecheck %s

// A function of libdevice is linked in and inlined; nothing external is left.
gpu.module @kernels {
  gpu.func @k(%a: memref<64xf32>, %b: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %x = memref.load %a[%i] : memref<64xf32>
    %e = math.exp %x : f32
    memref.store %e, %a[%i] : memref<64xf32>
    %s = math.sin %x fastmath<afn> : f32
    memref.store %s, %b[%i] : memref<64xf32>
    gpu.return
  }
}

// CHECK-NOT: .extern
// CHECK-NOT: .func
// CHECK: .visible .entry k(
// CHECK: ex2.approx.ftz.f32
// CHECK: sin.approx.f32
