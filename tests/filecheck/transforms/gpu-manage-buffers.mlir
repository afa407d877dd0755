// RUN: opar-opt -p 'gpu-manage-buffers{assume-noalias-args=true}' %s | filecheck %s
// RUN: opar-opt -p gpu-manage-buffers %s | filecheck %s --check-prefix=OVERLAP

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @copy(%from: memref<8xf32>, %to: memref<8xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %from[%i] : memref<8xf32>
      memref.store %v, %to[%i] : memref<8xf32>
      gpu.return
    }
    gpu.func @copy_any(%from: memref<?xf32>, %to: memref<?xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %from[%i] : memref<?xf32>
      memref.store %v, %to[%i] : memref<?xf32>
      gpu.return
    }
  }

  // An argument is copied in; a temporary lives on the GPU alone; a result exists twice.
  // CHECK-LABEL: func.func @result
  func.func @result(%a: memref<8xf32>) -> memref<8xf32> {
    %c1 = arith.constant 1 : index
    %t = memref.alloc() : memref<8xf32>
    %r = memref.alloc() : memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %t : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%t : memref<8xf32>, %r : memref<8xf32>)
    memref.dealloc %t : memref<8xf32>
    // CHECK-NEXT: %a_gpu = gpu.alloc () {opar.argument = 0 : i64} : memref<8xf32>
    // CHECK-NEXT: gpu.memcpy %a_gpu, %a
    // CHECK-NEXT: arith.constant
    // CHECK-NEXT: %t_gpu = gpu.alloc () : memref<8xf32>
    // CHECK-NEXT: %r = memref.alloc()
    // CHECK-NEXT: %r_gpu = gpu.alloc () {opar.result = 0 : i64} : memref<8xf32>
    // CHECK-NEXT: gpu.launch_func {{.*}} args(%a_gpu : memref<8xf32>, %t_gpu : memref<8xf32>)
    // CHECK-NEXT: gpu.launch_func {{.*}} args(%t_gpu : memref<8xf32>, %r_gpu : memref<8xf32>)
    // CHECK-NEXT: gpu.dealloc %t_gpu
    // CHECK-NEXT: gpu.memcpy %r, %r_gpu
    // CHECK-NEXT: gpu.dealloc %a_gpu
    // CHECK-NEXT: gpu.dealloc %r_gpu
    // CHECK-NEXT: return %r
    return %r : memref<8xf32>
  }

  // An argument that a launch writes is copied back; where arguments may overlap, all are.
  // CHECK-LABEL: func.func @written
  // OVERLAP-LABEL: func.func @written
  func.func @written(%a: memref<8xf32>, %b: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
    // CHECK:      gpu.memcpy %a_gpu, %a
    // CHECK:      gpu.memcpy %b_gpu, %b
    // CHECK:      gpu.launch_func
    // CHECK-NEXT: gpu.memcpy %b, %b_gpu
    // CHECK-NEXT: gpu.dealloc

    // OVERLAP:      gpu.launch_func
    // OVERLAP-NEXT: gpu.memcpy %a, %a_gpu
    // OVERLAP-NEXT: gpu.memcpy %b, %b_gpu
    return
  }

  // The host looks at what a launch wrote, and writes what the next one reads.
  // CHECK-LABEL: func.func @host_between
  func.func @host_between(%a: memref<8xf32>, %b: memref<8xf32>) -> f32 {
    %c1 = arith.constant 1 : index
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
    %v = memref.load %b[%c1] : memref<8xf32>
    memref.store %v, %a[%c1] : memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
    // CHECK:      gpu.launch_func
    // CHECK-NEXT: gpu.memcpy %b, %b_gpu
    // CHECK-NEXT: memref.load %b
    // CHECK-NEXT: memref.store %v, %a
    // CHECK-NEXT: gpu.memcpy %a_gpu, %a
    // CHECK-NEXT: gpu.launch_func
    // CHECK-NEXT: gpu.memcpy %b, %b_gpu
    return %v : f32
  }

  // Sizes that the type leaves open are those of the argument.
  // CHECK-LABEL: func.func @dynamic
  func.func @dynamic(%a: memref<?xf32>, %n: index) -> memref<?xf32> {
    %c1 = arith.constant 1 : index
    %r = memref.alloc(%n) : memref<?xf32>
    gpu.launch_func @k::@copy_any blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<?xf32>, %r : memref<?xf32>)
    // CHECK-NEXT: %[[C0:.*]] = arith.constant 0 : index
    // CHECK-NEXT: %[[SIZE:.*]] = memref.dim %a, %[[C0]]
    // CHECK-NEXT: %a_gpu = gpu.alloc (%[[SIZE]]) {opar.argument = 0 : i64}
    // CHECK:      %r_gpu = gpu.alloc (%n) {opar.result = 0 : i64}
    return %r : memref<?xf32>
  }

  // Views are repeated on the GPU.
  // CHECK-LABEL: func.func @views
  func.func @views(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %v = memref.cast %a : memref<8xf32> to memref<?xf32>
    gpu.launch_func @k::@copy_any blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%v : memref<?xf32>, %v : memref<?xf32>)
    // CHECK:      %[[V:.*]] = memref.cast %a_gpu : memref<8xf32> to memref<?xf32>
    // CHECK-NEXT: gpu.launch_func {{.*}} args(%[[V]] : memref<?xf32>, %[[V]] : memref<?xf32>)
    return
  }

  // Memory of the GPU is somebody else's to manage: nothing changes.
  // CHECK-LABEL: func.func @managed
  func.func @managed(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %d = gpu.alloc () : memref<8xf32>
    gpu.memcpy %d, %a : memref<8xf32>, memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : memref<8xf32>, %d : memref<8xf32>)
    gpu.dealloc %d : memref<8xf32>
    // CHECK-NEXT: arith.constant
    // CHECK-NEXT: gpu.alloc
    // CHECK-NEXT: gpu.memcpy
    // CHECK-NEXT: gpu.launch_func
    // CHECK-NEXT: gpu.dealloc
    // CHECK-NEXT: return
    return
  }
}
