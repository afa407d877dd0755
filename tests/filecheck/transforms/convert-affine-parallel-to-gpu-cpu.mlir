// RUN: opar-opt -p 'convert-affine-parallel-to-gpu{target=cpu}' %s | filecheck %s
// RUN: opar-opt -p 'convert-affine-parallel-to-gpu{target=cpu vector-bits=128}' %s | filecheck %s --check-prefix=SHORT

// Four rows and two vectors at once share what they load; the 5 columns that are left go one by one.
// CHECK-LABEL: func.func @product
// CHECK: %[[C1:.*]] = arith.constant 1 : index
// CHECK-NEXT: gpu.launch blocks(%[[BX:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %[[C1]], %{{.*}} = %[[C1]], %{{.*}} = %[[C1]]) threads({{.*}}) in (%{{.*}} = %[[C1]], %{{.*}} = %[[C1]], %{{.*}} = %[[C1]])
// CHECK: affine.for %j = 0 to 32 step 32 {
// CHECK: affine.for %i = {{.*}} step 4 {
// CHECK: affine.for %k = 0 to 16 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-NEXT: affine.load %a[%i, %k]
// CHECK-NEXT: affine.load %a[%i + 1, %k]
// CHECK-NEXT: affine.load %a[%i + 2, %k]
// CHECK-NEXT: affine.load %a[%i + 3, %k]
// CHECK-NEXT: affine.vector_load %b[%k, %j] : memref<16x37xf32>, vector<16xf32>
// CHECK-NEXT: affine.vector_load %b[%k, %j + 16] : memref<16x37xf32>, vector<16xf32>
// CHECK: affine.vector_store %{{.*}}, %c[%i + 3, %j + 16]
// CHECK: affine.for %[[J:.*]] = 32 to 37 {
// CHECK: affine.for %[[I:.*]] = {{.*}} step 4 {
// CHECK: affine.store %{{.*}}, %c[%[[I]] + 3, %[[J]]] : memref<8x37xf32>

// SHORT-LABEL: func.func @product
// SHORT: affine.for %j = 0 to 32 step 8 {
// SHORT: affine.for %[[J:.*]] = 32 to 36 step 4 {
// SHORT: affine.for %{{.*}} = 36 to 37 {
func.func @product(%a: memref<8x16xf32>, %b: memref<16x37xf32>, %c: memref<8x37xf32>) {
  %zero = arith.constant 0.0 : f32
  affine.parallel (%i, %j) = (0, 0) to (8, 37) {
    %dot = affine.for %k = 0 to 16 iter_args(%acc = %zero) -> (f32) {
      %x = affine.load %a[%i, %k] : memref<8x16xf32>
      %y = affine.load %b[%k, %j] : memref<16x37xf32>
      %xy = arith.mulf %x, %y : f32
      %next = arith.addf %acc, %xy : f32
      affine.yield %next : f32
    }
    affine.store %dot, %c[%i, %j] : memref<8x37xf32>
  }
  return
}

// A length known at run time only: it is never counted negative, and the last lanes go one by one.
// CHECK-LABEL: func.func @copy
// CHECK: %[[N:.*]] = arith.maxsi %n, %{{.*}} : index
// CHECK-NEXT: %[[BLOCKS:.*]] = affine.apply affine_map<(d0) -> ((d0 ceildiv 16384))>(%[[N]])
// CHECK: gpu.launch blocks(%[[BX:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %[[BLOCKS]]
// CHECK-NEXT: %[[START:.*]] = affine.apply affine_map<(d0) -> ((d0 * 16384))>(%[[BX]])
// CHECK-NEXT: %[[END:.*]] = affine.min affine_map<(d0)[s0] -> ((d0 + 16384), s0)>(%[[START]])[%[[N]]]
// CHECK: affine.for %i = affine_map<(d0) -> (d0)>(%[[START]]) to affine_map<(d0) -> (d0)>(%[[WHOLE:.*]]) step 16 {
// CHECK-NEXT: affine.vector_load %a[%i] : memref<?xf32>, vector<16xf32>
// CHECK: affine.for %{{.*}} = affine_map<(d0) -> (d0)>(%[[WHOLE]]) to affine_map<(d0) -> (d0)>(%[[END]]) {
func.func @copy(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) {
  affine.parallel (%i) = (0) to (%n) {
    %v = affine.load %a[%i] : memref<?xf32>
    affine.store %v, %b[%i] : memref<?xf32>
  }
  return
}

// No vectors, as neighbouring iterations do not touch neighbouring elements ...
// CHECK-LABEL: func.func @modulo
// CHECK: affine.for %i
// CHECK-NEXT: affine.for %j = 0 to 9 {
// CHECK-NEXT: %v = affine.load %a[%i, %j mod 3] : memref<6x9xf32>
// CHECK-NOT: vector
func.func @modulo(%a: memref<6x9xf32>, %b: memref<6x9xf32>) {
  affine.parallel (%i, %j) = (0, 0) to (6, 9) {
    %v = affine.load %a[%i, %j mod 3] : memref<6x9xf32>
    affine.store %v, %b[%i, %j] : memref<6x9xf32>
  }
  return
}

// ... as a condition depends on the iteration ...
// CHECK-LABEL: func.func @condition
// CHECK: affine.for %i
// CHECK-NEXT: affine.if
// CHECK-NOT: vector
func.func @condition(%a: memref<64xf32>, %v: f32) {
  affine.parallel (%i) = (0) to (64) {
    affine.if affine_set<(d0) : (d0 - 5 >= 0)>(%i) {
      affine.store %v, %a[%i] : memref<64xf32>
    }
  }
  return
}

// ... as the length of a loop inside does ...
// CHECK-LABEL: func.func @triangle
// CHECK: affine.for %j = 0 to affine_map<(d0) -> (d0)>(%i)
// CHECK-NOT: vector
func.func @triangle(%a: memref<64x64xf32>, %v: f32) {
  affine.parallel (%i) = (0) to (64) {
    affine.for %j = 0 to affine_map<(d0) -> (d0)>(%i) {
      affine.store %v, %a[%j, %i] : memref<64x64xf32>
    }
  }
  return
}

// ... as the elements are not as wide in memory as in a vector ...
// CHECK-LABEL: func.func @bits
// CHECK: affine.for %i
// CHECK-NEXT: affine.store %v, %a[%i] : memref<64xi1>
// CHECK-NOT: vector
func.func @bits(%a: memref<64xi1>, %v: i1) {
  affine.parallel (%i) = (0) to (64) {
    affine.store %v, %a[%i] : memref<64xi1>
  }
  return
}

// ... or as the layout has gaps.
// CHECK-LABEL: func.func @gaps
// CHECK: affine.for %i
// CHECK-NEXT: affine.store %v, %a[%i] : memref<64xf32, strided<[2]>>
// CHECK-NOT: vector
// CHECK: func.return
func.func @gaps(%a: memref<64xf32, strided<[2]>>, %v: f32) {
  affine.parallel (%i) = (0) to (64) {
    affine.store %v, %a[%i] : memref<64xf32, strided<[2]>>
  }
  return
}
