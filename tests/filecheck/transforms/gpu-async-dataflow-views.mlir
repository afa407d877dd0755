// RUN: opar-opt -p gpu-async-dataflow %s | filecheck %s

// Launches on views: those whose elements are apart do not wait for each other.

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @set(%a: memref<8xf32, strided<[?], offset: ?>>) kernel {
    %i = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%i] : memref<8xf32, strided<[?], offset: ?>>
    gpu.return
  }
  gpu.func @set_all(%a: memref<4x8xf32>) kernel {
    %i = gpu.block_id x
    %j = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%i, %j] : memref<4x8xf32>
    gpu.return
  }
  gpu.func @set_row(%a: memref<4x8xf32>, %i: index) kernel {
    %j = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%i, %j] : memref<4x8xf32>
    gpu.return
  }
  gpu.func @set_tile(%a: memref<4x8xf32, strided<[?, ?], offset: ?>>) kernel {
    %i = gpu.block_id x
    %j = gpu.thread_id x
    %v = arith.constant 1.0 : f32
    memref.store %v, %a[%i, %j] : memref<4x8xf32, strided<[?, ?], offset: ?>>
    gpu.return
  }
}
// Row 1 by its offset in the buffer, then row 2; the third lies across, elements 14 to 21.
func.func @reinterpret_cast() {
  // CHECK-LABEL: func.func @reinterpret_cast
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[A]], %[[B]]] @k::@set
  // CHECK-NEXT: %[[D:[0-9a-z_]+]] = gpu.launch_func async [%[[C]]] @k::@set_row
  // CHECK-NEXT: gpu.wait [%[[D]]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<4x8xf32>
  %a = memref.reinterpret_cast %p to offset: [8], sizes: [8], strides: [1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: 8>>
  %b = memref.reinterpret_cast %p to offset: [16], sizes: [8], strides: [1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: 16>>
  %c = memref.reinterpret_cast %p to offset: [14], sizes: [8], strides: [1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: 14>>
  %u = memref.cast %a : memref<8xf32, strided<[1], offset: 8>> to memref<8xf32, strided<[?], offset: ?>>
  %v = memref.cast %b : memref<8xf32, strided<[1], offset: 16>> to memref<8xf32, strided<[?], offset: ?>>
  %w = memref.cast %c : memref<8xf32, strided<[1], offset: 14>> to memref<8xf32, strided<[?], offset: ?>>
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%u : memref<8xf32, strided<[?], offset: ?>>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%v : memref<8xf32, strided<[?], offset: ?>>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%w : memref<8xf32, strided<[?], offset: ?>>)
  gpu.launch_func @k::@set_row blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<4x8xf32>, %c1 : index)
  return
}
// What `expand-strided-metadata` makes of subviews: the same rows, found through their offsets.
func.func @strided_metadata(%n: index) {
  // CHECK-LABEL: func.func @strided_metadata
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@set_row
  // CHECK-NEXT: gpu.wait [%[[B]], %[[C]]]
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<4x8xf32>
  %m = affine.apply affine_map<(d0) -> (d0 + 1)>(%n)
  %s = memref.subview %p[%n, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
  %t = memref.subview %p[%m, 0] [1, 8] [1, 1] : memref<4x8xf32> to memref<8xf32, strided<[1], offset: ?>>
  %s0, %so, %ss, %st = memref.extract_strided_metadata %s : memref<8xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
  %t0, %to, %ts, %tt = memref.extract_strided_metadata %t : memref<8xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
  %a = memref.reinterpret_cast %s0 to offset: [%so], sizes: [8], strides: [%st] : memref<f32> to memref<8xf32, strided<[?], offset: ?>>
  %b = memref.reinterpret_cast %t0 to offset: [%to], sizes: [8], strides: [%tt] : memref<f32> to memref<8xf32, strided<[?], offset: ?>>
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<8xf32, strided<[?], offset: ?>>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<8xf32, strided<[?], offset: ?>>)
  gpu.launch_func @k::@set_row blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%p : memref<4x8xf32>, %n : index)
  return
}
// Columns of the transpose are rows of the buffer.
func.func @transpose() {
  // CHECK-LABEL: func.func @transpose
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set_tile
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@set_tile
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[B]]] @k::@set
  // CHECK-NEXT: gpu.wait [%[[A]], %[[C]]]
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<16x8xf32>
  %t = memref.transpose %p (i, j) -> (j, i) : memref<16x8xf32> to memref<8x16xf32, strided<[1, 8]>>
  %a = memref.subview %t[0, 0] [4, 8] [1, 1] : memref<8x16xf32, strided<[1, 8]>> to memref<4x8xf32, strided<[1, 8]>>
  %b = memref.subview %t[2, 8] [4, 8] [1, 1] : memref<8x16xf32, strided<[1, 8]>> to memref<4x8xf32, strided<[1, 8], offset: 66>>
  %c = memref.subview %p[8, 0] [1, 8] [1, 1] : memref<16x8xf32> to memref<8xf32, strided<[1], offset: 64>>
  %u = memref.cast %a : memref<4x8xf32, strided<[1, 8]>> to memref<4x8xf32, strided<[?, ?], offset: ?>>
  %v = memref.cast %b : memref<4x8xf32, strided<[1, 8], offset: 66>> to memref<4x8xf32, strided<[?, ?], offset: ?>>
  %w = memref.cast %c : memref<8xf32, strided<[1], offset: 64>> to memref<8xf32, strided<[?], offset: ?>>
  gpu.launch_func @k::@set_tile blocks in (%c4, %c1, %c1) threads in (%c8, %c1, %c1) args(%u : memref<4x8xf32, strided<[?, ?], offset: ?>>)
  gpu.launch_func @k::@set_tile blocks in (%c4, %c1, %c1) threads in (%c8, %c1, %c1) args(%v : memref<4x8xf32, strided<[?, ?], offset: ?>>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%w : memref<8xf32, strided<[?], offset: ?>>)
  return
}
// Two buffers in one of bytes, one behind the other, and one that lies across.
func.func @view() {
  // CHECK-LABEL: func.func @view
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set_all
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@set_all
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[A]], %[[B]]] @k::@set_all
  // CHECK-NEXT: %[[D:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@set_row
  // CHECK-NEXT: gpu.wait [%[[C]], %[[D]]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c100 = arith.constant 100 : index
  %c128 = arith.constant 128 : index
  %p = memref.alloc() : memref<256xi8>
  %a = memref.view %p[%c0][] : memref<256xi8> to memref<4x8xf32>
  %b = memref.view %p[%c128][] : memref<256xi8> to memref<4x8xf32>
  %c = memref.view %p[%c100][] : memref<256xi8> to memref<4x8xf32>
  gpu.launch_func @k::@set_all blocks in (%c4, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<4x8xf32>)
  gpu.launch_func @k::@set_all blocks in (%c4, %c1, %c1) threads in (%c8, %c1, %c1) args(%b : memref<4x8xf32>)
  gpu.launch_func @k::@set_all blocks in (%c4, %c1, %c1) threads in (%c8, %c1, %c1) args(%c : memref<4x8xf32>)
  gpu.launch_func @k::@set_row blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<4x8xf32>, %c1 : index)
  return
}
// Shapes that join and split dimensions.
func.func @shapes() {
  // CHECK-LABEL: func.func @shapes
  // CHECK:      %[[A:[0-9a-z_]+]] = gpu.launch_func async @k::@set_all
  // CHECK-NEXT: %[[B:[0-9a-z_]+]] = gpu.launch_func async @k::@set
  // CHECK-NEXT: %[[C:[0-9a-z_]+]] = gpu.launch_func async [%[[A]]] @k::@set
  // CHECK-NEXT: gpu.wait [%[[B]], %[[C]]]
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %p = memref.alloc() : memref<64xf32>
  %h = memref.subview %p[0] [32] [1] : memref<64xf32> to memref<32xf32>
  %a = memref.expand_shape %h [[0, 1]] output_shape [4, 8] : memref<32xf32> into memref<4x8xf32>
  %e = memref.expand_shape %p [[0, 1]] output_shape [8, 8] : memref<64xf32> into memref<8x8xf32>
  %f = memref.collapse_shape %e [[0, 1]] : memref<8x8xf32> into memref<64xf32>
  %b = memref.subview %f[32] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: 32>>
  %c = memref.subview %f[31] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: 31>>
  %v = memref.cast %b : memref<8xf32, strided<[1], offset: 32>> to memref<8xf32, strided<[?], offset: ?>>
  %s = memref.subview %e[3, 0] [1, 8] [1, 1] : memref<8x8xf32> to memref<8xf32, strided<[1], offset: 24>>
  %w = memref.cast %s : memref<8xf32, strided<[1], offset: 24>> to memref<8xf32, strided<[?], offset: ?>>
  gpu.launch_func @k::@set_all blocks in (%c4, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<4x8xf32>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%v : memref<8xf32, strided<[?], offset: ?>>)
  gpu.launch_func @k::@set blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%w : memref<8xf32, strided<[?], offset: ?>>)
  return
}
}
