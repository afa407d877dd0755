// RUN: opar-opt -p convert-affine-parallel-to-gpu %s | filecheck %s
// RUN: opar-opt -p 'convert-affine-parallel-to-gpu{block-size=16,4,2}' %s | filecheck %s --check-prefix=BLOCK

// Sizes that divide need no guard; the dimension with stride 1 goes to x.
// CHECK-LABEL: func.func @copy
// CHECK-DAG: %[[C1:[0-9]+]] = arith.constant 1 : index
// CHECK-DAG: %[[C2:[0-9]+]] = arith.constant 2 : index
// CHECK-DAG: %[[C32:[0-9]+]] = arith.constant 32 : index
// CHECK: gpu.launch blocks(%[[BX:[0-9]+]], %[[BY:[0-9]+]], %{{[0-9]+}}) in (%{{[0-9]+}} = %[[C2]], %{{[0-9]+}} = %[[C32]], %{{[0-9]+}} = %[[C1]])
// CHECK-SAME: threads(%[[TX:[0-9]+]], %[[TY:[0-9]+]], %{{[0-9]+}}) in (%{{[0-9]+}} = %[[C32]], %{{[0-9]+}} = %[[C2]], %{{[0-9]+}} = %[[C1]])
// CHECK-NEXT: %j = affine.apply affine_map<(d0, d1) -> (((d0 * 32) + d1))>(%[[BX]], %[[TX]])
// CHECK-NEXT: %i = affine.apply affine_map<(d0, d1) -> (((d0 * 2) + d1))>(%[[BY]], %[[TY]])
// CHECK-NEXT: %v = affine.load %a[%i, %j]
// CHECK-NEXT: affine.store %v, %b[%i, %j]
// CHECK-NEXT: gpu.terminator

// An axis without a loop has one thread, whatever is asked for.
// BLOCK-LABEL: func.func @copy
// BLOCK-DAG: %[[C1:[0-9]+]] = arith.constant 1 : index
// BLOCK-DAG: %[[C4:[0-9]+]] = arith.constant 4 : index
// BLOCK-DAG: %[[C16:[0-9]+]] = arith.constant 16 : index
// BLOCK: gpu.launch blocks(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}) in (%{{[0-9]+}} = %[[C4]], %{{[0-9]+}} = %[[C16]], %{{[0-9]+}} = %[[C1]])
// BLOCK-SAME: threads(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}) in (%{{[0-9]+}} = %[[C16]], %{{[0-9]+}} = %[[C4]], %{{[0-9]+}} = %[[C1]])
func.func @copy(%a: memref<64x64xf32>, %b: memref<64x64xf32>) {
  affine.parallel (%i, %j) = (0, 0) to (64, 64) {
    %v = affine.load %a[%i, %j] : memref<64x64xf32>
    affine.store %v, %b[%i, %j] : memref<64x64xf32>
  }
  return
}

// Perfectly nested loops are one grid; a size that does not divide is guarded. The store in the
// columns of %a makes %i the dimension of neighbouring addresses.
// CHECK-LABEL: func.func @columns
// CHECK: %i = affine.apply affine_map<(d0, d1) -> (((d0 * 32) + d1))>
// CHECK-NEXT: %j = affine.apply affine_map<(d0, d1) -> (((d0 * 2) + d1))>
// CHECK-NEXT: affine.if affine_set<(d0) : (((d0 * -1) + 19) >= 0)>(%i) {
// CHECK-NEXT: affine.store %v, %a[%j, %i]
func.func @columns(%a: memref<50x20xf32>, %v: f32) {
  affine.parallel (%i) = (0) to (20) {
    affine.parallel (%j) = (0) to (50) {
      affine.store %v, %a[%j, %i] : memref<50x20xf32>
    }
  }
  return
}

// Bounds known at run time only: at least one block, at most what a grid allows, and a loop in
// strides of the largest grid, which also does nothing where there is nothing to do.
// CHECK-LABEL: func.func @dynamic
// CHECK-NEXT: %[[LOW:[0-9]+]] = affine.max affine_map<(d0) -> (d0, 2)>(%m)
// CHECK-NEXT: %[[TRIPS:[0-9]+]] = affine.apply affine_map<(d0, d1) -> (((d0 + (d1 * -1)) ceildiv 3))>(%n, %[[LOW]])
// CHECK-NEXT: %[[BLOCKS:[0-9]+]] = affine.apply affine_map<(d0) -> ((d0 ceildiv 256))>(%[[TRIPS]])
// CHECK: %[[SOME:[0-9]+]] = arith.maxsi %[[BLOCKS]], %{{[0-9]+}} : index
// CHECK: %[[GRID:[0-9]+]] = arith.minsi %[[SOME]], %{{[0-9]+}} : index
// CHECK: gpu.launch blocks(%[[BX:[0-9]+]], %{{[0-9]+}}, %{{[0-9]+}}) in (%{{[0-9]+}} = %[[GRID]],
// CHECK-SAME: threads(%[[TX:[0-9]+]],
// CHECK-NEXT: %[[FIRST:[0-9]+]] = affine.apply affine_map<(d0, d1) -> (((d0 * 256) + d1))>(%[[BX]], %[[TX]])
// CHECK-NEXT: affine.for %[[COUNT:[0-9]+]] = affine_map<(d0) -> (d0)>(%[[FIRST]]) to affine_map<(d0) -> (d0)>(%[[TRIPS]]) step 549755813632 {
// CHECK-NEXT: %i = affine.apply affine_map<(d0, d1) -> (((d0 * 3) + d1))>(%[[COUNT]], %[[LOW]])
// CHECK-NEXT: affine.store %v, %a[%i]
func.func @dynamic(%a: memref<?xf32>, %n: index, %m: index, %v: f32) {
  affine.parallel (%i) = (max(%m, 2)) to (%n) step (3) {
    affine.store %v, %a[%i] : memref<?xf32>
  }
  return
}

// More than three dimensions: the outer ones share z.
// CHECK-LABEL: func.func @five
// CHECK: gpu.launch blocks(%{{[0-9]+}}, %{{[0-9]+}}, %[[BZ:[0-9]+]]) in
// CHECK: affine.if affine_set<(d0, d1) : (((d0 * -1) + 5) >= 0, ((d1 * -1) + 4) >= 0)>(%l, %k) {
// CHECK-DAG: %j = affine.apply affine_map<(d0) -> ((d0 mod 4))>(%[[BZ]])
// CHECK-DAG: %i = affine.apply affine_map<(d0) -> (((d0 floordiv 4) mod 3))>(%[[BZ]])
// CHECK-DAG: %h = affine.apply affine_map<(d0) -> ((d0 floordiv 12))>(%[[BZ]])
// CHECK: affine.store %v, %a[%h, %i, %j, %k, %l]
func.func @five(%a: memref<2x3x4x5x6xf32>, %v: f32) {
  affine.parallel (%h, %i, %j, %k, %l) = (0, 0, 0, 0, 0) to (2, 3, 4, 5, 6) {
    affine.store %v, %a[%h, %i, %j, %k, %l] : memref<2x3x4x5x6xf32>
  }
  return
}

// The same with extents known at run time only, none of them counted negative.
// CHECK-LABEL: func.func @four_dynamic
// CHECK: %[[N:[0-9]+]] = arith.maxsi %n, %{{[0-9]+}} : index
// CHECK: %[[M:[0-9]+]] = arith.maxsi %m, %{{[0-9]+}} : index
// CHECK: %[[NM:[0-9]+]] = arith.muli %[[N]], %[[M]] : index
// CHECK: gpu.launch blocks(%{{[0-9]+}}, %{{[0-9]+}}, %[[BZ:[0-9]+]]) in
// CHECK: affine.for %[[COUNT:[0-9]+]] = affine_map<(d0) -> (d0)>(%[[BZ]]) to affine_map<(d0) -> (d0)>(%[[NM]]) step 65535 {
// CHECK-NEXT: %[[H:[0-9]+]], %[[I:[0-9]+]] = affine.delinearize_index %[[COUNT]] into (%m) : index, index
// CHECK-NEXT: %h = affine.apply affine_map<(d0) -> (d0)>(%[[H]])
// CHECK-NEXT: %i = affine.apply affine_map<(d0) -> (d0)>(%[[I]])
// CHECK-NEXT: affine.store %v, %a[%h, %i, %j, %k]
func.func @four_dynamic(%a: memref<?x?x8x32xf32>, %n: index, %m: index, %v: f32) {
  affine.parallel (%h, %i, %j, %k) = (0, 0, 0, 0) to (%n, %m, 8, 32) {
    affine.store %v, %a[%h, %i, %j, %k] : memref<?x?x8x32xf32>
  }
  return
}

// LLVM#75811: a constant made between the loops that bounds the inner one moves out of both; what
// depends on a loop variable moves into the body.
// CHECK-LABEL: func.func @constant_between
// CHECK-NEXT: %c9 = arith.constant 9 : index
// CHECK: gpu.launch
// CHECK-NEXT: %[[FIRST:[0-9]+]] = affine.apply affine_map<(d0, d1) -> (((d0 * 32) + d1))>
// CHECK: affine.for %j = affine_map<(d0) -> (d0)>(%[[FIRST]]) to affine_map<(d0) -> (d0)>(%c9) step 68719476704 {
// CHECK-NEXT: %k = affine.apply affine_map<(d0) -> ((d0 * 2))>(%i)
// CHECK-NEXT: affine.store %v, %a[%k, %j]
func.func @constant_between(%a: memref<?x?xf32>, %v: f32) {
  affine.parallel (%i) = (0) to (10) {
    %c9 = arith.constant 9 : index
    %k = affine.apply affine_map<(d0) -> (d0 * 2)>(%i)
    affine.parallel (%j) = (0) to (%c9) {
      affine.store %v, %a[%k, %j] : memref<?x?xf32>
    }
  }
  return
}

// LLVM#167654: the inner bound depends on the outer variable, so the inner loop is sequential.
// Its bounds keep the operands of all dimensions, used or not.
// numba-mlir#283: so are all dimensions of parallel loops below the first level.
// CHECK-LABEL: func.func @triangle
// CHECK: gpu.launch
// CHECK: affine.for %j = affine_map<(d0) -> (d0)>(%i) to affine_map<()[s0] -> (10)>()[%n] {
// CHECK-NEXT: affine.for %k = affine_map<(d0) -> (0)>(%i) to %n step 2 {
// CHECK-NEXT: affine.store %v, %a[%i, %j, %k]
func.func @triangle(%a: memref<?x?x?xf32>, %n: index, %v: f32) {
  affine.parallel (%i) = (0) to (10) {
    affine.parallel (%j, %k) = (%i, 0) to (10, symbol(%n)) step (1, 2) {
      affine.store %v, %a[%i, %j, %k] : memref<?x?x?xf32>
    }
  }
  return
}

// LLVM#139221: a reduction within an iteration stays in one thread, in the order written.
// CHECK-LABEL: func.func @row_sums
// CHECK: gpu.launch
// CHECK: affine.for %j = 0 to 20 iter_args(%acc = %zero) -> (f32) {
// CHECK: affine.store %sum, %b[%i]
func.func @row_sums(%a: memref<32x20xf32>, %b: memref<32xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i) = (0) to (32) {
    %sum = affine.for %j = 0 to 20 iter_args(%acc = %zero) -> (f32) {
      %v = affine.load %a[%i, %j] : memref<32x20xf32>
      %next = arith.addf %acc, %v : f32
      affine.yield %next : f32
    }
    affine.store %sum, %b[%i] : memref<32xf32>
  }
  return
}

// A reducing parallel loop inside starts from the neutral element.
// CHECK-LABEL: func.func @largest
// CHECK: %[[LEAST:[0-9]+]] = arith.constant 0xff800000 : f32
// CHECK-NEXT: %m = affine.for %j = 0 to 20 iter_args(%[[SO_FAR:[0-9]+]] = %[[LEAST]]) -> (f32) {
// CHECK: %[[NEXT:[0-9]+]] = arith.maximumf %[[SO_FAR]], %v : f32
// CHECK-NEXT: affine.yield %[[NEXT]] : f32
func.func @largest(%a: memref<32x20xf32>, %b: memref<32xf32>) {
  affine.parallel (%i) = (0) to (32) {
    %m = affine.parallel (%j) = (0) to (20) reduce ("maximumf") -> f32 {
      %v = affine.load %a[%i, %j] : memref<32x20xf32>
      affine.yield %v : f32
    }
    affine.store %m, %b[%i] : memref<32xf32>
  }
  return
}

// Parallel loops of a launch that is there already run within its threads.
// CHECK-LABEL: func.func @in_a_launch
// CHECK: gpu.launch
// CHECK-NEXT: affine.for %i = 0 to 4 {
func.func @in_a_launch(%a: memref<4xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    affine.parallel (%i) = (0) to (4) {
      affine.store %v, %a[%i] : memref<4xf32>
    }
    gpu.terminator
  }
  return
}

// No dimensions: one iteration, one thread.
// CHECK-LABEL: func.func @once
// CHECK: %[[C1:[0-9]+]] = arith.constant 1 : index
// CHECK-NEXT: gpu.launch blocks(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}) in (%{{[0-9]+}} = %[[C1]], %{{[0-9]+}} = %[[C1]], %{{[0-9]+}} = %[[C1]]) threads(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}) in (%{{[0-9]+}} = %[[C1]], %{{[0-9]+}} = %[[C1]], %{{[0-9]+}} = %[[C1]])
// CHECK-NEXT: affine.store %v, %a[]
func.func @once(%a: memref<f32>, %v: f32) {
  affine.parallel () = () to () {
    affine.store %v, %a[] : memref<f32>
  }
  return
}

// Nothing runs, so nothing is launched.
// CHECK-LABEL: func.func @never
// CHECK-NEXT: func.return
func.func @never(%a: memref<4x4xf32>, %v: f32) {
  affine.parallel (%i, %j) = (0, 3) to (4, min(8, 2)) {
    affine.store %v, %a[%i, %j] : memref<4x4xf32>
  }
  return
}

// Nothing to do: sequential loops of the host are left to affine-parallelize.
// CHECK-LABEL: func.func @sequential
// CHECK-NEXT: affine.for %i = 0 to 4 {
// CHECK-NEXT: affine.store %v, %a[%i]
func.func @sequential(%a: memref<4xf32>, %v: f32) {
  affine.for %i = 0 to 4 {
    affine.store %v, %a[%i] : memref<4xf32>
  }
  return
}
