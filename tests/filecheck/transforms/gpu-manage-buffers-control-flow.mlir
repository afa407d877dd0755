// RUN: opar-opt -p 'gpu-manage-buffers{assume-noalias-args=true}' %s | filecheck %s

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @copy(%from: memref<8xf32>, %to: memref<8xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %from[%i] : memref<8xf32>
      memref.store %v, %to[%i] : memref<8xf32>
      gpu.return
    }
  }
  // Buffers that change places have twins that do.
  // CHECK-LABEL: func.func @ping_pong
  // CHECK:      %r, %r_1, %[[R:[0-9a-z_]+]], %{{[0-9a-z_]+}} = scf.for {{.*}} iter_args(%x = %a, %y = %b, %x_gpu = %a_gpu, %y_gpu = %b_gpu)
  // CHECK-NEXT:   gpu.launch_func {{.*}} args(%x_gpu : memref<8xf32>, %y_gpu : memref<8xf32>)
  // CHECK-NEXT:   scf.yield %y, %x, %y_gpu, %x_gpu
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.memcpy %a, %a_gpu
  // CHECK-NEXT: gpu.memcpy %b, %b_gpu
  // CHECK-NEXT: gpu.dealloc
  // CHECK-NEXT: gpu.dealloc
  // CHECK-NEXT: return %r
  func.func @ping_pong(%a: memref<8xf32>, %b: memref<8xf32>, %n: index) -> memref<8xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (memref<8xf32>, memref<8xf32>) {
      gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %y : memref<8xf32>)
      scf.yield %y, %x : memref<8xf32>, memref<8xf32>
    }
    return %r#0 : memref<8xf32>
  }
  // The host decides after each iteration: one small copy; what it wrote before is copied once.
  // CHECK-LABEL: func.func @until
  // CHECK:      memref.store
  // CHECK-NEXT: gpu.memcpy %a_gpu, %a
  // CHECK-NEXT: scf.while
  // CHECK-NEXT:   gpu.launch_func
  // CHECK-NEXT:   gpu.memcpy %flag, %flag_gpu
  // CHECK-NEXT:   memref.load %flag
  // CHECK-NOT:  gpu.memcpy
  // CHECK:      return
  func.func @until(%a: memref<8xf32>, %flag: memref<8xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0.0 : f32
    memref.store %z, %a[%c1] : memref<8xf32>
    scf.while : () -> () {
      gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %flag : memref<8xf32>)
      %v = memref.load %flag[%c0] : memref<8xf32>
      %go = arith.cmpf olt, %v, %z : f32
      scf.condition(%go)
    } do {
      scf.yield
    }
    return
  }
  // Only the buffer that the host looks at is copied, whichever it is.
  // CHECK-LABEL: func.func @residual
  // CHECK:        gpu.launch_func
  // CHECK-NEXT:   gpu.memcpy %y, %y_gpu
  // CHECK-NEXT:   memref.load %y
  // CHECK-NEXT:   memref.store
  // CHECK-NEXT:   scf.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.memcpy %a, %a_gpu
  // CHECK-NEXT: gpu.memcpy %b, %b_gpu
  func.func @residual(%a: memref<8xf32>, %b: memref<8xf32>, %n: index, %out: memref<8xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (memref<8xf32>, memref<8xf32>) {
      gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %y : memref<8xf32>)
      %v = memref.load %y[%c0] : memref<8xf32>
      memref.store %v, %out[%i] : memref<8xf32>
      scf.yield %y, %x : memref<8xf32>, memref<8xf32>
    }
    return
  }
  // A new buffer for each iteration.
  // CHECK-LABEL: func.func @functional
  // CHECK:      memref.copy %a, %first
  // CHECK-NEXT: gpu.memcpy %first_gpu, %first
  // CHECK-NEXT: scf.for
  // CHECK-NEXT:   memref.alloc
  // CHECK-NEXT:   %new_gpu = gpu.alloc
  // CHECK-NEXT:   gpu.launch_func {{.*}} args(%x_gpu : memref<8xf32>, %new_gpu : memref<8xf32>)
  // CHECK-NEXT:   gpu.dealloc %x_gpu
  // CHECK-NEXT:   memref.dealloc %x
  // CHECK-NEXT:   scf.yield %new, %new_gpu
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.memcpy %r, %r_gpu
  // CHECK-NEXT: return %r
  func.func @functional(%a: memref<8xf32>, %n: index) -> memref<8xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = memref.alloc() : memref<8xf32>
    memref.copy %a, %first : memref<8xf32> to memref<8xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %first) -> (memref<8xf32>) {
      %new = memref.alloc() : memref<8xf32>
      gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %new : memref<8xf32>)
      memref.dealloc %x : memref<8xf32>
      scf.yield %new : memref<8xf32>
    }
    return %r : memref<8xf32>
  }
  // Block arguments have twins, and ways that meet agree where the contents are.
  // CHECK-LABEL: func.func @blocks
  // CHECK:      ^{{.*}}:
  // CHECK:        gpu.launch_func
  // CHECK-NEXT:   cf.br ^{{[a-z0-9]+}}(%a, %a_gpu : memref<8xf32>, memref<8xf32>)
  // CHECK:        memref.store
  // CHECK-NEXT:   gpu.memcpy %b_gpu, %b
  // CHECK-NEXT:   cf.br ^{{[a-z0-9]+}}(%b, %b_gpu : memref<8xf32>, memref<8xf32>)
  // CHECK-NEXT: ^{{.*}}(%x: memref<8xf32>, %x_gpu: memref<8xf32>):
  // CHECK-NEXT:   gpu.launch_func {{.*}} args(%x_gpu : memref<8xf32>, %b_gpu : memref<8xf32>)
  // CHECK-NEXT:   gpu.memcpy %b, %b_gpu
  func.func @blocks(%a: memref<8xf32>, %c: i1, %b: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %z = arith.constant 0.0 : f32
    cf.cond_br %c, ^one, ^two
  ^one:
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
    cf.br ^end(%a : memref<8xf32>)
  ^two:
    memref.store %z, %b[%c1] : memref<8xf32>
    cf.br ^end(%b : memref<8xf32>)
  ^end(%x: memref<8xf32>):
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %b : memref<8xf32>)
    return
  }
  func.func private @make() -> memref<8xf32> {
    %m = memref.alloc() : memref<8xf32>
    return %m : memref<8xf32>
  }
  // What a called function allocated has contents.
  // CHECK-LABEL: func.func @made
  // CHECK:      call @make
  // CHECK-NEXT: %m_gpu = gpu.alloc
  // CHECK-NEXT: gpu.memcpy %m_gpu, %m
  // CHECK-NEXT: gpu.launch_func
  func.func @made(%b: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %m = call @make() : () -> memref<8xf32>
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<8xf32>, %b : memref<8xf32>)
    return
  }
}
