// RUN: opar-opt -p gpu-async-dataflow %s | filecheck %s

// Launches that print do so in order; what prints nothing is free of them.

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @print(%a: memref<8xf32>) kernel {
    %i = gpu.thread_id x
    %v = memref.load %a[%i] : memref<8xf32>
    gpu.printf "%f\n", %v : f32
    gpu.return
  }
  gpu.func @set(%a: memref<8xf32>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%i] : memref<8xf32>
    gpu.return
  }
}
func.func @f(%a: memref<8xf32> {llvm.noalias}, %b: memref<8xf32> {llvm.noalias}, %v: vector<4xf32>) {
  // CHECK-LABEL: func.func @f
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@print
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@print
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: gpu.wait [%[[B]]]
  // CHECK-NEXT: "vector.print"
  // CHECK-NEXT: %[[D:[0-9a-z_]+]] = gpu.launch_func async @k::@print
  // CHECK-NEXT: gpu.wait [%[[C]], %[[D]]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<8xf32>
  gpu.launch_func @k::@print blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  gpu.launch_func @k::@print blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<8xf32>)
  "vector.print"(%v) : (vector<4xf32>) -> ()
  gpu.launch_func @k::@print blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>)
  return
}
}
