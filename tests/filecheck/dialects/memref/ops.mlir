// RUN: opar-opt %s | filecheck %s
// RUN: opar-opt %s --print-op-generic | opar-opt | filecheck %s

memref.global "private" constant @g : memref<4xf32> = dense<1.0> {alignment = 64, note}
memref.global "private" @u : memref<4xf32> = uninitialized
memref.global @ext : memref<4xf32>
memref.global "public" @m : memref<2x2xf64> = dense<[[1.0, 2.0], [3.0, 4.0]]>
memref.global @d : memref<2xi32> = dense<[1, 2]>
func.func @ops(%n: index, %m: memref<?x?xf32>, %s: memref<8x16xf32>, %by: memref<1024xi8>, %f: f32, %i32: i32, %um: memref<*xf32>, %mi: memref<4xi32>, %a7: memref<1xf32>, %a8: memref<4xf32, 2>, %sh: memref<2xindex>, %c1: i1) {
  %a0 = memref.alloc() : memref<4xf32>
  %a1 = memref.alloc(%n, %n) {alignment = 16 : i64, note} : memref<?x?xf32>
  %a2 = memref.alloc(%n)[%n] : memref<?xf32, affine_map<(d0)[s0] -> (d0 + s0)>>
  %a3 = memref.alloca(%n) {alignment = 16} : memref<?xf32>
  %a4 = memref.alloca() : memref<f32, 3>
  %a5 = memref.realloc %a0 : memref<4xf32> to memref<8xf32>
  %a6 = memref.realloc %a3(%n) {alignment = 8} : memref<?xf32> to memref<?xf32>
  memref.dealloc %a1 : memref<?x?xf32>
  memref.dealloc %um : memref<*xf32>
  %l = memref.load %m[%n, %n] : memref<?x?xf32>
  %l2 = memref.load %a4[] : memref<f32, 3>
  %l3 = memref.load %m[%n, %n] {nontemporal = true, note} : memref<?x?xf32>
  memref.store %l, %m[%n, %n] : memref<?x?xf32>
  memref.store %l, %m[%n, %n] {nontemporal = true} : memref<?x?xf32>
  memref.prefetch %m[%n, %n], read, locality<3>, data : memref<?x?xf32>
  %r = memref.atomic_rmw addf %f, %m[%n, %n] : (f32, memref<?x?xf32>) -> f32
  %r2 = memref.atomic_rmw assign %f, %a4[] {note} : (f32, memref<f32, 3>) -> f32
  %ri = memref.atomic_rmw maxs %i32, %mi[%n] : (i32, memref<4xi32>) -> i32
  %gr = memref.generic_atomic_rmw %m[%n, %n] : memref<?x?xf32> {
  ^bb0(%cur: f32):
    %x = arith.addf %cur, %f : f32
    memref.atomic_yield %x : f32
  }
  %c0 = arith.constant 0 : index
  %d = memref.dim %m, %c0 : memref<?x?xf32>
  %d2 = memref.dim %um, %c0 : memref<*xf32>
  %rk = memref.rank %um : memref<*xf32>
  memref.copy %m, %m : memref<?x?xf32> to memref<?x?xf32>
  memref.copy %s, %m {note} : memref<8x16xf32> to memref<?x?xf32>
  memref.copy %um, %um : memref<*xf32> to memref<*xf32>
  %ca = memref.cast %s : memref<8x16xf32> to memref<?x16xf32>
  %cu = memref.cast %s {note} : memref<8x16xf32> to memref<*xf32>
  %ms = memref.memory_space_cast %s : memref<8x16xf32> to memref<8x16xf32, 1>
  %sv = memref.subview %s[0, 0] [4, 8] [1, 1] : memref<8x16xf32> to memref<4x8xf32, strided<[16, 1]>>
  %sv2 = memref.subview %s[%n, 0] [%n, 8] [1, %n] {note} : memref<8x16xf32> to memref<?x8xf32, strided<[16, ?], offset: ?>>
  %sv3 = memref.subview %s[2, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<16xf32, strided<[1], offset: 32>>
  %sv4 = memref.subview %m[%n, 0] [1, %n] [1, 1] : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
  %sv5 = memref.subview %sv2[0, 2] [1, 1] [1, 1] : memref<?x8xf32, strided<[16, ?], offset: ?>> to memref<f32, strided<[], offset: ?>>
  %cs1 = memref.collapse_shape %sv [[0], [1]] : memref<4x8xf32, strided<[16, 1]>> into memref<4x8xf32, strided<[16, 1]>>
  %rc = memref.reinterpret_cast %s to offset: [0], sizes: [128], strides: [1] : memref<8x16xf32> to memref<128xf32>
  %rc2 = memref.reinterpret_cast %s to offset: [%n], sizes: [4, %n], strides: [%n, 1] : memref<8x16xf32> to memref<4x?xf32, strided<[?, 1], offset: ?>>
  %rc3 = memref.reinterpret_cast %um to offset: [0], sizes: [4], strides: [1] : memref<*xf32> to memref<4xf32>
  %vw = memref.view %by[%c0][] : memref<1024xi8> to memref<16x16xf32>
  %vw2 = memref.view %by[%c0][%n] {note} : memref<1024xi8> to memref<?x4xf32>
  %cs = memref.collapse_shape %s [[0, 1]] : memref<8x16xf32> into memref<128xf32>
  %es = memref.expand_shape %s [[0, 1], [2]] output_shape [2, 4, 16] : memref<8x16xf32> into memref<2x4x16xf32>
  %es2 = memref.expand_shape %m [[0, 1], [2]] output_shape [%n, 4, %n] : memref<?x?xf32> into memref<?x4x?xf32>
  %cs0 = memref.collapse_shape %a7 [] : memref<1xf32> into memref<f32>
  %es0 = memref.expand_shape %cs0 [] output_shape [1, 1] : memref<f32> into memref<1x1xf32>
  %rs = memref.reshape %s(%sh) : (memref<8x16xf32>, memref<2xindex>) -> memref<?x?xf32>
  %tr = memref.transpose %s (i, j) -> (j, i) : memref<8x16xf32> to memref<16x8xf32, strided<[1, 16]>>
  %g = memref.get_global @g : memref<4xf32>
  memref.alloca_scope {
    %q = memref.alloca() : memref<4xf32>
  }
  %as = memref.alloca_scope -> (f32) {
    memref.alloca_scope.return %f : f32
  }
  %aa = memref.assume_alignment %m, 16 : memref<?x?xf32>
  %base, %off, %sz:2, %st:2 = memref.extract_strided_metadata %m : memref<?x?xf32> -> memref<f32>, index, index, index, index, index
  %pt = memref.extract_aligned_pointer_as_index %m : memref<?x?xf32> -> index
  %do:2 = memref.distinct_objects %m, %s : memref<?x?xf32>, memref<8x16xf32>
  memref.dma_start %s[%n, %n], %a8[%n], %n, %mi[%n] : memref<8x16xf32>, memref<4xf32, 2>, memref<4xi32>
  memref.dma_start %s[%n, %n], %a8[%n], %n, %mi[%n], %n, %n : memref<8x16xf32>, memref<4xf32, 2>, memref<4xi32>
  memref.dma_wait %mi[%n], %n : memref<4xi32>
  return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   memref.global "private" constant @g : memref<4xf32> = dense<1.000000e+00> {note, alignment = 64 : i64}
// CHECK-NEXT:   memref.global "private" @u : memref<4xf32> = uninitialized
// CHECK-NEXT:   memref.global @ext : memref<4xf32>
// CHECK-NEXT:   memref.global "public" @m : memref<2x2xf64> = dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00{{\]\]}}>
// CHECK-NEXT:   memref.global @d : memref<2xi32> = dense<[1, 2]>
// CHECK-NEXT:   func.func @ops(%n: index, %m: memref<?x?xf32>, %s: memref<8x16xf32>, %by: memref<1024xi8>, %f: f32, %i32: i32, %um: memref<*xf32>, %mi: memref<4xi32>, %a7: memref<1xf32>, %a8: memref<4xf32, 2 : i64>, %sh: memref<2xindex>, %c1: i1) {
// CHECK-NEXT:     %a0 = memref.alloc() : memref<4xf32>
// CHECK-NEXT:     %a1 = memref.alloc(%n, %n) {note, alignment = 16 : i64} : memref<?x?xf32>
// CHECK-NEXT:     %a2 = memref.alloc(%n)[%n] : memref<?xf32, affine_map<(d0)[s0] -> ((d0 + s0))>>
// CHECK-NEXT:     %a3 = memref.alloca(%n) {alignment = 16 : i64} : memref<?xf32>
// CHECK-NEXT:     %a4 = memref.alloca() : memref<f32, 3 : i64>
// CHECK-NEXT:     %a5 = memref.realloc %a0 : memref<4xf32> to memref<8xf32>
// CHECK-NEXT:     %a6 = memref.realloc %a3(%n) {alignment = 8 : i64} : memref<?xf32> to memref<?xf32>
// CHECK-NEXT:     memref.dealloc %a1 : memref<?x?xf32>
// CHECK-NEXT:     memref.dealloc %um : memref<*xf32>
// CHECK-NEXT:     %l = memref.load %m[%n, %n] : memref<?x?xf32>
// CHECK-NEXT:     %l2 = memref.load %a4[] : memref<f32, 3 : i64>
// CHECK-NEXT:     %l3 = memref.load %m[%n, %n] {note, nontemporal = true} : memref<?x?xf32>
// CHECK-NEXT:     memref.store %l, %m[%n, %n] : memref<?x?xf32>
// CHECK-NEXT:     memref.store %l, %m[%n, %n] {nontemporal = true} : memref<?x?xf32>
// CHECK-NEXT:     memref.prefetch %m[%n, %n], read, locality<3>, data : memref<?x?xf32>
// CHECK-NEXT:     %r = memref.atomic_rmw addf %f, %m[%n, %n] : (f32, memref<?x?xf32>) -> f32
// CHECK-NEXT:     %r2 = memref.atomic_rmw assign %f, %a4[] {note} : (f32, memref<f32, 3 : i64>) -> f32
// CHECK-NEXT:     %ri = memref.atomic_rmw maxs %i32, %mi[%n] : (i32, memref<4xi32>) -> i32
// CHECK-NEXT:     %gr = memref.generic_atomic_rmw %m[%n, %n] : memref<?x?xf32> {
// CHECK-NEXT:     ^bb0(%cur: f32):
// CHECK-NEXT:       %x = arith.addf %cur, %f : f32
// CHECK-NEXT:       memref.atomic_yield %x : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     %c0 = arith.constant 0 : index
// CHECK-NEXT:     %d = memref.dim %m, %c0 : memref<?x?xf32>
// CHECK-NEXT:     %d2 = memref.dim %um, %c0 : memref<*xf32>
// CHECK-NEXT:     %rk = memref.rank %um : memref<*xf32>
// CHECK-NEXT:     memref.copy %m, %m : memref<?x?xf32> to memref<?x?xf32>
// CHECK-NEXT:     memref.copy %s, %m {note} : memref<8x16xf32> to memref<?x?xf32>
// CHECK-NEXT:     memref.copy %um, %um : memref<*xf32> to memref<*xf32>
// CHECK-NEXT:     %ca = memref.cast %s : memref<8x16xf32> to memref<?x16xf32>
// CHECK-NEXT:     %cu = memref.cast %s {note} : memref<8x16xf32> to memref<*xf32>
// CHECK-NEXT:     %ms = memref.memory_space_cast %s : memref<8x16xf32> to memref<8x16xf32, 1 : i64>
// CHECK-NEXT:     %sv = memref.subview %s[0, 0] [4, 8] [1, 1] : memref<8x16xf32> to memref<4x8xf32, strided<[16, 1]>>
// CHECK-NEXT:     %sv2 = memref.subview %s[%n, 0] [%n, 8] [1, %n] {note} : memref<8x16xf32> to memref<?x8xf32, strided<[16, ?], offset: ?>>
// CHECK-NEXT:     %sv3 = memref.subview %s[2, 0] [1, 16] [1, 1] : memref<8x16xf32> to memref<16xf32, strided<[1], offset: 32>>
// CHECK-NEXT:     %sv4 = memref.subview %m[%n, 0] [1, %n] [1, 1] : memref<?x?xf32> to memref<?xf32, strided<[1], offset: ?>>
// CHECK-NEXT:     %sv5 = memref.subview %sv2[0, 2] [1, 1] [1, 1] : memref<?x8xf32, strided<[16, ?], offset: ?>> to memref<f32, strided<[], offset: ?>>
// CHECK-NEXT:     %cs1 = memref.collapse_shape %sv {{\[\[}}0 : i64], [1 : i64{{\]\]}} : memref<4x8xf32, strided<[16, 1]>> into memref<4x8xf32, strided<[16, 1]>>
// CHECK-NEXT:     %rc = memref.reinterpret_cast %s to offset: [0], sizes: [128], strides: [1] : memref<8x16xf32> to memref<128xf32>
// CHECK-NEXT:     %rc2 = memref.reinterpret_cast %s to offset: [%n], sizes: [4, %n], strides: [%n, 1] : memref<8x16xf32> to memref<4x?xf32, strided<[?, 1], offset: ?>>
// CHECK-NEXT:     %rc3 = memref.reinterpret_cast %um to offset: [0], sizes: [4], strides: [1] : memref<*xf32> to memref<4xf32>
// CHECK-NEXT:     %vw = memref.view %by[%c0][] : memref<1024xi8> to memref<16x16xf32>
// CHECK-NEXT:     %vw2 = memref.view %by[%c0][%n] {note} : memref<1024xi8> to memref<?x4xf32>
// CHECK-NEXT:     %cs = memref.collapse_shape %s {{\[\[}}0 : i64, 1 : i64{{\]\]}} : memref<8x16xf32> into memref<128xf32>
// CHECK-NEXT:     %es = memref.expand_shape %s {{\[\[}}0 : i64, 1 : i64], [2 : i64{{\]\]}} output_shape [2, 4, 16] : memref<8x16xf32> into memref<2x4x16xf32>
// CHECK-NEXT:     %es2 = memref.expand_shape %m {{\[\[}}0 : i64, 1 : i64], [2 : i64{{\]\]}} output_shape [%n, 4, %n] : memref<?x?xf32> into memref<?x4x?xf32>
// CHECK-NEXT:     %cs0 = memref.collapse_shape %a7 [] : memref<1xf32> into memref<f32>
// CHECK-NEXT:     %es0 = memref.expand_shape %cs0 [] output_shape [1, 1] : memref<f32> into memref<1x1xf32>
// CHECK-NEXT:     %rs = memref.reshape %s(%sh) : (memref<8x16xf32>, memref<2xindex>) -> memref<?x?xf32>
// CHECK-NEXT:     %tr = memref.transpose %s (d0, d1) -> (d1, d0) : memref<8x16xf32> to memref<16x8xf32, strided<[1, 16]>>
// CHECK-NEXT:     %g = memref.get_global @g : memref<4xf32>
// CHECK-NEXT:     memref.alloca_scope {
// CHECK-NEXT:       %q = memref.alloca() : memref<4xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     %as = memref.alloca_scope -> (f32) {
// CHECK-NEXT:       memref.alloca_scope.return %f : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     %aa = memref.assume_alignment %m, 16 : memref<?x?xf32>
// CHECK-NEXT:     %base, %off, %sz, %sz_1, %st, %st_1 = memref.extract_strided_metadata %m : memref<?x?xf32> -> memref<f32>, index, index, index, index, index
// CHECK-NEXT:     %pt = memref.extract_aligned_pointer_as_index %m : memref<?x?xf32> -> index
// CHECK-NEXT:     %do, %do_1 = memref.distinct_objects %m, %s : memref<?x?xf32>, memref<8x16xf32>
// CHECK-NEXT:     memref.dma_start %s[%n, %n], %a8[%n], %n, %mi[%n] : memref<8x16xf32>, memref<4xf32, 2 : i64>, memref<4xi32>
// CHECK-NEXT:     memref.dma_start %s[%n, %n], %a8[%n], %n, %mi[%n], %n, %n : memref<8x16xf32>, memref<4xf32, 2 : i64>, memref<4xi32>
// CHECK-NEXT:     memref.dma_wait %mi[%n], %n : memref<4xi32>
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
