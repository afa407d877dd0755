// RUN: opar-opt %s -t 'ptx{arch=sm_80}' | filecheck %s

gpu.module @kernels {
  gpu.func @"my.kernel"(%a: memref<64xf32> {llvm.noalias}, %b: memref<64xf32> {llvm.noalias}) kernel {
    %i = gpu.thread_id x
    %x = memref.load %a[%i] : memref<64xf32>
    %y = arith.mulf %x, %x : f32
    %z = arith.addf %y, %x : f32
    memref.store %z, %b[%i] : memref<64xf32>
    gpu.return
  }
}

// The name is made one that PTX accepts; arguments that do not overlap are read through the
// read-only cache; a product and a sum stay two roundings.
// CHECK: .target sm_80
// CHECK: .visible .entry k_my_kernel_{{[0-9a-f]+}}(
// CHECK: ld.global.nc.b32
// CHECK-NOT: fma
// CHECK: mul.rn.f32
// CHECK-NEXT: add.rn.f32
// CHECK: st.global.b32
