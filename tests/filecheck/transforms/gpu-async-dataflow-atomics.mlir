// RUN: opar-opt -p gpu-async-dataflow %s | filecheck %s
// RUN: opar-opt -p 'gpu-async-dataflow{commuting-atomics=true}' %s | filecheck %s --check-prefix=COMMUTE

// COMMUTE: module attributes {{.*}}opar.commuting_atomics
module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @add(%a: memref<8xi32>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1 : i32
    %old = memref.atomic_rmw addi %v, %a[%i] : (i32, memref<8xi32>) -> i32
    gpu.return
  }
  gpu.func @max(%a: memref<8xi32>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1 : i32
    %old = memref.atomic_rmw maxs %v, %a[%i] : (i32, memref<8xi32>) -> i32
    gpu.return
  }
  gpu.func @count(%a: memref<8xi32>, %b: memref<8xi32>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1 : i32
    %old = memref.atomic_rmw addi %v, %a[%i] : (i32, memref<8xi32>) -> i32
    memref.store %old, %b[%i] : memref<8xi32>
    gpu.return
  }
  gpu.func @assign(%a: memref<8xi32>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1 : i32
    %old = memref.atomic_rmw assign %v, %a[%i] : (i32, memref<8xi32>) -> i32
    gpu.return
  }
  gpu.func @first(%a: memref<8xi32>) kernel {
    %c0 = arith.constant 0 : index
    %v = arith.constant 1 : i32
    %old = memref.atomic_rmw addi %v, %a[%c0] : (i32, memref<8xi32>) -> i32
    gpu.return
  }
  gpu.func @second(%a: memref<8xi32>) kernel {
    %c1 = arith.constant 1 : index
    %old = memref.generic_atomic_rmw %a[%c1] : memref<8xi32> {
    ^bb0(%v: i32):
      memref.atomic_yield %v : i32
    }
    gpu.return
  }
  gpu.func @set(%a: memref<8xi32>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 0 : i32
    memref.store %v, %a[%i] : memref<8xi32>
    gpu.return
  }
  gpu.func @read(%a: memref<8xi32>, %b: memref<8xi32>) kernel {
    %i = gpu.thread_id x
    %v = memref.load %a[%i] : memref<8xi32>
    memref.store %v, %b[%i] : memref<8xi32>
    gpu.return
  }
}
// Sums wait for what they start from; who reads waits for them all. An update covers no other and
// not what it starts from.
func.func @sum(%b: memref<8xi32>) {
  // CHECK-LABEL: func.func @sum
  // CHECK:      %[[S:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[A:[0-9a-z_]+]] = gpu.launch_func async [%[[S]]] @k::@add
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@add
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[B]]] @k::@read
  // CHECK-NEXT: gpu.wait [%[[C]]]
  // COMMUTE-LABEL: func.func @sum
  // COMMUTE:      %[[S:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // COMMUTE-NEXT: %[[A:[0-9a-z_]+]] = gpu.launch_func async [%[[S]]] @k::@add
  // COMMUTE-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async [%[[S]]] @k::@add
  // COMMUTE-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[A]], %[[B]]] @k::@read
  // COMMUTE-NEXT: gpu.wait [%[[C]]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = memref.alloc() : memref<8xi32>
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>)
  gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>)
  gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>)
  gpu.launch_func @k::@read blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>, %b : memref<8xi32>)
  return
}
// Other operators, and an update whose result is looked at, have an order.
func.func @ordered(%b: memref<8xi32>) {
  // COMMUTE-LABEL: func.func @ordered
  // COMMUTE:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@add
  // COMMUTE-NEXT: %[[M:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@max
  // COMMUTE-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[M]]] @k::@count
  // COMMUTE-NEXT: %[[D:[0-9a-z_]+]] = gpu.launch_func async [%[[C]]] @k::@add
  // COMMUTE-NEXT: %[[E:[0-9a-z_]+]] = gpu.launch_func async [%[[D]]] @k::@assign
  // COMMUTE-NEXT: %[[F:[0-9a-z_]+]] = gpu.launch_func async [%[[E]]] @k::@assign
  // COMMUTE-NEXT: gpu.wait [%[[F]]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %a = memref.alloc() : memref<8xi32>
  gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>)
  gpu.launch_func @k::@max blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>)
  gpu.launch_func @k::@count blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>, %b : memref<8xi32>)
  gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>)
  gpu.launch_func @k::@assign blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>)
  gpu.launch_func @k::@assign blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xi32>)
  return
}
// Updates of elements that others do not touch.
func.func @elements(%b: memref<8xi32>) -> i32 {
  // CHECK-LABEL: func.func @elements
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@first
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@second
  // CHECK-NEXT: arith.constant
  // CHECK-NEXT: gpu.wait [%[[B]]]
  // CHECK-NEXT: memref.atomic_rmw
  // CHECK-NEXT: gpu.wait [%[[A]]]
  // CHECK-NEXT: return
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<8xi32>
  gpu.launch_func @k::@first blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xi32>)
  gpu.launch_func @k::@second blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xi32>)
  %v = arith.constant 1 : i32
  %r = memref.atomic_rmw addi %v, %a[%c1] : (i32, memref<8xi32>) -> i32
  return %r : i32
}
}
