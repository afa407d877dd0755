// Diamond: t = x*x; then u = t + 1 and v = t*y (both wait for t, not for each other); then u - v.
func.func @diamond(%x: memref<100x100xf32>, %y: memref<100x100xf32>) -> memref<100x100xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %t = memref.alloc() : memref<100x100xf32>
  %u = memref.alloc() : memref<100x100xf32>
  %v = memref.alloc() : memref<100x100xf32>
  %r = memref.alloc() : memref<100x100xf32>
  affine.parallel (%i, %j) = (0, 0) to (100, 100) {
    %dot = affine.for %k = 0 to 100 iter_args(%acc = %zero) -> (f32) {
      %left = affine.load %x[%i, %k] : memref<100x100xf32>
      %right = affine.load %x[%k, %j] : memref<100x100xf32>
      %lr = arith.mulf %left, %right : f32
      %next = arith.addf %acc, %lr : f32
      affine.yield %next : f32
    }
    affine.store %dot, %t[%i, %j] : memref<100x100xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (100, 100) {
    %0 = affine.load %t[%i, %j] : memref<100x100xf32>
    %1 = arith.addf %0, %one : f32
    affine.store %1, %u[%i, %j] : memref<100x100xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (100, 100) {
    %dot = affine.for %k = 0 to 100 iter_args(%acc = %zero) -> (f32) {
      %left = affine.load %t[%i, %k] : memref<100x100xf32>
      %right = affine.load %y[%k, %j] : memref<100x100xf32>
      %lr = arith.mulf %left, %right : f32
      %next = arith.addf %acc, %lr : f32
      affine.yield %next : f32
    }
    affine.store %dot, %v[%i, %j] : memref<100x100xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (100, 100) {
    %0 = affine.load %u[%i, %j] : memref<100x100xf32>
    %1 = affine.load %v[%i, %j] : memref<100x100xf32>
    %2 = arith.subf %0, %1 : f32
    affine.store %2, %r[%i, %j] : memref<100x100xf32>
  }
  memref.dealloc %t : memref<100x100xf32>
  memref.dealloc %u : memref<100x100xf32>
  memref.dealloc %v : memref<100x100xf32>
  return %r : memref<100x100xf32>
}
