// RUN: opar-opt -p unroll-host-loops %s | filecheck %s
// RUN: opar-opt -p 'unroll-host-loops{limit=3}' %s | filecheck %s --check-prefix=LIMIT

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @step(%a: memref<8xf32>, %t: index) kernel {
      %v = memref.load %a[%t] : memref<8xf32>
      memref.store %v, %a[%t] : memref<8xf32>
      gpu.return
    }
  }
  // CHECK-LABEL: func.func @counted
  // LIMIT-LABEL: func.func @counted
  func.func @counted(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    affine.for %t = 1 to 6 step 2 {
      gpu.launch_func @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %t : index)
    }
    // CHECK-NEXT: %c1 = arith.constant 1 : index
    // CHECK-NEXT: %[[T0:.*]] = arith.constant 1 : index
    // CHECK-NEXT: gpu.launch_func {{.*}} %[[T0]] : index)
    // CHECK-NEXT: %[[T1:.*]] = arith.constant 3 : index
    // CHECK-NEXT: gpu.launch_func {{.*}} %[[T1]] : index)
    // CHECK-NEXT: %[[T2:.*]] = arith.constant 5 : index
    // CHECK-NEXT: gpu.launch_func {{.*}} %[[T2]] : index)
    // CHECK-NEXT: return
    // LIMIT: gpu.launch_func
    return
  }

  // Bounds of the inner loop that depend on the outer variable.
  // CHECK-LABEL: func.func @triangle
  // LIMIT-LABEL: func.func @triangle
  func.func @triangle(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    affine.for %s = 0 to 3 {
      affine.for %t = affine_map<(d0) -> (d0 + 1)>(%s) to 3 {
        gpu.launch_func @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %t : index)
      }
    }
    // CHECK-COUNT-3: gpu.launch_func
    // CHECK-NOT: gpu.launch_func
    // CHECK: return
    // LIMIT: affine.for
    return
  }

  // Buffers that change places from one iteration to the next.
  // CHECK-LABEL: func.func @ping_pong
  func.func @ping_pong(%a: memref<8xf32>, %b: memref<8xf32>) -> memref<8xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %r:2 = scf.for %t = %c0 to %c3 step %c1 iter_args(%x = %a, %y = %b) -> (memref<8xf32>, memref<8xf32>) {
      gpu.launch_func @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %t : index)
      scf.yield %y, %x : memref<8xf32>, memref<8xf32>
    }
    // CHECK:      gpu.launch_func {{.*}} args(%a :
    // CHECK:      gpu.launch_func {{.*}} args(%b :
    // CHECK:      gpu.launch_func {{.*}} args(%a :
    // CHECK-NEXT: return %b
    return %r#0 : memref<8xf32>
  }

  // Bounds known only at run time, and a loop that launches nothing: both stay.
  // CHECK-LABEL: func.func @stays
  func.func @stays(%a: memref<8xf32>, %n: index, %v: f32) {
    %c1 = arith.constant 1 : index
    affine.for %t = 0 to %n {
      gpu.launch_func @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %t : index)
    }
    affine.for %t = 0 to 4 {
      affine.store %v, %a[%t] : memref<8xf32>
    }
    // CHECK: affine.for %t = 0 to %n
    // CHECK: affine.for %{{.*}} = 0 to 4
    return
  }

  // Counted as unsigned numbers, and more iterations than Python can count: both stay.
  // CHECK-LABEL: func.func @large
  func.func @large(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %least = arith.constant -9223372036854775808 : index
    %most = arith.constant 9223372036854775807 : index
    scf.for unsigned %t = %c1 to %least step %most {
      gpu.launch_func @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %t : index)
    }
    scf.for %t = %least to %most step %c1 {
      gpu.launch_func @k::@step blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %t : index)
    }
    // CHECK: scf.for unsigned
    // CHECK: scf.for %
    return
  }
}
