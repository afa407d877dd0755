// RUN: opar-opt %s -t 'llvm{arch=sm_90}' | filecheck %s

// The target's data layout is part of the module, the block size an attribute of the kernel.
// CHECK: target triple = "nvptx64-nvidia-cuda"
gpu.module @kernels {
  gpu.func @scale(%a: memref<?x8xf32, strided<[?, 1], offset: ?>> {llvm.noalias}, %f: f32)
      workgroup(%w : memref<8xf32, #gpu.address_space<workgroup>>)
      kernel attributes {known_block_size = array<i32: 8, 1, 1>} {
    %i = gpu.global_id y
    %j = gpu.thread_id x
    %x = memref.load %a[%i, %j] : memref<?x8xf32, strided<[?, 1], offset: ?>>
    %y = arith.mulf %x, %f : f32
    %z = arith.addf %y, %f fastmath<contract> : f32
    memref.store %z, %w[%j] : memref<8xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    memref.store %z, %a[%i, %j] : memref<?x8xf32, strided<[?, 1], offset: ?>>
    gpu.return
  }
}

// Pointer, size 0 and stride 0 of the memref, then the scalar.
// CHECK: define ptx_kernel void @"scale"(ptr noalias %".1", i64 %".2", i64 %".3", float %".4") "nvvm.maxntid"="8,1,1"
// CHECK: call i32 @"llvm.nvvm.read.ptx.sreg.ctaid.y"()
// CHECK-NOT: ntid.y
// CHECK: getelementptr inbounds float, ptr %".1"
// CHECK: load float, ptr
// CHECK: fmul float
// CHECK: fadd contract float
// CHECK: store float {{.*}}, ptr addrspace(3)
// CHECK: call void @"llvm.nvvm.barrier.cta.sync.aligned.all"(i32 0)
// CHECK: ret void
// CHECK: @"opar_shared" = internal addrspace(3) global [8 x float] undef, align 16
