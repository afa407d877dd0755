// Fan of eight: eight independent products A*B0 .. A*B7, and the sum of them all.
func.func @fan_of_eight(%a: memref<96x96xf32>, %b0: memref<96x96xf32>, %b1: memref<96x96xf32>, %b2: memref<96x96xf32>, %b3: memref<96x96xf32>, %b4: memref<96x96xf32>, %b5: memref<96x96xf32>, %b6: memref<96x96xf32>, %b7: memref<96x96xf32>) -> memref<96x96xf32> {
  %zero = arith.constant 0.0 : f32
  %p0 = memref.alloc() : memref<96x96xf32>
  %p1 = memref.alloc() : memref<96x96xf32>
  %p2 = memref.alloc() : memref<96x96xf32>
  %p3 = memref.alloc() : memref<96x96xf32>
  %p4 = memref.alloc() : memref<96x96xf32>
  %p5 = memref.alloc() : memref<96x96xf32>
  %p6 = memref.alloc() : memref<96x96xf32>
  %p7 = memref.alloc() : memref<96x96xf32>
  %sum = memref.alloc() : memref<96x96xf32>
  affine.parallel (%i, %j) = (0, 0) to (96, 96) {
    %dot = affine.for %k = 0 to 96 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<96x96xf32>
      %y = affine.load %b0[%k, %j] : memref<96x96xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %p0[%i, %j] : memref<96x96xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (96, 96) {
    %dot = affine.for %k = 0 to 96 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<96x96xf32>
      %y = affine.load %b1[%k, %j] : memref<96x96xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %p1[%i, %j] : memref<96x96xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (96, 96) {
    %dot = affine.for %k = 0 to 96 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<96x96xf32>
      %y = affine.load %b2[%k, %j] : memref<96x96xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %p2[%i, %j] : memref<96x96xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (96, 96) {
    %dot = affine.for %k = 0 to 96 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<96x96xf32>
      %y = affine.load %b3[%k, %j] : memref<96x96xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %p3[%i, %j] : memref<96x96xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (96, 96) {
    %dot = affine.for %k = 0 to 96 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<96x96xf32>
      %y = affine.load %b4[%k, %j] : memref<96x96xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %p4[%i, %j] : memref<96x96xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (96, 96) {
    %dot = affine.for %k = 0 to 96 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<96x96xf32>
      %y = affine.load %b5[%k, %j] : memref<96x96xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %p5[%i, %j] : memref<96x96xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (96, 96) {
    %dot = affine.for %k = 0 to 96 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<96x96xf32>
      %y = affine.load %b6[%k, %j] : memref<96x96xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %p6[%i, %j] : memref<96x96xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (96, 96) {
    %dot = affine.for %k = 0 to 96 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<96x96xf32>
      %y = affine.load %b7[%k, %j] : memref<96x96xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %p7[%i, %j] : memref<96x96xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (96, 96) {
    %x0 = affine.load %p0[%i, %j] : memref<96x96xf32>
    %x1 = affine.load %p1[%i, %j] : memref<96x96xf32>
    %x2 = affine.load %p2[%i, %j] : memref<96x96xf32>
    %x3 = affine.load %p3[%i, %j] : memref<96x96xf32>
    %x4 = affine.load %p4[%i, %j] : memref<96x96xf32>
    %x5 = affine.load %p5[%i, %j] : memref<96x96xf32>
    %x6 = affine.load %p6[%i, %j] : memref<96x96xf32>
    %x7 = affine.load %p7[%i, %j] : memref<96x96xf32>
    %s1 = arith.addf %x0, %x1 : f32
    %s2 = arith.addf %s1, %x2 : f32
    %s3 = arith.addf %s2, %x3 : f32
    %s4 = arith.addf %s3, %x4 : f32
    %s5 = arith.addf %s4, %x5 : f32
    %s6 = arith.addf %s5, %x6 : f32
    %s7 = arith.addf %s6, %x7 : f32
    affine.store %s7, %sum[%i, %j] : memref<96x96xf32>
  }
  memref.dealloc %p0 : memref<96x96xf32>
  memref.dealloc %p1 : memref<96x96xf32>
  memref.dealloc %p2 : memref<96x96xf32>
  memref.dealloc %p3 : memref<96x96xf32>
  memref.dealloc %p4 : memref<96x96xf32>
  memref.dealloc %p5 : memref<96x96xf32>
  memref.dealloc %p6 : memref<96x96xf32>
  memref.dealloc %p7 : memref<96x96xf32>
  return %sum : memref<96x96xf32>
}
