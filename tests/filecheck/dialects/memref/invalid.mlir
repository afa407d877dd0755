// RUN: opar-opt --verify-diagnostics --split-input-file %s | filecheck %s

// CHECK: 'memref.load': the memref takes 2 indices, got 1
func.func @f(%m: memref<4x4xf32>, %i: index) {
  %0 = memref.load %m[%i] : memref<4x4xf32>
  return
}

// -----

// CHECK: 'memref.store': the memref takes 2 indices, got 1
func.func @f(%m: memref<4x4xf32>, %i: index, %v: f32) {
  memref.store %v, %m[%i] : memref<4x4xf32>
  return
}

// -----

// CHECK: 'memref.prefetch': the locality hint must be 0, 1, 2 or 3
func.func @f(%m: memref<4xf32>, %i: index) {
  memref.prefetch %m[%i], read, locality<7>, data : memref<4xf32>
  return
}

// -----

// CHECK: 'memref.alloc': the type has 0 dynamic sizes, got 1 operands
func.func @f(%i: index) {
  %0 = memref.alloc(%i) : memref<4xf32>
  return
}

// -----

// CHECK: 'memref.alloca': the type has 1 dynamic sizes, got 0 operands
func.func @f(%i: index) {
  %0 = memref.alloca() : memref<?xf32>
  return
}

// -----

// CHECK: 'memref.alloc': the layout has 0 symbols, got 1 operands
func.func @f(%i: index) {
  %0 = memref.alloc()[%i] : memref<4xf32>
  return
}

// -----

// CHECK: 'memref.alloc': the alignment must be a power of two, got 24
func.func @f() {
  %0 = memref.alloc() {alignment = 24 : i64} : memref<4xf32>
  return
}

// -----

// CHECK: 'memref.realloc': both must have one dimension, the same elements and space
func.func @f(%m: memref<4x4xf32>) {
  %0 = memref.realloc %m : memref<4x4xf32> to memref<16xf32>
  return
}

// -----

// CHECK: 'memref.realloc': a size must be given exactly where the result type has none
func.func @f(%m: memref<4xf32>) {
  %0 = memref.realloc %m : memref<4xf32> to memref<?xf32>
  return
}

// -----

// CHECK: 'memref.copy': source and destination must have the same element type
func.func @f(%a: memref<4xf32>, %b: memref<4xf64>) {
  memref.copy %a, %b : memref<4xf32> to memref<4xf64>
  return
}

// -----

// CHECK: 'memref.copy': source and destination must have the same shape
func.func @f(%a: memref<4xf32>, %b: memref<5xf32>) {
  memref.copy %a, %b : memref<4xf32> to memref<5xf32>
  return
}

// -----

// CHECK: 'memref.copy': source and destination must have the same shape
func.func @f(%a: memref<4xf32>, %b: memref<2x2xf32>) {
  memref.copy %a, %b : memref<4xf32> to memref<2x2xf32>
  return
}

// -----

// CHECK: unknown kind 'addq'; expected one of addf, addi, andi, assign, maximumf, maxnumf, maxs, maxu, minimumf, minnumf, mins, minu, mulf, muli, ori, xori
func.func @f(%a: memref<4xf32>, %i: index, %v: f32) {
  %0 = memref.atomic_rmw addq %v, %a[%i] : (f32, memref<4xf32>) -> f32
  return
}

// -----

// CHECK: 'memref.atomic_rmw': 'addi' takes an integer type, got f32
func.func @f(%a: memref<4xf32>, %i: index, %v: f32) {
  %0 = memref.atomic_rmw addi %v, %a[%i] : (f32, memref<4xf32>) -> f32
  return
}

// -----

// CHECK: 'memref.atomic_rmw': 'addf' takes a floating-point type, got i32
func.func @f(%a: memref<4xi32>, %i: index, %v: i32) {
  %0 = memref.atomic_rmw addf %v, %a[%i] : (i32, memref<4xi32>) -> i32
  return
}

// -----

// CHECK: 'memref.atomic_rmw': 16 is not a kind of atomic operation
func.func @f(%a: memref<4xf32>, %i: index, %v: f32) {
  %0 = "memref.atomic_rmw"(%v, %a, %i) <{kind = 16 : i64}> : (f32, memref<4xf32>, index) -> f32
  return
}

// -----

// CHECK: expected the types of the value and of the memref
func.func @f(%a: memref<4xf32>, %i: index, %v: f32) {
  %0 = memref.atomic_rmw addf %v, %a[%i] : (f32) -> f32
  return
}

// -----

// CHECK: 'memref.generic_atomic_rmw': the region must take one value of the element type
func.func @f(%a: memref<4xf32>, %i: index) {
  %0 = memref.generic_atomic_rmw %a[%i] : memref<4xf32> {
  ^bb0(%x: f64):
    memref.atomic_yield %x : f64
  }
  return
}

// -----

// CHECK: 'memref.generic_atomic_rmw': the region must end in memref.atomic_yield of the element type
func.func @f(%a: memref<4xf32>, %i: index, %v: f64) {
  %0 = memref.generic_atomic_rmw %a[%i] : memref<4xf32> {
  ^bb0(%x: f32):
    memref.atomic_yield %v : f64
  }
  return
}

// -----

// CHECK: 'memref.cast': source and result must have the same element type
func.func @f(%a: memref<4xf32>) {
  %0 = memref.cast %a : memref<4xf32> to memref<?xf64>
  return
}

// -----

// CHECK: 'memref.cast': source and result must have the same shape
func.func @f(%a: memref<4xf32>) {
  %0 = memref.cast %a : memref<4xf32> to memref<?x?xf32>
  return
}

// -----

// CHECK: 'memref.memory_space_cast': source and result must have the same shape
func.func @f(%a: memref<4xf32>) {
  %0 = memref.memory_space_cast %a : memref<4xf32> to memref<5xf32, 1>
  return
}

// -----

// CHECK: 'memref.reinterpret_cast': expected 1 size values, got 2
func.func @f(%a: memref<4xf32>) {
  %0 = memref.reinterpret_cast %a to offset: [0], sizes: [4, 1], strides: [1] : memref<4xf32> to memref<4xf32>
  return
}

// -----

// CHECK: 'memref.reinterpret_cast': the sizes and the result type differ
func.func @f(%a: memref<4xf32>) {
  %0 = memref.reinterpret_cast %a to offset: [0], sizes: [2], strides: [1] : memref<4xf32> to memref<4xf32>
  return
}

// -----

// CHECK: 'memref.reinterpret_cast': expected an operand for each dynamic offset
func.func @f(%a: memref<4xf32>) {
  %0 = "memref.reinterpret_cast"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: 4>, static_strides = array<i64: 1>}> : (memref<4xf32>) -> memref<4xf32>
  return
}

// -----

// CHECK: 'memref.transpose': the map must be a permutation of the dimensions
func.func @f(%a: memref<4x8xf32>) {
  %0 = memref.transpose %a (i, j) -> (i, i) : memref<4x8xf32> to memref<4x4xf32>
  return
}

// -----

// CHECK: 'memref.transpose': the shape of the result must be that of the source, permuted
func.func @f(%a: memref<4x8xf32>) {
  %0 = memref.transpose %a (i, j) -> (j, i) : memref<4x8xf32> to memref<4x8xf32>
  return
}

// -----

// CHECK: 'memref.reshape': the shape must be a one-dimensional memref of integers
func.func @f(%a: memref<4x8xf32>, %s: memref<2x2xindex>) {
  %0 = memref.reshape %a(%s) : (memref<4x8xf32>, memref<2x2xindex>) -> memref<?x?xf32>
  return
}

// -----

// CHECK: 'memref.distinct_objects': expected at least one operand
func.func @f(%a: memref<4xf32>) {
  "memref.distinct_objects"() : () -> ()
  return
}

// -----

// CHECK: 'memref.distinct_objects': the operands and results must have the same types
func.func @f(%a: memref<4xf32>) {
  %0 = "memref.distinct_objects"(%a) : (memref<4xf32>) -> memref<5xf32>
  return
}

// -----

// CHECK: expected a memref type of static shape
memref.global @g : memref<?xf32>

// -----

// CHECK: 'memref.global': the alignment must be a power of two, got 3
memref.global @g : memref<4xf32> = dense<1.0> {alignment = 3 : i64}

// -----

// CHECK: 'memref.global': the initial value must have the shape and element type
"memref.global"() <{initial_value = dense<1.0> : tensor<5xf32>, sym_name = "g", type = memref<4xf32>}> : () -> ()

// -----

// CHECK: 'memref.global': the type must have a static shape
"memref.global"() <{sym_name = "g", type = memref<?xf32>}> : () -> ()

// -----

// CHECK: 'memref.dma_start': the elements of the tag must be integers
func.func @f(%n: index, %a: memref<8xf32>, %t: memref<1xf32>) {
  memref.dma_start %a[%n], %a[%n], %n, %t[%n] : memref<8xf32>, memref<8xf32>, memref<1xf32>
  return
}

// -----

// CHECK: 'memref.dma_start': expected both a stride and the elements per stride, or neither
func.func @f(%n: index, %a: memref<8xf32>, %t: memref<1xi32>) {
  memref.dma_start %a[%n], %a[%n], %n, %t[%n], %n : memref<8xf32>, memref<8xf32>, memref<1xi32>
  return
}

// -----

// CHECK: expected the types of source, destination and tag
func.func @f(%n: index, %a: memref<8xf32>, %t: memref<1xi32>) {
  memref.dma_start %a[%n], %a[%n], %n, %t[%n] : memref<8xf32>, memref<8xf32>
  return
}

// -----

// CHECK: 'memref.dma_start': the destination must be a memref
func.func @f(%n: index, %a: memref<8xf32>, %t: memref<1xi32>) {
  "memref.dma_start"(%a, %n, %n) : (memref<8xf32>, index, index) -> ()
  return
}

// -----

// CHECK: 'memref.dma_start': expected the number of elements
func.func @f(%n: index, %a: memref<8xf32>, %t: memref<1xi32>) {
  "memref.dma_start"(%a, %n, %a, %n) : (memref<8xf32>, index, memref<8xf32>, index) -> ()
  return
}

// -----

// CHECK: 'memref.dma_start': the indices and counts must be of type index
func.func @f(%n: index, %i: i32, %a: memref<8xf32>, %t: memref<1xi32>) {
  "memref.dma_start"(%a, %n, %a, %i, %n, %t, %n) : (memref<8xf32>, index, memref<8xf32>, i32, index, memref<1xi32>, index) -> ()
  return
}

// -----

// CHECK: 'memref.dma_wait': the memref takes 1 indices, got 0
func.func @f(%n: index, %t: memref<1xi32>) {
  memref.dma_wait %t[], %n : memref<1xi32>
  return
}

// -----

// CHECK: 'memref.subview': expected 1 size values, got 2
func.func @f(%a: memref<8xf32>) {
  %0 = memref.subview %a[0] [4, 4] [1] : memref<8xf32> to memref<4xf32>
  return
}

// -----

// CHECK: 'memref.subview': the result must have sizes [4, 4], strides [16, 1], offset 0; its type has sizes [4, 4], strides [4, 1], offset 0
func.func @f(%a: memref<8x16xf32>) {
  %0 = memref.subview %a[0, 0] [4, 4] [1, 1] : memref<8x16xf32> to memref<4x4xf32>
  return
}

// -----

// CHECK: 'memref.subview': the result must have sizes [1, 4], strides [16, 1], offset 32; its type has sizes [4], strides [1], offset 0
func.func @f(%a: memref<8x16xf32>) {
  %0 = memref.subview %a[2, 0] [1, 4] [1, 1] : memref<8x16xf32> to memref<4xf32>
  return
}

// -----

// CHECK: 'memref.subview': dimension 0 runs out of bounds: 8 of 8
func.func @f(%a: memref<8xf32>) {
  %0 = memref.subview %a[0] [9] [1] : memref<8xf32> to memref<9xf32>
  return
}

// -----

// CHECK: 'memref.subview': the offset of dimension 0 is negative
func.func @f(%a: memref<8xf32>) {
  %0 = memref.subview %a[-1] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: -1>>
  return
}

// -----

// CHECK: 'memref.subview': the size of dimension 0 is negative
func.func @f(%a: memref<8xf32>) {
  %0 = memref.subview %a[0] [-4] [1] : memref<8xf32> to memref<4xf32>
  return
}

// -----

// CHECK: 'memref.subview': source and result must have the same element type and memory space
func.func @f(%a: memref<8xf32>) {
  %0 = memref.subview %a[0] [4] [1] : memref<8xf32> to memref<4xf64>
  return
}

// -----

// CHECK: 'memref.subview': expected an operand for each dynamic offset
func.func @f(%a: memref<8xf32>) {
  %0 = "memref.subview"(%a) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: -9223372036854775808>, static_sizes = array<i64: 4>, static_strides = array<i64: 1>}> : (memref<8xf32>) -> memref<4xf32>
  return
}

// -----

// CHECK: 'memref.collapse_shape': expected 1 groups, got 2
func.func @f(%a: memref<8xf32>) {
  %0 = memref.collapse_shape %a [[0], [1]] : memref<8xf32> into memref<8xf32>
  return
}

// -----

// CHECK: 'memref.collapse_shape': the groups must cover the 2 dimensions in order
func.func @f(%a: memref<8x8xf32>) {
  %0 = memref.collapse_shape %a [[1, 0]] : memref<8x8xf32> into memref<64xf32>
  return
}

// -----

// CHECK: 'memref.collapse_shape': only dimensions of size 1 can become a memref without dimensions
func.func @f(%a: memref<8xf32>) {
  %0 = memref.collapse_shape %a [] : memref<8xf32> into memref<f32>
  return
}

// -----

// CHECK: 'memref.collapse_shape': the result must have sizes [128], strides [1], offset 0; its type has sizes [127], strides [1], offset 0
func.func @f(%a: memref<8x16xf32>) {
  %0 = memref.collapse_shape %a [[0, 1]] : memref<8x16xf32> into memref<127xf32>
  return
}

// -----

// CHECK: 'memref.collapse_shape': dimensions 0 and 1 do not follow each other
func.func @f(%a: memref<8x16xf32, strided<[32, 1]>>) {
  %0 = memref.collapse_shape %a [[0, 1]] : memref<8x16xf32, strided<[32, 1]>> into memref<128xf32>
  return
}

// -----

// CHECK: 'memref.expand_shape': output_shape and the result type differ
func.func @f(%a: memref<8xf32>) {
  %0 = memref.expand_shape %a [[0, 1]] output_shape [2, 2] : memref<8xf32> into memref<2x4xf32>
  return
}

// -----

// CHECK: 'memref.expand_shape': the sizes of group 0 must make that of the source
func.func @f(%a: memref<8xf32>) {
  %0 = memref.expand_shape %a [[0, 1]] output_shape [3, 2] : memref<8xf32> into memref<3x2xf32>
  return
}

// -----

// CHECK: 'memref.expand_shape': the result must have sizes [2, 4], strides [8, 2], offset 0; its type has sizes [2, 4], strides [4, 2], offset 0
func.func @f(%a: memref<8xf32, strided<[2]>>) {
  %0 = memref.expand_shape %a [[0, 1]] output_shape [2, 4] : memref<8xf32, strided<[2]>> into memref<2x4xf32, strided<[4, 2]>>
  return
}

// -----

// CHECK: 'memref.expand_shape': expected an operand for each dynamic size
func.func @f(%a: memref<?xf32>) {
  %0 = "memref.expand_shape"(%a) <{reassociation = [[0, 1]], static_output_shape = array<i64: -9223372036854775808, 4>}> : (memref<?xf32>) -> memref<?x4xf32>
  return
}

// -----

// CHECK: 'memref.assume_alignment': Alignment must be positive, got -1
func.func @f(%a: memref<8xf32>) {
  %0 = memref.assume_alignment %a, -1 : memref<8xf32>
  return
}

// -----

// CHECK: 'memref.subview': memref<2x2xf32, strided<[4]>> must have 2 strides, not 1
func.func @f(%a: memref<4x4xf32>) {
  %0 = memref.subview %a[0, 0] [2, 2] [1, 1] : memref<4x4xf32> to memref<2x2xf32, strided<[4]>>
  return
}
