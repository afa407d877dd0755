// RUN: opar-opt -p gpu-async-dataflow %s | filecheck %s
// RUN: opar-opt -p gpu-async-dataflow,gpu-async-dataflow %s | filecheck %s

// Tokens, waits and streams that are there keep their meaning, and a second run adds nothing.

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @set(%a: memref<8xf32>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%i] : memref<8xf32>
    gpu.return
  }
}
// A launch on a stream of the caller has no token: the host waits for what it conflicts with, and
// what comes after it is queued after it, as before.
func.func @stream(%s: !llvm.ptr, %a: memref<8xf32>, %b: memref<8xf32> {llvm.noalias}) {
  // CHECK-LABEL: func.func @stream
  // CHECK:      %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@set {{.*}}args(%b
  // CHECK-NEXT: %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set {{.*}}args(%a
  // CHECK-NEXT: gpu.wait [%[[A]]]
  // CHECK-NEXT: gpu.launch_func <%s : !llvm.ptr> @k::@set
  // CHECK-NEXT: gpu.launch_func <%s : !llvm.ptr> @k::@set
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async @k::@set {{.*}}args(%a
  // CHECK-NEXT: gpu.wait [%[[B]], %[[C]]]
  // CHECK-NEXT: return
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  gpu.launch_func <%s : !llvm.ptr> @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  gpu.launch_func <%s : !llvm.ptr> @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  return
}
// Dependencies that the data does not ask for stay; what a blocking wait waits for is over.
func.func @given(%a: memref<8xf32>, %b: memref<8xf32> {llvm.noalias}) {
  // CHECK-LABEL: func.func @given
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set {{.*}}args(%a
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@set {{.*}}args(%b
  // CHECK-NEXT: %[[W:[0-9a-z_]+]] = gpu.wait async [%[[A]], %[[B]]]
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[W]]] @k::@set {{.*}}args(%a
  // CHECK-NEXT: %[[D:[0-9a-z_]+]] = gpu.launch_func async [%[[B]]] @k::@set {{.*}}args(%b
  // CHECK-NEXT: gpu.wait [%[[C]]]
  // CHECK-NEXT: %[[E:[0-9a-z_]+]] = gpu.launch_func async @k::@set {{.*}}args(%a
  // CHECK-NEXT: %[[F:[0-9a-z_]+]] = gpu.launch_func async [%[[D]]] @k::@set {{.*}}args(%b
  // CHECK-NEXT: gpu.wait [%[[E]], %[[F]]]
  // CHECK-NEXT: return
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %0 = gpu.launch_func async @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  %1 = gpu.launch_func async [%0] @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
  %2 = gpu.wait async [%0, %1]
  %3 = gpu.launch_func async [%2] @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
  gpu.wait [%3]
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
  return
}
// What a function hands to its caller runs on behind the token; the rest is waited for.
func.func private @start(%a: memref<8xf32>, %b: memref<8xf32>) -> !gpu.async.token {
  // CHECK-LABEL: func.func private @start
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async
  // CHECK-NEXT: gpu.wait [%[[B]]]
  // CHECK-NEXT: return %[[A]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %0 = gpu.launch_func async @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
  return %0 : !gpu.async.token
}
func.func private @start_two(%a: memref<8xf32>, %b: memref<8xf32>) -> (!gpu.async.token, !gpu.async.token) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %0 = gpu.launch_func async @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  %1 = gpu.launch_func async @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
  return %0, %1 : !gpu.async.token, !gpu.async.token
}
// The host waits before the call, whatever token it passes, and behind it for its tokens.
func.func @calls(%v: f32) {
  // CHECK-LABEL: func.func @calls
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set {{.*}}args(%p
  // CHECK-NEXT: gpu.wait [%[[A]]]
  // CHECK-NEXT: %[[T:[0-9a-z_]+]] = func.call @start(%p, %q)
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async [%[[T]]] @k::@set {{.*}}args(%p
  // CHECK-NEXT: gpu.wait [%[[B]]]
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: %[[T:[0-9a-z_]+]], %[[U:[0-9a-z_]+]] = func.call @start_two(%p, %q)
  // CHECK-NEXT: %[[J:[0-9a-z_]+]] = gpu.wait async [%[[T]], %[[U]]]
  // CHECK-NEXT: gpu.wait [%[[T]]]
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[J]]] @k::@set {{.*}}args(%q
  // CHECK-NEXT: gpu.wait [%[[C]]]
  // CHECK-NEXT: return
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %q = memref.alloc() : memref<8xf32>
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  %0 = call @start(%p, %q) : (memref<8xf32>, memref<8xf32>) -> !gpu.async.token
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  memref.store %v, %p[%c1] : memref<8xf32>
  %1, %2 = call @start_two(%p, %q) : (memref<8xf32>, memref<8xf32>) -> (!gpu.async.token, !gpu.async.token)
  gpu.wait [%1]
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%q : memref<8xf32>)
  return
}
// In a loop a call can start what the next iteration waits for.
func.func @loop(%n: index) {
  // CHECK-LABEL: func.func @loop
  // CHECK:      scf.for {{.*}} iter_args(%[[B:[0-9a-z_]+]] =
  // CHECK-NEXT:   gpu.wait [%[[B]]]
  // CHECK-NEXT:   %[[T:[0-9a-z_]+]] = func.call @start(%p, %q)
  // CHECK-NEXT:   scf.yield %[[T]]
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.wait
  // CHECK-NEXT: return
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = memref.alloc() : memref<8xf32>
  %q = memref.alloc() : memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %0 = func.call @start(%p, %q) : (memref<8xf32>, memref<8xf32>) -> !gpu.async.token
  }
  return
}
}
