// Eight Jacobi steps of the heat equation on a line, with two buffers that change places: each step
// waits for the one before. The host loop is unrolled into the schedule.
func.func @jacobi(%u: memref<1024xf32>) -> memref<1024xf32> {
  %third = arith.constant 0.333333343 : f32
  %a = memref.alloc() : memref<1024xf32>
  %b = memref.alloc() : memref<1024xf32>
  affine.parallel (%i) = (0) to (1024) {
    %x = affine.load %u[%i] : memref<1024xf32>
    affine.store %x, %a[%i] : memref<1024xf32>
    affine.store %x, %b[%i] : memref<1024xf32>
  }
  affine.for %step = 0 to 4 {
    affine.parallel (%i) = (1) to (1023) {
      %l = affine.load %a[%i - 1] : memref<1024xf32>
      %m = affine.load %a[%i] : memref<1024xf32>
      %r = affine.load %a[%i + 1] : memref<1024xf32>
      %lm = arith.addf %l, %m : f32
      %sum = arith.addf %lm, %r : f32
      %mean = arith.mulf %sum, %third : f32
      affine.store %mean, %b[%i] : memref<1024xf32>
    }
    affine.parallel (%i) = (1) to (1023) {
      %l = affine.load %b[%i - 1] : memref<1024xf32>
      %m = affine.load %b[%i] : memref<1024xf32>
      %r = affine.load %b[%i + 1] : memref<1024xf32>
      %lm = arith.addf %l, %m : f32
      %sum = arith.addf %lm, %r : f32
      %mean = arith.mulf %sum, %third : f32
      affine.store %mean, %a[%i] : memref<1024xf32>
    }
  }
  memref.dealloc %b : memref<1024xf32>
  return %a : memref<1024xf32>
}
