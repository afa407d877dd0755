// RUN: opar-opt %s -t 'llvm{arch=host}' | filecheck %s

// One thread a block: the loops over threads are left out, a barrier is nothing.
gpu.module @kernels {
  gpu.func @fill(%a: memref<64xf32>, %f: f32) kernel attributes {known_block_size = array<i32: 1, 1, 1>} {
    %i = gpu.block_id x
    gpu.barrier
    memref.store %f, %a[%i] : memref<64xf32>
    gpu.return
  }
}

// CHECK:      define internal void @"opar_fill.blocks"(ptr %".1", float %".2", i64 %".3", i64 %".4", {{.*}}) noinline nounwind
// CHECK:      row:
// CHECK:      header:
// CHECK-NEXT:   [[X:%.*]] = phi  i64
// CHECK:      body:
// CHECK-NEXT:   [[P:%.*]] = getelementptr inbounds float, ptr %".1", i64 [[X]]
// CHECK-NEXT:   store float %".2", ptr [[P]], align 4
// CHECK:      define void @"opar_fill"(ptr %".1", ptr %".2", i64 %".3", i64 %".4")
