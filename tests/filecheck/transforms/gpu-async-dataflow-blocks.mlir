// RUN: opar-opt -p 'gpu-async-dataflow{assume-noalias-args=true}' %s | filecheck %s
// RUN: opar-opt -p 'gpu-async-dataflow{assume-noalias-args=true},gpu-async-dataflow{assume-noalias-args=true}' %s | filecheck %s

module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @set(%a: memref<8xf32>) kernel {
      %t = gpu.thread_id x
      %v = arith.constant 1.0 : f32
      memref.store %v, %a[%t] : memref<8xf32>
      gpu.return
    }
    gpu.func @copy(%from: memref<8xf32>, %to: memref<8xf32>) kernel {
      %t = gpu.thread_id x
      %v = memref.load %from[%t] : memref<8xf32>
      memref.store %v, %to[%t] : memref<8xf32>
      gpu.return
    }
    gpu.func @one(%m: memref<64xf32>, %i: index) kernel {
      %c = arith.constant 1.0 : f32
      memref.store %c, %m[%i] : memref<64xf32>
      gpu.return
    }
  }
  // A token made before all ways can be used behind them (the second way did not wait for it); one of
  // a branch is an argument.
  // CHECK-LABEL: func.func @diamond
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: cf.cond_br %c, ^[[THEN:[0-9a-z_]+]], ^[[ELSE:[0-9a-z_]+]]
  // CHECK:      %[[B:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@copy
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: cf.br ^[[END:[0-9a-z_]+]](%[[B]], %[[C]] :
  // CHECK:      %[[D:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[NONE:[0-9a-z_]+]] = gpu.wait async
  // CHECK-NEXT: cf.br ^[[END]](%[[D]], %[[NONE]] :
  // CHECK-NEXT: ^[[END]](%[[E:[0-9a-z_]+]]: !gpu.async.token, %[[F:[0-9a-z_]+]]: !gpu.async.token):
  // CHECK-NEXT: %[[G:[0-9a-z_]+]] = gpu.launch_func async [%[[A]], %[[E]]] @k::@copy
  // CHECK-NEXT: gpu.wait [%[[F]], %[[G]]]
  // CHECK-NEXT: func.return
  func.func @diamond(%c: i1, %a: memref<8xf32>, %b: memref<8xf32>, %d: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
    cf.cond_br %c, ^then, ^else
  ^then:
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%d : memref<8xf32>)
    cf.br ^end
  ^else:
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
    cf.br ^end
  ^end:
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>, %a : memref<8xf32>)
    return
  }
  // Each return waits for what can run before it.
  // CHECK-LABEL: func.func @early
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: cf.cond_br
  // CHECK-NEXT: ^{{.*}}:
  // CHECK-NEXT: gpu.wait [%[[A]], %[[B]]]
  // CHECK-NEXT: func.return
  // CHECK-NEXT: ^{{.*}}:
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[A]], %[[B]]] @k::@copy
  // CHECK-NEXT: gpu.wait [%[[C]]]
  // CHECK-NEXT: func.return
  func.func @early(%c: i1, %a: memref<8xf32>, %b: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
    cf.cond_br %c, ^out, ^more
  ^out:
    return
  ^more:
    gpu.launch_func @k::@copy blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %b : memref<8xf32>)
    return
  }
  // Two chains go around, each in an argument of the block that can be reached again.
  // CHECK-LABEL: func.func @loop
  // CHECK:      cf.br ^[[HEAD:[0-9a-z_]+]](%c0, %[[M0:[0-9a-z_]+]], %[[A0:[0-9a-z_]+]] :
  // CHECK-NEXT: ^[[HEAD]](%i: index, %[[M:[0-9a-z_]+]]: !gpu.async.token, %[[A:[0-9a-z_]+]]: !gpu.async.token):
  // CHECK:      %[[M1:[0-9a-z_]+]] = gpu.launch_func async [%[[M]]] @k::@one
  // CHECK-NEXT: %[[A1:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@set
  // CHECK:      cf.br ^[[HEAD]](%next, %[[M1]], %[[A1]] :
  // CHECK:      %[[A2:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@set
  // CHECK-NEXT: gpu.wait [%[[M]], %[[A2]]]
  // CHECK-NEXT: func.return
  func.func @loop(%m: memref<64xf32>, %a: memref<8xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    cf.br ^head(%c0 : index)
  ^head(%i: index):
    %go = arith.cmpi slt, %i, %n : index
    cf.cond_br %go, ^body, ^exit
  ^body:
    gpu.launch_func @k::@one blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<64xf32>, %i : index)
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
    %next = arith.addi %i, %c1 : index
    cf.br ^head(%next : index)
  ^exit:
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
    return
  }

  // An access by the host waits for the earlier launches that it meets, on whichever way it came.
  // CHECK-LABEL: func.func @host_access
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK:      %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK:      ^{{.*}}(%[[T:[0-9a-z_]+]]: !gpu.async.token):
  // CHECK-NEXT: gpu.wait [%[[T]]]
  // CHECK-NEXT: %{{.*}} = memref.load %b[%c0]
  // CHECK-NEXT: gpu.wait [%[[A]]]
  // CHECK-NEXT: func.return
  func.func @host_access(%c: i1, %a: memref<8xf32>, %b: memref<8xf32>) -> f32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
    cf.cond_br %c, ^work, ^end
  ^work:
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
    cf.br ^end
  ^end:
    %v = memref.load %b[%c0] : memref<8xf32>
    return %v : f32
  }

  // Ways of a switch; a block that never runs passes something, too.
  // CHECK-LABEL: func.func @cases
  // CHECK:      cf.switch %f : i32, [
  // CHECK-NEXT:   default: ^{{[0-9a-z_]+}}(%[[NONE:[0-9a-z_]+]] : !gpu.async.token),
  // CHECK-NEXT:   0: ^[[ONE:[0-9a-z_]+]]
  // CHECK:      ^[[ONE]]:
  // CHECK-NEXT: %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: cf.br ^[[END:[0-9a-z_]+]](%[[A]] :
  // CHECK:      %[[NEVER:[0-9a-z_]+]] = gpu.wait async
  // CHECK-NEXT: cf.br ^[[END]](%[[NEVER]] :
  // CHECK:      ^[[END]](%[[T:[0-9a-z_]+]]: !gpu.async.token):
  // CHECK-NEXT: gpu.wait [%[[T]]]
  func.func @cases(%f: i32, %a: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    cf.switch %f : i32, [
      default: ^end,
      0: ^one
    ]
  ^one:
    gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
    cf.br ^end
  ^never:
    cf.br ^end
  ^end:
    return
  }
}
