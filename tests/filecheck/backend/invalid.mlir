// RUN: opar-opt %s -t ptx --split-input-file --verify-diagnostics | filecheck %s

gpu.module @kernels {
  gpu.func @k() kernel {
    gpu.printf "hello"
    gpu.return
  }
}

// CHECK: 'gpu.printf': not supported in a kernel for sm_80

// -----

gpu.module @kernels {
  gpu.func @k(%n: index) kernel {
    %m = memref.alloca(%n) : memref<?xf32>
    gpu.return
  }
}

// CHECK: 'memref.alloca': stack memory must have a constant size in a kernel

// -----

gpu.module @kernels {
  gpu.func @k() workgroup(%w : memref<16384xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// CHECK: 'gpu.func': needs 65536 bytes of workgroup memory; sm_80 has 49152 for attributions; use smaller tiles or gpu.dynamic_shared_memory

// -----

gpu.module @kernels {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 64, 32, 1>} {
    gpu.return
  }
}

// CHECK: 'gpu.func': has blocks of 64x32x1 = 2048 threads; sm_80 runs at most 1024 a block; use more blocks

// -----

gpu.module @kernels {
  gpu.func @k(%a: memref<4xf32, affine_map<(i) -> (i floordiv 2)>>) kernel {
    gpu.return
  }
}

// CHECK: is not strided
