// RUN: opar-opt -p gpu-async-dataflow %s | filecheck %s

// Memory that comes through selects, control flow and async: launches on it wait for those on each
// buffer that it can be, and for no other.

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @set(%a: memref<8xf32>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%i] : memref<8xf32>
    gpu.return
  }
}
func.func @select(%b: i1) {
  // CHECK-LABEL: func.func @select
  // CHECK:      %[[P:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[Q:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[R:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[S:[0-9a-z_]+]] = gpu.launch_func async [%[[P]], %[[Q]]] @k::@set
  // CHECK-NEXT: gpu.wait [%[[R]], %[[S]]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %q = memref.alloc() : memref<8xf32>
  %r = memref.alloc() : memref<8xf32>
  %s = arith.select %b, %p, %q : memref<8xf32>
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%q : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%r : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%s : memref<8xf32>)
  return
}
func.func @index_switch(%b: index) {
  // CHECK-LABEL: func.func @index_switch
  // CHECK:      %[[P:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[Q:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[R:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[S:[0-9a-z_]+]] = gpu.launch_func async [%[[P]], %[[Q]]] @k::@set
  // CHECK-NEXT: gpu.wait [%[[R]], %[[S]]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %q = memref.alloc() : memref<8xf32>
  %r = memref.alloc() : memref<8xf32>
  %s = scf.index_switch %b -> memref<8xf32>
  case 2 {
    scf.yield %p : memref<8xf32>
  }
  default {
    scf.yield %q : memref<8xf32>
  }
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%q : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%r : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%s : memref<8xf32>)
  return
}
// Buffers that change places.
func.func @loop(%n: index) {
  // CHECK-LABEL: func.func @loop
  // CHECK:      %[[P:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[Q:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[R:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[S:[0-9a-z_]+]] = gpu.launch_func async [%[[P]], %[[Q]]] @k::@set
  // CHECK-NEXT: gpu.wait [%[[R]], %[[S]]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %q = memref.alloc() : memref<8xf32>
  %r = memref.alloc() : memref<8xf32>
  %s, %t = scf.for %i = %c0 to %n step %c1 iter_args(%x = %p, %y = %q) -> (memref<8xf32>, memref<8xf32>) {
    scf.yield %y, %x : memref<8xf32>, memref<8xf32>
  }
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%q : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%r : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%s : memref<8xf32>)
  return
}
func.func @while(%n: i1) {
  // CHECK-LABEL: func.func @while
  // CHECK:      %[[P:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[Q:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[R:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[S:[0-9a-z_]+]] = gpu.launch_func async [%[[P]], %[[Q]]] @k::@set
  // CHECK-NEXT: gpu.wait [%[[R]], %[[S]]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %q = memref.alloc() : memref<8xf32>
  %r = memref.alloc() : memref<8xf32>
  %s = scf.while (%x = %p) : (memref<8xf32>) -> memref<8xf32> {
    scf.condition(%n) %x : memref<8xf32>
  } do {
  ^bb0(%y: memref<8xf32>):
    scf.yield %q : memref<8xf32>
  }
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%q : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%r : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%s : memref<8xf32>)
  return
}
func.func @region(%b: i1) {
  // CHECK-LABEL: func.func @region
  // CHECK:      %[[P:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[Q:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[R:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[S:[0-9a-z_]+]] = gpu.launch_func async [%[[P]], %[[Q]]] @k::@set
  // CHECK-NEXT: gpu.wait [%[[R]], %[[S]]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %q = memref.alloc() : memref<8xf32>
  %r = memref.alloc() : memref<8xf32>
  %s = scf.execute_region -> memref<8xf32> {
    cf.cond_br %b, ^bb1(%p : memref<8xf32>), ^bb2
  ^bb1(%x: memref<8xf32>):
    scf.yield %x : memref<8xf32>
  ^bb2:
    cf.br ^bb1(%q : memref<8xf32>)
  }
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%q : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%r : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%s : memref<8xf32>)
  return
}
func.func @execute() {
  // CHECK-LABEL: func.func @execute
  // CHECK:      %[[P:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[R:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[S:[0-9a-z_]+]] = gpu.launch_func async [%[[P]]] @k::@set
  // CHECK-NEXT: gpu.wait [%[[R]], %[[S]]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %r = memref.alloc() : memref<8xf32>
  %e, %v = async.execute -> !async.value<memref<8xf32>> {
    async.yield %p : memref<8xf32>
  }
  %f, %w = async.execute [%e] (%v as %x: !async.value<memref<8xf32>>) -> !async.value<memref<8xf32>> {
    async.yield %x : memref<8xf32>
  }
  %s = async.await %w : !async.value<memref<8xf32>>
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%r : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%s : memref<8xf32>)
  return
}
}
