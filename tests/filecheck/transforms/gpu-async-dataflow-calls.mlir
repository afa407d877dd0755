// RUN: opar-opt -p gpu-async-dataflow %s | filecheck %s

// What a called function touches is known where it has a body; what it can reach, where it has none.

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @set(%a: memref<8xf32>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%i] : memref<8xf32>
    gpu.return
  }
  gpu.func @set_one(%a: memref<8xf32>, %i: index) kernel {
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%i] : memref<8xf32>
    gpu.return
  }
}
memref.global "private" @g : memref<8xf32> = uninitialized
func.func private @unknown()
func.func private @unknown_of(memref<8xf32>)
func.func private @address(index)
func.func private @store_one(%a: memref<8xf32>, %i: index) {
  %v = arith.constant 1.0 : f32
  %t = memref.alloc() : memref<8xf32>
  memref.store %v, %t[%i] : memref<8xf32>
  memref.store %v, %a[%i] : memref<8xf32>
  memref.dealloc %t : memref<8xf32>
  return
}
func.func private @store_next(%i: index, %a: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %j = arith.addi %i, %c1 : index
  call @store_one(%a, %j) : (memref<8xf32>, index) -> ()
  return
}
// A function waits for what it launches before it returns.
// CHECK-LABEL: func.func private @launch
// CHECK: %[[A:[0-9a-z_]+]] = gpu.launch_func async
// CHECK-NEXT: gpu.wait [%[[A]]]
// CHECK-NEXT: return
func.func private @launch(%a: memref<8xf32>, %i: index) {
  %c1 = arith.constant 1 : index
  gpu.launch_func @k::@set_one blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %i : index)
  return
}
func.func private @second(%a: memref<8xf32>, %b: memref<8xf32>) -> (memref<8xf32>, memref<8xf32>) {
  %c = memref.alloc() : memref<8xf32>
  return %b, %c : memref<8xf32>, memref<8xf32>
}
func.func private @again(%a: memref<8xf32>, %n: i1) {
  scf.if %n {
    func.call @again(%a, %n) : (memref<8xf32>, i1) -> ()
  }
  return
}
func.func private @print_global() {
  %c1 = arith.constant 1 : index
  %g = memref.get_global @g : memref<8xf32>
  %v = memref.load %g[%c1] : memref<8xf32>
  return
}

// The call stores element 3 of %p alone; the callee's own memory is nobody else's.
// CHECK-LABEL: func.func @element
// CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set_one
// CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@set_one
// CHECK-NEXT: gpu.wait [%[[B]]]
// CHECK-NEXT: func.call @store_next
// CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async @k::@set_one
// CHECK-NEXT: gpu.wait [%[[C]]]
// CHECK-NEXT: func.call @launch
// CHECK-NEXT: gpu.wait [%[[A]]]
func.func @element(%p: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  gpu.launch_func @k::@set_one blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : memref<8xf32>, %c2 : index)
  gpu.launch_func @k::@set_one blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : memref<8xf32>, %c3 : index)
  call @store_next(%c2, %p) : (index, memref<8xf32>) -> ()
  gpu.launch_func @k::@set_one blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : memref<8xf32>, %c3 : index)
  call @launch(%p, %c3) : (memref<8xf32>, index) -> ()
  return
}
// The results are %q and memory of their own.
// CHECK-LABEL: func.func @results
// CHECK:      %[[P:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: %[[Q:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: %[[R:[0-9a-z_]+]] = gpu.launch_func async [%[[Q]]] @k::@set
// CHECK-NEXT: %[[S:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: gpu.wait [%[[P]], %[[R]], %[[S]]]
func.func @results() {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %q = memref.alloc() : memref<8xf32>
  %r, %s = call @second(%p, %q) : (memref<8xf32>, memref<8xf32>) -> (memref<8xf32>, memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%q : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%r : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%s : memref<8xf32>)
  return
}
// An unknown function reaches what was passed to it or another one, arguments and globals.
// CHECK-LABEL: func.func @reach
// CHECK:      %[[P:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: %[[Q:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: %[[G:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@set
// CHECK-NEXT: gpu.wait [%[[Q]], %[[G]]]
// CHECK-NEXT: func.call @unknown()
// CHECK-NEXT: gpu.wait [%[[P]], %[[B]]]
// CHECK-NEXT: return
func.func @reach(%a: memref<8xf32>, %b: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %q = memref.alloc() : memref<8xf32>
  %g = memref.get_global @g : memref<8xf32>
  call @unknown_of(%q) : (memref<8xf32>) -> ()
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%q : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%g : memref<8xf32>)
  call @unknown() : () -> ()
  return
}
// So does one that has the address, and a function that calls itself. Where memory escapes is not
// looked at, only whether it does.
// CHECK-LABEL: func.func @addresses
// CHECK:      %[[P:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: %[[Q:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: gpu.wait [%[[P]], %[[Q]]]
// CHECK-NEXT: func.call @address
// CHECK-NEXT: %[[R:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: gpu.wait [%[[R]]]
// CHECK-NEXT: func.call @again
func.func @addresses(%n: i1) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %q = memref.alloc() : memref<8xf32>
  %x = memref.extract_aligned_pointer_as_index %p : memref<8xf32> -> index
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%q : memref<8xf32>)
  call @address(%x) : (index) -> ()
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  call @again(%q, %n) : (memref<8xf32>, i1) -> ()
  return
}
// A call that only reads a global waits for who writes it.
// CHECK-LABEL: func.func @global
// CHECK:      %[[G:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: %[[P:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: gpu.wait [%[[G]]]
// CHECK-NEXT: func.call @print_global
// CHECK-NEXT: gpu.wait [%[[P]]]
func.func @global() {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  %g = memref.get_global @g : memref<8xf32>
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%g : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  call @print_global() : () -> ()
  return
}

// What the loops of a called function touch lies within their bounds.
func.func private @odd_first_half(%a: memref<8xf32>) {
  %v = arith.constant 1.0 : f32
  affine.for %i = 1 to 4 step 2 {
    affine.store %v, %a[%i] : memref<8xf32>
  }
  affine.parallel (%i) = (1) to (4) step (2) {
    affine.store %v, %a[%i] : memref<8xf32>
  }
  return
}
// CHECK-LABEL: func.func @loops_of_a_call
// CHECK: %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set_one
// CHECK-NOT: gpu.wait
// CHECK: call @odd_first_half
// CHECK: gpu.launch_func async @k::@set_one
func.func @loops_of_a_call(%a: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  gpu.launch_func @k::@set_one blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %c2 : index)
  call @odd_first_half(%a) : (memref<8xf32>) -> ()
  gpu.launch_func @k::@set_one blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %c4 : index)
  return
}
}
