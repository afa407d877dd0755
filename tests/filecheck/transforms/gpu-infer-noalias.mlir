// RUN: opar-opt -p gpu-infer-noalias %s | filecheck %s
// RUN: opar-opt -p 'gpu-infer-noalias{assume-noalias-args=true}' %s | filecheck %s --check-prefix=ASSUME

module attributes {gpu.container_module} {
  gpu.module @k {
    // Every launch passes distinct allocations.
    // CHECK: gpu.func @separate(%a: memref<8xf32> {llvm.noalias}, %b: memref<8xf32> {llvm.noalias}, %n: index)
    gpu.func @separate(%a: memref<8xf32>, %b: memref<8xf32>, %n: index) kernel {
      %v = memref.load %a[%n] : memref<8xf32>
      memref.store %v, %b[%n] : memref<8xf32>
      gpu.return
    }
    // The arguments of the function may overlap, and the kernel writes one: nothing is known,
    // unless it is assumed.
    // CHECK: gpu.func @arguments(%a: memref<8xf32>, %b: memref<8xf32>)
    // ASSUME: gpu.func @arguments(%a: memref<8xf32> {llvm.noalias}, %b: memref<8xf32> {llvm.noalias})
    gpu.func @arguments(%a: memref<8xf32>, %b: memref<8xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %a[%i] : memref<8xf32>
      memref.store %v, %b[%i] : memref<8xf32>
      gpu.return
    }
    // The same buffer twice, but only read: overlap does no harm.
    // CHECK: gpu.func @read_only(%a: memref<8xf32> {llvm.noalias}, %b: memref<8xf32> {llvm.noalias}, %c: memref<8xf32> {llvm.noalias})
    gpu.func @read_only(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %a[%i] : memref<8xf32>
      %w = memref.load %b[%i] : memref<8xf32>
      %x = arith.addf %v, %w : f32
      memref.store %x, %c[%i] : memref<8xf32>
      gpu.return
    }
    // One launch of several passes the same buffer twice: neither is alone.
    // CHECK: gpu.func @sometimes(%a: memref<8xf32>, %b: memref<8xf32>)
    // ASSUME: gpu.func @sometimes(%a: memref<8xf32>, %b: memref<8xf32>)
    gpu.func @sometimes(%a: memref<8xf32>, %b: memref<8xf32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %a[%i] : memref<8xf32>
      memref.store %v, %b[%i] : memref<8xf32>
      gpu.return
    }
  }
  func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
    %c1 = arith.constant 1 : index
    %p = memref.alloc() : memref<8xf32>
    %q = memref.alloc() : memref<8xf32>
    gpu.launch_func @k::@separate blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : memref<8xf32>, %q : memref<8xf32>, %c1 : index)
    gpu.launch_func @k::@separate blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %q : memref<8xf32>, %c1 : index)
    gpu.launch_func @k::@arguments blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %y : memref<8xf32>)
    gpu.launch_func @k::@read_only blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %x : memref<8xf32>, %p : memref<8xf32>)
    gpu.launch_func @k::@sometimes blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : memref<8xf32>, %q : memref<8xf32>)
    gpu.launch_func @k::@sometimes blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : memref<8xf32>, %p : memref<8xf32>)
    return
  }
}
