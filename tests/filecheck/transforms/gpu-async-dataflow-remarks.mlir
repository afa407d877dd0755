// RUN: opar-opt -p gpu-async-dataflow --remarks %s 2>&1 | filecheck %s

// Each access that counts as one of a whole buffer says why, once; what is understood does not.

// CHECK: remark: {{.*}}:18:{{[0-9]+}}: 'memref.store': any element may be meant: an index depends on %k (memref.load)
// CHECK-NEXT: remark: {{.*}}:25:{{[0-9]+}}: 'memref.store': any element may be meant: an index depends on %k (arith.muli)
// CHECK-NEXT: remark: {{.*}}:32:{{[0-9]+}}: 'memref.store': any element may be meant: %s (arith.select) may be any of %a, %b
// CHECK-NEXT: remark: {{.*}}:39:{{[0-9]+}}: 'memref.store': any element may be meant: those of %a through memref.collapse_shape are not known
// CHECK-NEXT: remark: {{.*}}:53:{{[0-9]+}}: 'memref.load': any element may be meant: %s (arith.select) may be any of %a, %p
// CHECK-NOT: any element

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @scatter(%index: memref<8xindex>, %a: memref<8xf32>) kernel {
    %i = gpu.thread_id x
    %k = memref.load %index[%i] : memref<8xindex>
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%k] : memref<8xf32>
    gpu.return
  }
  gpu.func @square(%a: memref<64xf32>, %n: index) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    %k = arith.muli %i, %n : index
    memref.store %v, %a[%k] : memref<64xf32>
    gpu.return
  }
  gpu.func @choose(%a: memref<8xf32>, %b: memref<8xf32>, %c: i1) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    %s = arith.select %c, %a, %b : memref<8xf32>
    memref.store %v, %s[%i] : memref<8xf32>
    gpu.return
  }
  gpu.func @dynamic(%a: memref<?x?xf32>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    %s = memref.collapse_shape %a [[0, 1]] : memref<?x?xf32> into memref<?xf32>
    memref.store %v, %s[%i] : memref<?xf32>
    gpu.return
  }
}
func.func @f(%index: memref<8xindex>, %a: memref<8xf32>, %b: memref<64xf32>, %n: index, %c: i1, %d: memref<?x?xf32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  gpu.launch_func @k::@scatter blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%index : memref<8xindex>, %a : memref<8xf32>)
  gpu.launch_func @k::@scatter blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%index : memref<8xindex>, %a : memref<8xf32>)
  gpu.launch_func @k::@square blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<64xf32>, %n : index)
  %p = memref.alloc() : memref<8xf32>
  gpu.launch_func @k::@choose blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32>, %p : memref<8xf32>, %c : i1)
  gpu.launch_func @k::@dynamic blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%d : memref<?x?xf32>)
  %s = arith.select %c, %a, %p : memref<8xf32>
  %v = memref.load %s[%n] : memref<8xf32>
  return
}
}
