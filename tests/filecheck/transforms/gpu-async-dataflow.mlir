// RUN: opar-opt -p gpu-async-dataflow --split-input-file %s | filecheck %s
// RUN: opar-opt -p 'gpu-async-dataflow{single-use-tokens=true}' --split-input-file %s | filecheck %s --check-prefix=SINGLE

// Two launches that share only what they read, and one that reads what both wrote.

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @copy(%from: memref<8xf32>, %to: memref<8xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %from[%i] : memref<8xf32>
      memref.store %v, %to[%i] : memref<8xf32>
      gpu.return
    }
    gpu.func @add(%a: memref<8xf32>, %b: memref<8xf32>, %to: memref<8xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %a[%i] : memref<8xf32>
      %w = memref.load %b[%i] : memref<8xf32>
      %x = arith.addf %v, %w : f32
      memref.store %x, %to[%i] : memref<8xf32>
      gpu.return
    }
  }
  // CHECK-LABEL: func.func @join
  func.func @join(%a: memref<8xf32>) -> memref<8xf32> {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %p = memref.alloc() : memref<8xf32>
    %q = memref.alloc() : memref<8xf32>
    %s = memref.alloc() : memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %p : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %q : memref<8xf32>)
    gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>, %q : memref<8xf32>, %s : memref<8xf32>)
    // CHECK:      %[[P:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: %[[Q:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: %[[S:.*]] = gpu.launch_func async [%[[P]], %[[Q]]] @k::@add
    // CHECK-NEXT: gpu.wait [%[[S]]]
    // CHECK-NEXT: return

    // SINGLE:      %[[R1:.*]] = gpu.wait async
    // SINGLE-NEXT: %[[P:.*]] = gpu.launch_func async [%[[R1]]] @k::@copy
    // SINGLE-NEXT: %[[R2:.*]] = gpu.wait async
    // SINGLE-NEXT: %[[Q:.*]] = gpu.launch_func async [%[[R2]]] @k::@copy
    // SINGLE-NEXT: %[[J:.*]] = gpu.wait async [%[[P]], %[[Q]]]
    // SINGLE-NEXT: %[[S:.*]] = gpu.launch_func async [%[[J]]] @k::@add
    // SINGLE-NEXT: gpu.wait [%[[S]]]
    return %s : memref<8xf32>
  }

  // A read after a write, a write after a read, a write after a write; what a chain implies has no
  // edge of its own.
  // CHECK-LABEL: func.func @hazards
  func.func @hazards(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %p = memref.alloc() : memref<8xf32>
    %q = memref.alloc() : memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %p : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>, %q : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %p : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>, %q : memref<8xf32>)
    // CHECK:      %[[W:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: %[[RAW:.*]] = gpu.launch_func async [%[[W]]] @k::@copy
    // CHECK-NEXT: %[[WAR:.*]] = gpu.launch_func async [%[[RAW]]] @k::@copy
    // CHECK-NEXT: %[[WAW:.*]] = gpu.launch_func async [%[[WAR]]] @k::@copy
    // CHECK-NEXT: gpu.wait [%[[WAW]]]
    return
  }

  // One producer, two consumers: with single-use tokens the second goes through a wait of its own.
  // CHECK-LABEL: func.func @fork
  // SINGLE-LABEL: func.func @fork
  func.func @fork(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %p = memref.alloc() : memref<8xf32>
    %q = memref.alloc() : memref<8xf32>
    %r = memref.alloc() : memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %p : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>, %q : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>, %r : memref<8xf32>)
    // CHECK:      %[[P:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: %[[Q:.*]] = gpu.launch_func async [%[[P]]] @k::@copy
    // CHECK-NEXT: %[[R:.*]] = gpu.launch_func async [%[[P]]] @k::@copy
    // CHECK-NEXT: gpu.wait [%[[Q]], %[[R]]]

    // SINGLE:      %[[P:.*]] = gpu.launch_func async
    // SINGLE-NEXT: %[[Q:.*]] = gpu.launch_func async [%[[P]]] @k::@copy
    // SINGLE-NEXT: %[[F:.*]] = gpu.wait async [%[[P]]]
    // SINGLE-NEXT: %[[R:.*]] = gpu.launch_func async [%[[F]]] @k::@copy
    // SINGLE-NEXT: %[[J:.*]] = gpu.wait async [%[[Q]], %[[R]]]
    // SINGLE-NEXT: gpu.wait [%[[J]]]
    return
  }

  // A host access waits for what it conflicts with, and for nothing else.
  // CHECK-LABEL: func.func @host_load
  func.func @host_load(%a: memref<8xf32>) -> f32 {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %p = memref.alloc() : memref<8xf32>
    %q = memref.alloc() : memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %p : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %q : memref<8xf32>)
    %v = memref.load %p[%c1] : memref<8xf32>
    // CHECK:      %[[P:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: %[[Q:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: gpu.wait [%[[P]]]
    // CHECK-NEXT: memref.load
    // CHECK-NEXT: gpu.wait [%[[Q]]]
    return %v : f32
  }

  // Arguments may overlap, unless one says that it does not.
  // CHECK-LABEL: func.func @arguments
  func.func @arguments(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32> {llvm.noalias}) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %p = memref.alloc() : memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>, %a : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>, %b : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>, %c : memref<8xf32>)
    // CHECK:      %[[A:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: %[[B:.*]] = gpu.launch_func async [%[[A]]] @k::@copy
    // CHECK-NEXT: %[[C:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: gpu.wait [%[[B]], %[[C]]]
    return
  }

  // Memory of the GPU comes and goes behind tokens; a host-shared allocation is the host's.
  // CHECK-LABEL: func.func @memory
  func.func @memory(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %d = gpu.alloc () : memref<8xf32>
    %h = gpu.alloc host_shared () : memref<8xf32>
    gpu.memcpy %d, %a : memref<8xf32>, memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%d : memref<8xf32>, %h : memref<8xf32>)
    gpu.dealloc %d : memref<8xf32>
    gpu.dealloc %h : memref<8xf32>
    // CHECK:      %d, %[[D:.*]] = gpu.alloc async ()
    // CHECK-NEXT: %h = gpu.alloc host_shared ()
    // CHECK-NEXT: %[[C:.*]] = gpu.memcpy async [%[[D]]] %d, %a
    // CHECK-NEXT: %[[K:.*]] = gpu.launch_func async [%[[C]]] @k::@copy
    // CHECK-NEXT: %[[F:.*]] = gpu.dealloc async [%[[K]]] %d
    // CHECK-NEXT: gpu.wait [%[[F]]]
    // CHECK-NEXT: gpu.dealloc %h
    return
  }

  // Tokens and waits that are there stay; an order that they give is not repeated.
  // CHECK-LABEL: func.func @partly_async
  func.func @partly_async(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %p = memref.alloc() : memref<8xf32>
    %q = memref.alloc() : memref<8xf32>
    %start = gpu.wait async
    %0 = gpu.launch_func async [%start] @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %p : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>, %q : memref<8xf32>)
    gpu.wait [%0]
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>, %a : memref<8xf32>)
    // CHECK:      %start = gpu.wait async
    // CHECK-NEXT: %[[P:.*]] = gpu.launch_func async [%start] @k::@copy
    // CHECK-NEXT: %[[Q:.*]] = gpu.launch_func async [%[[P]]] @k::@copy
    // CHECK-NEXT: gpu.wait [%[[P]]]
    // CHECK-NEXT: %[[A:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: gpu.wait [%[[Q]], %[[A]]]
    return
  }

  // The host frees after the last launch, so that it waits once.
  // CHECK-LABEL: func.func @deallocations
  func.func @deallocations(%a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %p = memref.alloc() : memref<8xf32>
    %q = memref.alloc() : memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %p : memref<8xf32>)
    memref.dealloc %p : memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %q : memref<8xf32>)
    memref.dealloc %q : memref<8xf32>
    // CHECK:      %[[P:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: %[[Q:.*]] = gpu.launch_func async @k::@copy
    // CHECK-NEXT: gpu.wait [%[[P]], %[[Q]]]
    // CHECK-NEXT: memref.dealloc %p
    // CHECK-NEXT: memref.dealloc %q
    // CHECK-NEXT: return
    return
  }

  // Nothing runs on the GPU: nothing changes.
  // CHECK-LABEL: func.func @untouched
  func.func @untouched(%a: memref<8xf32>) -> f32 {
    %c1 = arith.constant 1 : index
    %v = memref.load %a[%c1] : memref<8xf32>
    // CHECK-NEXT: arith.constant
    // CHECK-NEXT: memref.load
    // CHECK-NEXT: return
    return %v : f32
  }
}
