// Chain on a vector of any length: y = x + 1, then y = 2*y, then y = y*y, in place in %y.
// Each step waits for the one before: nothing here can run at the same time.
func.func @chain(%x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %n = memref.dim %x, %c0 : memref<?xf32>
  affine.parallel (%i) = (0) to (%n) {
    %0 = affine.load %x[%i] : memref<?xf32>
    %1 = arith.addf %0, %one : f32
    affine.store %1, %y[%i] : memref<?xf32>
  }
  affine.parallel (%i) = (0) to (%n) {
    %0 = affine.load %y[%i] : memref<?xf32>
    %1 = arith.mulf %0, %two : f32
    affine.store %1, %y[%i] : memref<?xf32>
  }
  affine.parallel (%i) = (0) to (%n) {
    %0 = affine.load %y[%i] : memref<?xf32>
    %1 = arith.mulf %0, %0 : f32
    affine.store %1, %y[%i] : memref<?xf32>
  }
  return
}
