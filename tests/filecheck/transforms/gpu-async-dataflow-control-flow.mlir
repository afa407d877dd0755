// RUN: opar-opt -p 'gpu-async-dataflow{assume-noalias-args=true}' %s | filecheck %s
// RUN: opar-opt -p 'gpu-async-dataflow{assume-noalias-args=true},gpu-async-dataflow{assume-noalias-args=true}' %s | filecheck %s --check-prefix=TWICE

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @set(%a: memref<8xf32>) kernel {
    %t = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%t] : memref<8xf32>
    gpu.return
  }
  gpu.func @set_tile(%a: memref<64xf32>, %i: index) kernel {
    %t = gpu.thread_id x
    %c8 = arith.constant 8 : index
    %first = arith.muli %i, %c8 : index
    %place = arith.addi %first, %t : index
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%place] : memref<64xf32>
    gpu.return
  }
  gpu.func @copy(%from: memref<8xf32>, %to: memref<8xf32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %from[%t] : memref<8xf32>
    memref.store %v, %to[%t] : memref<8xf32>
    gpu.return
  }
}

// What runs behind a branch waits for what that branch started, and for what came before it: the
// other branch did not wait for that. The first set and the last copy share %a.
// CHECK-LABEL: func.func @branch
// CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: %[[B:[0-9a-z_]+]], %[[D:[0-9a-z_]+]] = scf.if %c -> (!gpu.async.token, !gpu.async.token) {
// CHECK-NEXT:   %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@copy
// CHECK-NEXT:   %[[E:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT:   scf.yield %[[C]], %[[E]]
// CHECK-NEXT: } else {
// CHECK-NEXT:   %[[C:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT:   %[[NONE:[0-9a-z_]+]] = gpu.wait async
// CHECK-NEXT:   scf.yield %[[C]], %[[NONE]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[F:[0-9a-z_]+]] = gpu.launch_func async [%[[A]], %[[B]]] @k::@copy
// CHECK-NEXT: gpu.wait [%[[D]], %[[F]]]
// TWICE-LABEL: func.func @branch
// TWICE:      gpu.wait [
// TWICE-NEXT: func.return
func.func @branch(%c: i1, %a: memref<8xf32>, %b: memref<8xf32>, %d: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  scf.if %c {
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%d : memref<8xf32>)
  } else {
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
  }
  gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>, %a : memref<8xf32>)
  return
}

// Both branches wait for the first launch, so what waits for them need not.
// CHECK-LABEL: func.func @both_branches
// CHECK:      gpu.launch_func async @k::@set
// CHECK-NEXT: %[[B:[0-9a-z_]+]] = scf.if
// CHECK:      gpu.launch_func async [%[[B]]] @k::@copy
func.func @both_branches(%c: i1, %a: memref<8xf32>, %b: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  scf.if %c {
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
  } else {
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  }
  gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
  return
}

// The host waits in the branch that reads, not before it.
// CHECK-LABEL: func.func @host_in_branch
// CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT: scf.if %c -> (f32) {
// CHECK-NEXT:   gpu.wait [%[[A]]]
// CHECK-NEXT:   memref.load
// CHECK:      } else {
// CHECK-NOT:    gpu.wait
// CHECK:      }
// CHECK-NEXT: gpu.wait [%[[A]]]
// CHECK-NEXT: func.return
func.func @host_in_branch(%c: i1, %a: memref<8xf32>, %b: memref<8xf32>) -> f32 {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  %r = scf.if %c -> (f32) {
    %v = memref.load %a[%c1] : memref<8xf32>
    scf.yield %v : f32
  } else {
    %v = memref.load %b[%c1] : memref<8xf32>
    scf.yield %v : f32
  }
  return %r : f32
}

// Iterations on tiles of their own wait for none of each other; a join stands for them all.
// CHECK-LABEL: func.func @tiles
// CHECK:      %[[NONE:[0-9a-z_]+]] = gpu.wait async
// CHECK-NEXT: %[[ALL:[0-9a-z_]+]] = scf.for %i = %c0 to %n step %c1 iter_args(%[[T:[0-9a-z_]+]] = %[[NONE]]) -> (!gpu.async.token) {
// CHECK-NEXT:   %[[L:[0-9a-z_]+]] = gpu.launch_func async @k::@set_tile
// CHECK-NEXT:   %[[J:[0-9a-z_]+]] = gpu.wait async [%[[T]], %[[L]]]
// CHECK-NEXT:   scf.yield %[[J]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[LAST:[0-9a-z_]+]] = gpu.launch_func async [%[[ALL]]] @k::@set_tile
// CHECK-NEXT: gpu.wait [%[[LAST]]]
// TWICE-LABEL: func.func @tiles
// TWICE:      scf.for {{.*}} -> (!gpu.async.token) {
func.func @tiles(%n: index, %a: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    gpu.launch_func @k::@set_tile blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<64xf32>, %i : index)
  }
  gpu.launch_func @k::@set_tile blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<64xf32>, %c1 : index)
  return
}

// The loop of tiles 1 to 4 does not touch tile 5.
// CHECK-LABEL: func.func @other_tile
// CHECK:      affine.for %i = 1 to 5 iter_args(
// CHECK:      gpu.launch_func async @k::@set_tile
// CHECK:      }
// CHECK-NEXT: gpu.launch_func async @k::@set_tile
// CHECK-NEXT: gpu.wait [%{{[0-9a-z_]+}}, %{{[0-9a-z_]+}}]
func.func @other_tile(%a: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  affine.for %i = 1 to 5 {
    gpu.launch_func @k::@set_tile blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<64xf32>, %i : index)
  }
  gpu.launch_func @k::@set_tile blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<64xf32>, %c5 : index)
  return
}

// An iteration waits for the last copy of the one before; the set of %x is a chain of its own.
// CHECK-LABEL: func.func @carried
// CHECK:      %[[END:[0-9a-z_]+]], %[[X:[0-9a-z_]+]] = scf.for %i = %c0 to %n step %c1 iter_args(%[[T:[0-9a-z_]+]] = %{{[0-9a-z_]+}}, %[[U:[0-9a-z_]+]] = %{{[0-9a-z_]+}})
// CHECK-NEXT:   %[[A:[0-9a-z_]+]] = gpu.launch_func async [%[[T]]] @k::@copy
// CHECK-NEXT:   %[[B:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@copy
// CHECK-NEXT:   %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[U]]] @k::@set
// CHECK-NEXT:   scf.yield %[[B]], %[[C]]
// CHECK-NEXT: }
// CHECK-NEXT: gpu.wait [%[[END]], %[[X]]]
// TWICE-LABEL: func.func @carried
// TWICE:      scf.for {{.*}} -> (!gpu.async.token, !gpu.async.token) {
func.func @carried(%n: index, %a: memref<8xf32>, %b: memref<8xf32>, %x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>, %a : memref<8xf32>)
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%x : memref<8xf32>)
  }
  return
}

// A loop that the host decides about: it waits for what it looks at, and the copy goes on.
// CHECK-LABEL: func.func @until
// CHECK:      %[[A:[0-9a-z_]+]], %{{[0-9a-z_]+}} = scf.while (%{{[0-9a-z_]+}} = %[[NONE:[0-9a-z_]+]], %[[T:[0-9a-z_]+]] = %[[NONE]])
// CHECK-NEXT:   %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[T]]] @k::@copy
// CHECK-NEXT:   gpu.wait [%[[T]]]
// CHECK-NEXT:   memref.load %a
// CHECK:        scf.condition(%{{[0-9a-z_]+}}) %[[C]], %[[T]]
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[D:[0-9a-z_]+]]: !gpu.async.token, %{{[0-9a-z_]+}}: !gpu.async.token):
// CHECK-NEXT:   %[[E:[0-9a-z_]+]] = gpu.launch_func async [%[[D]]] @k::@copy
// CHECK-NEXT:   scf.yield %[[D]], %[[E]]
// CHECK-NEXT: }
// CHECK-NEXT: gpu.wait [%[[A]]]
func.func @until(%a: memref<8xf32>, %b: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %limit = arith.constant 8.0 : f32
  scf.while : () -> () {
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
    %v = memref.load %a[%c0] : memref<8xf32>
    %more = arith.cmpf olt, %v, %limit : f32
    scf.condition(%more)
  } do {
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>, %a : memref<8xf32>)
    scf.yield
  }
  return
}

// Tokens cross `async.execute` as values; one that nobody awaits waits for its own work.
// CHECK-LABEL: func.func @execute
// CHECK:      %e, %[[V:[0-9a-z_]+]] = async.execute -> (!async.value<!gpu.async.token>) {
// CHECK-NEXT:   %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set
// CHECK-NEXT:   async.yield %[[A]] : !gpu.async.token
// CHECK:      %f, %[[W:[0-9a-z_]+]] = async.execute
// CHECK:      async.await %e : !async.token
// CHECK-NEXT: async.await %f : !async.token
// CHECK-NEXT: %[[B:[0-9a-z_]+]] = async.await %[[V]]
// CHECK-NEXT: %[[C:[0-9a-z_]+]] = async.await %[[W]]
// CHECK-NEXT: %[[D:[0-9a-z_]+]] = gpu.launch_func async [%[[B]], %[[C]]] @k::@copy
// CHECK-NEXT: %{{[0-9a-z_]+}} = async.execute {
// CHECK-NEXT:   %[[E:[0-9a-z_]+]] = gpu.launch_func async [%[[D]]] @k::@set
// CHECK-NEXT:   gpu.wait [%[[E]]]
// CHECK-NEXT:   async.yield
// CHECK-NEXT: }
// CHECK-NEXT: gpu.wait [%[[D]]]
func.func @execute(%a: memref<8xf32>, %b: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %e = async.execute {
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
    async.yield
  }
  %f = async.execute {
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
    async.yield
  }
  async.await %e : !async.token
  async.await %f : !async.token
  gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>, %a : memref<8xf32>)
  %g = async.execute {
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
    async.yield
  }
  return
}

// The host stores within an `async.execute`: what reads it waits for its end, and what it
// overwrites is waited for inside.
// CHECK-LABEL: func.func @host_in_execute
// CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@copy
// CHECK-NEXT: %e = async.execute {
// CHECK-NEXT:   gpu.wait [%[[A]]]
// CHECK-NEXT:   memref.store
// CHECK:      async.await %e : !async.token
// CHECK-NEXT: gpu.launch_func async @k::@copy
func.func @host_in_execute(%v: f32, %a: memref<8xf32>, %b: memref<8xf32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
  %e = async.execute {
    memref.store %v, %a[%c1] : memref<8xf32>
    async.yield
  }
  gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
  return
}
}
