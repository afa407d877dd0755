// RUN: opar-opt -p gpu-manage-buffers --verify-diagnostics --split-input-file --allow-unregistered-dialect %s | filecheck %s

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%a: memref<4xf32>) kernel {
      gpu.return
    }
  }
  func.func private @somewhere() -> memref<4xf32>
  func.func @unknown(%c: i1, %a: memref<4xf32>) {
    %c1 = arith.constant 1 : index
    %b = call @somewhere() : () -> memref<4xf32>
    %s = arith.select %c, %a, %b : memref<4xf32>
    // CHECK: gpu-manage-buffers-invalid.mlir:{{.*}}: 'gpu.launch_func': cannot tell which buffer of the GPU %b is; pass an allocation or argument
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%s : memref<4xf32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%a: memref<4xf32, strided<[2]>>) kernel {
      gpu.return
    }
  }
  func.func @layout(%a: memref<4xf32, strided<[2]>>) {
    %c1 = arith.constant 1 : index
    // CHECK: 'gpu.launch_func': a buffer of type memref<4xf32, strided<[2]>> cannot be copied to the GPU: its elements are not side by side
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<4xf32, strided<[2]>>)
    return
  }
}

// -----

func.func @not_outlined(%a: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  // CHECK: 'gpu.launch': gpu-manage-buffers needs outlined kernels: run gpu-kernel-outlining
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    gpu.terminator
  }
  return
}

// -----

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%a: memref<4xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %a[%i] : memref<4xf32>
      gpu.return
    }
  }
  func.func @both(%a: memref<4xf32>, %v: f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: 'scf.parallel': the host and a launch both access %a within this operation; move one of them out
    scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
      memref.store %v, %a[%i] : memref<4xf32>
      gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<4xf32>)
    }
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%a: memref<4xf32>) kernel {
      gpu.return
    }
  }
  // CHECK: 'func.func': jumps other than those of cf are not supported
  func.func @jumps(%a: memref<4xf32>) {
    %c1 = arith.constant 1 : index
    "other.jump"()[^next] : () -> ()
  ^next:
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<4xf32>)
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%a: memref<4xf32>, %b: memref<4xf32>) kernel {
      gpu.return
    }
  }
  // CHECK: 'func.func': %a and %b may be the same memory, and the GPU would hold it twice; mark one llvm.noalias, or inline the calls that pass it
  func.func private @same(%a: memref<4xf32>, %b: memref<4xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<4xf32>, %b : memref<4xf32>)
    return
  }
  func.func @calls(%a: memref<4xf32>) {
    call @same(%a, %a) : (memref<4xf32>, memref<4xf32>) -> ()
    return
  }
}

// -----

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%a: memref<4xf32>) kernel {
      gpu.return
    }
  }
  func.func @choice(%c: i1, %a: memref<4xf32>, %b: memref<4xf32>, %v: f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %s = arith.select %c, %a, %b : memref<4xf32>
    // CHECK: 'scf.parallel': the host and a launch both access one of several buffers within this operation; move one of them out
    scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
      memref.store %v, %s[%i] : memref<4xf32>
      gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<4xf32>)
    }
    return
  }
}
