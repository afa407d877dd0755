// RUN: opar-opt -p affine-parallelize %s | filecheck %s
// RUN: opar-opt -p 'affine-parallelize{assume-noalias-args=true}' %s | filecheck %s --check-prefix=ASSUME

// The loops over the elements of %c are parallel; the sum is not.
// CHECK-LABEL: func.func @product
// CHECK: affine.parallel (%i) = (0) to (4) {
// CHECK-NEXT: affine.parallel (%j) = (0) to (6) {
// CHECK-NEXT: affine.store %zero, %c[%i, %j]
// CHECK-NEXT: affine.for %k = 0 to 5 {
func.func @product(%a: memref<4x5xf32>, %b: memref<5x6xf32>) -> memref<4x6xf32> {
  %zero = arith.constant 0.0 : f32
  %c = memref.alloc() : memref<4x6xf32>
  affine.for %i = 0 to 4 {
    affine.for %j = 0 to 6 {
      affine.store %zero, %c[%i, %j] : memref<4x6xf32>
      affine.for %k = 0 to 5 {
        %x = affine.load %a[%i, %k] : memref<4x5xf32>
        %y = affine.load %b[%k, %j] : memref<5x6xf32>
        %z = affine.load %c[%i, %j] : memref<4x6xf32>
        %xy = arith.mulf %x, %y : f32
        %s = arith.addf %z, %xy : f32
        affine.store %s, %c[%i, %j] : memref<4x6xf32>
      }
    }
  }
  return %c : memref<4x6xf32>
}

// Bounds, steps, conditions and attributes are kept.
// CHECK-LABEL: func.func @bounds
// CHECK-NEXT: affine.parallel (%i) = (max(symbol(%n), 2)) to (min(%m, 20)) step (3) {
// CHECK-NEXT: affine.if
// CHECK: } {opar.note = "kept"}
func.func @bounds(%a: memref<?xf32>, %v: f32, %n: index, %m: index) {
  affine.for %i = max affine_map<()[s0] -> (s0, 2)>()[%n] to min affine_map<(d0) -> (d0, 20)>(%m) step 3 {
    affine.if affine_set<(d0) : (d0 - 5 >= 0)>(%i) {
      affine.store %v, %a[%i] : memref<?xf32>
    }
  } {opar.note = "kept"}
  return
}

// LLVM#82382: tiled loops; the loop over a tile is parallel as well.
// CHECK-LABEL: func.func @tiled
// CHECK-NEXT: affine.parallel (%i) = (0) to (10) step (4) {
// CHECK-NEXT: affine.parallel (%j) = (%i) to (min(%i + 4, 10)) {
func.func @tiled(%a: memref<10xf32>, %v: f32) {
  affine.for %i = 0 to 10 step 4 {
    affine.for %j = affine_map<(d0) -> (d0)>(%i) to min affine_map<(d0) -> (d0 + 4, 10)>(%i) {
      affine.store %v, %a[%j] : memref<10xf32>
    }
  }
  return
}

// Iterations 0 and 7 write the same element; in the second loop none do.
// CHECK-LABEL: func.func @modulo
// CHECK-NEXT: affine.for %i = 0 to 8 {
// CHECK: affine.parallel (%{{.*}}) = (0) to (7) {
func.func @modulo(%a: memref<10xf32>, %v: f32) {
  affine.for %i = 0 to 8 {
    affine.store %v, %a[%i mod 7] : memref<10xf32>
  }
  affine.for %i = 0 to 7 {
    affine.store %v, %a[(%i + 3) mod 7] : memref<10xf32>
  }
  return
}

// Each iteration reads what an earlier (the first two loops) or a later one writes; in the last
// loop what is written is never read.
// CHECK-LABEL: func.func @neighbours
// CHECK-NEXT: affine.for
// CHECK: affine.for
// CHECK: affine.for
// CHECK: affine.parallel
func.func @neighbours(%a: memref<20xf32>) {
  affine.for %i = 1 to 10 {
    %v = affine.load %a[%i - 1] : memref<20xf32>
    affine.store %v, %a[%i] : memref<20xf32>
  }
  affine.for %i = 0 to 3 {
    %v = affine.load %a[%i] : memref<20xf32>
    affine.store %v, %a[%i * 2 + 1] : memref<20xf32>
  }
  affine.for %i = 0 to 10 {
    %v = affine.load %a[%i + 1] : memref<20xf32>
    affine.store %v, %a[%i] : memref<20xf32>
  }
  affine.for %i = 0 to 10 {
    %v = affine.load %a[%i + 10] : memref<20xf32>
    affine.store %v, %a[%i] : memref<20xf32>
  }
  return
}

// Two arguments may be the same memory.
// CHECK-LABEL: func.func @arguments
// CHECK-NEXT: affine.for
// ASSUME-LABEL: func.func @arguments
// ASSUME-NEXT: affine.parallel
func.func @arguments(%a: memref<10xf32>, %b: memref<10xf32>) {
  affine.for %i = 0 to 10 {
    %v = affine.load %a[%i] : memref<10xf32>
    affine.store %v, %b[%i] : memref<10xf32>
  }
  return
}

// All iterations write element 0, although the subscript names %i: it is looked through.
// CHECK-LABEL: func.func @applied
// CHECK-NEXT: affine.for
func.func @applied(%a: memref<10xf32>, %v: f32) {
  affine.for %i = 0 to 10 {
    %m = affine.apply affine_map<(d0) -> (-d0)>(%i)
    affine.store %v, %a[%i + %m] : memref<10xf32>
  }
  return
}

// The buffer is another one in each iteration, but they overlap.
// CHECK-LABEL: func.func @moving_view
// CHECK-NEXT: affine.for
func.func @moving_view(%a: memref<20xf32>, %v: f32) {
  affine.for %i = 0 to 10 {
    %m = affine.apply affine_map<(d0) -> (-d0 + 10)>(%i)
    %s = memref.subview %a[%m] [10] [1] : memref<20xf32> to memref<10xf32, strided<[1], offset: ?>>
    affine.store %v, %s[%i] : memref<10xf32, strided<[1], offset: ?>>
  }
  return
}

// A value goes from one iteration to the next.
// CHECK-LABEL: func.func @carried
// CHECK: affine.for %i = 0 to 10 iter_args
func.func @carried(%a: memref<10xf32>) -> f32 {
  %zero = arith.constant 0.0 : f32
  %sum = affine.for %i = 0 to 10 iter_args(%acc = %zero) -> (f32) {
    %v = affine.load %a[%i] : memref<10xf32>
    %next = arith.addf %acc, %v : f32
    affine.yield %next : f32
  }
  return %sum : f32
}

// What a call, a plain access or an allocation touches is not known here.
// CHECK-LABEL: func.func @unknown
// CHECK: affine.for
// CHECK: affine.for
// CHECK: affine.for
// CHECK-NOT: affine.parallel
func.func private @other(memref<10xf32>, memref<10xf32>)
func.func @unknown(%a: memref<10xf32>, %v: f32) {
  affine.for %i = 0 to 10 {
    func.call @other(%a, %a) : (memref<10xf32>, memref<10xf32>) -> ()
  }
  affine.for %i = 0 to 10 {
    memref.store %v, %a[%i] : memref<10xf32>
  }
  affine.for %i = 0 to 10 {
    %b = memref.alloc() : memref<10xf32>
    affine.store %v, %b[%i] : memref<10xf32>
  }
  return
}

// Inside a parallel loop and next to another operation, in a launch, and in a function that a
// parallel loop calls, a loop runs in one thread.
// CHECK-LABEL: func.func @in_kernels
// CHECK: affine.parallel
// CHECK: affine.for
// CHECK: gpu.launch
// CHECK: affine.for
// CHECK-LABEL: func.func @called
// CHECK-NEXT: affine.for
func.func @in_kernels(%a: memref<10x10xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  affine.parallel (%i) = (0) to (10) {
    func.call @called(%a, %v, %i) : (memref<10x10xf32>, f32, index) -> ()
    affine.for %j = 0 to 10 {
      affine.store %v, %a[%i, %j] : memref<10x10xf32>
    }
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    affine.for %j = 0 to 10 {
      affine.store %v, %a[0, %j] : memref<10x10xf32>
    }
    gpu.terminator
  }
  return
}
func.func @called(%a: memref<10x10xf32>, %v: f32, %i: index) {
  affine.for %j = 0 to 10 {
    affine.store %v, %a[%i, %j] : memref<10x10xf32>
  }
  return
}

// Nobody outside passes the same buffer twice, but the function below does.
// CHECK-LABEL: func.func @called_twice
// ASSUME-LABEL: func.func @called_twice
// ASSUME-NEXT: affine.for
func.func @called_twice(%a: memref<10xf32>, %b: memref<10xf32>) {
  affine.for %i = 0 to 9 {
    %v = affine.load %a[%i] : memref<10xf32>
    affine.store %v, %b[%i + 1] : memref<10xf32>
  }
  return
}
func.func @twice(%a: memref<10xf32>) {
  func.call @called_twice(%a, %a) : (memref<10xf32>, memref<10xf32>) -> ()
  return
}

// All calls of a private function pass buffers of their own.
// CHECK-LABEL: func.func private @called_apart
// CHECK-NEXT: affine.parallel
func.func private @called_apart(%a: memref<10xf32>, %b: memref<10xf32>) {
  affine.for %i = 0 to 9 {
    %v = affine.load %a[%i] : memref<10xf32>
    affine.store %v, %b[%i + 1] : memref<10xf32>
  }
  return
}
func.func @calls_apart(%a: memref<10xf32>) {
  %b = memref.alloc() : memref<10xf32>
  func.call @called_apart(%a, %b) : (memref<10xf32>, memref<10xf32>) -> ()
  return
}
