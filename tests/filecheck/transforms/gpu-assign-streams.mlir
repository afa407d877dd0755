// RUN: opar-opt -p gpu-assign-streams %s | filecheck %s

// Two chains that meet: the join continues one of them. The fork after it needs a second stream,
// and takes the one whose last operation it waits for anyway.

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f() kernel {
      gpu.return
    }
  }
  // CHECK-LABEL: func.func @join_and_fork
  func.func @join_and_fork() {
    %c1 = arith.constant 1 : index
    %0 = gpu.launch_func async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    %1 = gpu.launch_func async [%0] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    %2 = gpu.launch_func async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    %3 = gpu.launch_func async [%1, %2] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    %4 = gpu.launch_func async [%3] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    %5 = gpu.launch_func async [%3] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu.wait [%4, %5]
    // CHECK:      %0 = gpu.launch_func async @k::@f {{.*}} {opar.stream = 0 : i64}
    // CHECK-NEXT: %1 = gpu.launch_func async [%0] {{.*}} {opar.stream = 0 : i64}
    // CHECK-NEXT: %2 = gpu.launch_func async @k::@f {{.*}} {opar.stream = 1 : i64}
    // CHECK-NEXT: %3 = gpu.launch_func async [%1, %2] {{.*}} {opar.stream = 0 : i64}
    // CHECK-NEXT: %4 = gpu.launch_func async [%3] {{.*}} {opar.stream = 0 : i64}
    // CHECK-NEXT: %5 = gpu.launch_func async [%3] {{.*}} {opar.stream = 1 : i64}
    return
  }

  // An allocation takes the stream of its first user, a deallocation that of its last dependency:
  // neither opens a stream.
  // CHECK-LABEL: func.func @memory
  func.func @memory(%a: memref<4xf32>, %b: memref<4xf32>) {
    %d, %0 = gpu.alloc async () : memref<4xf32>
    %e, %1 = gpu.alloc async () : memref<4xf32>
    %2 = gpu.memcpy async [%0] %d, %a : memref<4xf32>, memref<4xf32>
    %3 = gpu.memcpy async [%1] %e, %b : memref<4xf32>, memref<4xf32>
    %4 = gpu.dealloc async [%2] %d : memref<4xf32>
    %5 = gpu.dealloc async [%3] %e : memref<4xf32>
    gpu.wait [%4, %5]
    // CHECK:      gpu.alloc async () {opar.stream = 0 : i64}
    // CHECK-NEXT: gpu.alloc async () {opar.stream = 1 : i64}
    // CHECK-NEXT: gpu.memcpy async {{.*}} {opar.stream = 0 : i64}
    // CHECK-NEXT: gpu.memcpy async {{.*}} {opar.stream = 1 : i64}
    // CHECK-NEXT: gpu.dealloc async {{.*}} {opar.stream = 0 : i64}
    // CHECK-NEXT: gpu.dealloc async {{.*}} {opar.stream = 1 : i64}
    return
  }

  // Operations without a token run for the host: no stream.
  // CHECK-LABEL: func.func @synchronous
  func.func @synchronous() {
    %c1 = arith.constant 1 : index
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    // CHECK-NOT: opar.stream
    // CHECK: return
    return
  }
}
