// RUN: opar-opt -p gpu-async-dataflow %s | filecheck %s

// Effects that no argument shows.

module attributes {gpu.container_module} {
gpu.module @k {
  memref.global @g : memref<8xf32> = uninitialized
  gpu.func @bump(%a: memref<8xi32>) kernel {
    %i = gpu.thread_id x
    %old = memref.generic_atomic_rmw %a[%i] : memref<8xi32> {
    ^bb0(%v: i32):
      memref.atomic_yield %v : i32
    }
    gpu.return
  }
  gpu.func @read(%a: memref<8xi32>, %b: memref<8xi32>) kernel {
    %i = gpu.thread_id x
    %v = memref.load %a[%i] : memref<8xi32>
    memref.store %v, %b[%i] : memref<8xi32>
    gpu.return
  }
  gpu.func @set_global(%a: memref<8xf32>) kernel {
    %i = gpu.thread_id x
    %g = memref.get_global @g : memref<8xf32>
    %v = memref.load %a[%i] : memref<8xf32>
    memref.store %v, %g[%i] : memref<8xf32>
    gpu.return
  }
  gpu.func @get_global(%a: memref<8xf32>) kernel {
    %i = gpu.thread_id x
    %g = memref.get_global @g : memref<8xf32>
    %v = memref.load %g[%i] : memref<8xf32>
    memref.store %v, %a[%i] : memref<8xf32>
    gpu.return
  }
}
// What the body of an atomic update leaves out, its operation itself does.
// CHECK-LABEL: func.func @read_modify_write
func.func @read_modify_write(%a: memref<8xi32>, %b: memref<8xi32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch_func @k::@bump blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>)
  gpu.launch_func @k::@read blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>, %b : memref<8xi32>)
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@bump
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@read
  // CHECK-NEXT: gpu.wait [%[[B]]]
  func.return
}
// A kernel may reach memory that is no argument.
// CHECK-LABEL: func.func @global
func.func @global(%a: memref<8xf32>, %b: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch_func @k::@set_global blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  gpu.launch_func @k::@get_global blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set_global
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@get_global
  // CHECK-NEXT: gpu.wait [%[[B]]]
  func.return
}
// The host waits behind a loop for what runs in it; the token that is there orders the iterations.
// CHECK-LABEL: func.func @out_of_a_loop
func.func @out_of_a_loop(%a: memref<8xi32>, %b: memref<8xi32>) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %start = gpu.wait async
  %end = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %start) -> (!gpu.async.token) {
    %next = gpu.launch_func async [%t] @k::@read blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>, %b : memref<8xi32>)
    scf.yield %next : !gpu.async.token
  }
  %v = memref.load %b[%c0] : memref<8xi32>
  // CHECK:      %[[END:[0-9a-z_]+]], %[[R:[0-9a-z_]+]] = scf.for
  // CHECK-NEXT: %[[N:[0-9a-z_]+]] = gpu.launch_func async [%t] @k::@read
  // CHECK-NEXT: scf.yield %[[N]], %[[N]]
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.wait [%[[R]]]
  // CHECK-NEXT: memref.load
  func.return %v : i32
}
}
