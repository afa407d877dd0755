// Two matrix products that share nothing but inputs, and their sum: A*B + C*D.
// The products are independent, so they run at the same time; the sum waits for both.
func.func @two_products_and_sum(%a: memref<256x256xf32>, %b: memref<256x256xf32>,
                                %c: memref<256x256xf32>, %d: memref<256x256xf32>)
    -> memref<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %p = memref.alloc() : memref<256x256xf32>
  %q = memref.alloc() : memref<256x256xf32>
  %sum = memref.alloc() : memref<256x256xf32>
  affine.parallel (%i, %j) = (0, 0) to (256, 256) {
    %dot = affine.for %k = 0 to 256 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<256x256xf32>
      %y = affine.load %b[%k, %j] : memref<256x256xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %p[%i, %j] : memref<256x256xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (256, 256) {
    %dot = affine.for %k = 0 to 256 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %c[%i, %k] : memref<256x256xf32>
      %y = affine.load %d[%k, %j] : memref<256x256xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %q[%i, %j] : memref<256x256xf32>
  }
  affine.parallel (%i, %j) = (0, 0) to (256, 256) {
    %x = affine.load %p[%i, %j] : memref<256x256xf32>
    %y = affine.load %q[%i, %j] : memref<256x256xf32>
    %s = arith.addf %x, %y : f32
    affine.store %s, %sum[%i, %j] : memref<256x256xf32>
  }
  memref.dealloc %p : memref<256x256xf32>
  memref.dealloc %q : memref<256x256xf32>
  return %sum : memref<256x256xf32>
}
