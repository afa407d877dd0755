// RUN: opar-opt %s | filecheck %s
// RUN: opar-opt %s --print-op-generic | opar-opt | filecheck %s

func.func @ops(%n: index, %i: i32, %c: i1, %f: f32, %m: memref<?xf32>) {
  scf.for %k = %n to %n step %n { }
  scf.for %k = %n to %n step %n { 
    memref.store %f, %m[%k] : memref<?xf32>
  } {note}
  scf.for %k = %i to %i step %i : i32 { }
  scf.for unsigned %k = %i to %i step %i : i32 { }
  %r:2 = scf.for %k = %n to %n step %n iter_args(%a = %f, %b = %n) -> (f32, index) {
    scf.yield %a, %b : f32, index
  }
  %ri = scf.for %k = %i to %i step %i iter_args(%a = %f) -> (f32) : i32 {
    scf.yield %a : f32
  }
  scf.if %c { }
  scf.if %c { } else { } {note}
  %x:2 = scf.if %c -> (f32, index) { scf.yield %f, %n : f32, index } else { scf.yield %f, %n : f32, index }
  %x1 = scf.if %c -> f32 { scf.yield %f : f32 } else { scf.yield %f : f32 }
  scf.parallel (%a, %b) = (%n, %n) to (%n, %n) step (%n, %n) { 
    memref.store %f, %m[%a] : memref<?xf32>
  }
  scf.parallel (%a) = (%n) to (%n) step (%n) { scf.reduce } {mapping = "x"}
  %p:2 = scf.parallel (%a) = (%n) to (%n) step (%n) init (%f, %i) -> (f32, i32) {
    scf.reduce(%f, %i : f32, i32) {
    ^bb0(%l: f32, %rr: f32):
      %s = arith.addf %l, %rr : f32
      scf.reduce.return %s : f32
    }, {
    ^bb0(%l: i32, %rr: i32):
      %s = arith.addi %l, %rr : i32
      scf.reduce.return %s : i32
    }
  }
  %p1 = scf.parallel (%a) = (%n) to (%n) step (%n) init (%f) -> f32 {
    scf.reduce(%f : f32) {
    ^bb0(%l: f32, %rr: f32):
      scf.reduce.return %l : f32
    }
  } {note}
  scf.forall (%a, %b) in (%n, 4) {
    memref.store %f, %m[%a] : memref<?xf32>
  }
  scf.forall (%a) = (0) to (%n) step (2) { } {mapping = [#gpu.thread<x>]}
  scf.forall (%a, %b) in (2, 4) { scf.forall.in_parallel { } } {note}
  scf.forall (%a) = (%n) to (8) step (%n) { }
  %w:2 = scf.while (%a = %f, %b = %n) : (f32, index) -> (f32, index) {
    scf.condition(%c) %a, %b : f32, index
  } do {
  ^bb0(%a: f32, %b: index):
    scf.yield %a, %b : f32, index
  } attributes {note}
  scf.while : () -> () {
    scf.condition(%c)
  } do {
    scf.yield
  }
  %w2 = scf.while (%a = %f) : (f32) -> i32 {
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%a: i32):
    scf.yield %f : f32
  }
  scf.execute_region { scf.yield }
  scf.execute_region {
    cf.br ^bb1
  ^bb1:
    scf.yield
  } {note}
  %e = scf.execute_region -> f32 { scf.yield %f : f32 }
  %e2 = scf.execute_region -> f32 no_inline { scf.yield %f : f32 }
  %sw = scf.index_switch %n {note} -> f32
  case 2 { scf.yield %f : f32 }
  case 5 { scf.yield %f : f32 }
  default { scf.yield %f : f32 }
  scf.index_switch %n
  case 2 { scf.yield }
  default { }
  %sw2:2 = scf.index_switch %n -> f32, i32
  case -1 { scf.yield %f, %i : f32, i32 }
  default { scf.yield %f, %i : f32, i32 }
  return
}
func.func @tensors(%t: tensor<8xf32>, %n: index) -> tensor<8xf32> {
  %r = scf.forall (%a) in (8) shared_outs(%o = %t) -> (tensor<8xf32>) {
    scf.forall.in_parallel {
    }
  }
  return %r : tensor<8xf32>
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @ops(%n: index, %i: i32, %c: i1, %f: f32, %m: memref<?xf32>) {
// CHECK-NEXT:     scf.for %k = %n to %n step %n {
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.for %k_1 = %n to %n step %n {
// CHECK-NEXT:       memref.store %f, %m[%k_1] : memref<?xf32>
// CHECK-NEXT:     } {note}
// CHECK-NEXT:     scf.for %k_2 = %i to %i step %i : i32 {
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.for unsigned %k_3 = %i to %i step %i : i32 {
// CHECK-NEXT:     }
// CHECK-NEXT:     %r, %r_1 = scf.for %k_4 = %n to %n step %n iter_args(%a = %f, %b = %n) -> (f32, index) {
// CHECK-NEXT:       scf.yield %a, %b : f32, index
// CHECK-NEXT:     }
// CHECK-NEXT:     %ri = scf.for %k_5 = %i to %i step %i iter_args(%a_1 = %f) -> (f32) : i32 {
// CHECK-NEXT:       scf.yield %a_1 : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.if %c {
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.if %c {
// CHECK-NEXT:     } else {
// CHECK-NEXT:     } {note}
// CHECK-NEXT:     %x, %x_1 = scf.if %c -> (f32, index) {
// CHECK-NEXT:       scf.yield %f, %n : f32, index
// CHECK-NEXT:     } else {
// CHECK-NEXT:       scf.yield %f, %n : f32, index
// CHECK-NEXT:     }
// CHECK-NEXT:     %x1 = scf.if %c -> (f32) {
// CHECK-NEXT:       scf.yield %f : f32
// CHECK-NEXT:     } else {
// CHECK-NEXT:       scf.yield %f : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.parallel (%a_2, %b_1) = (%n, %n) to (%n, %n) step (%n, %n) {
// CHECK-NEXT:       memref.store %f, %m[%a_2] : memref<?xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.parallel (%a_3) = (%n) to (%n) step (%n) {
// CHECK-NEXT:     } {mapping = "x"}
// CHECK-NEXT:     %p, %p_1 = scf.parallel (%a_4) = (%n) to (%n) step (%n) init (%f, %i) -> (f32, i32) {
// CHECK-NEXT:       scf.reduce(%f, %i : f32, i32) {
// CHECK-NEXT:       ^bb0(%l: f32, %rr: f32):
// CHECK-NEXT:         %s = arith.addf %l, %rr : f32
// CHECK-NEXT:         scf.reduce.return %s : f32
// CHECK-NEXT:       }, {
// CHECK-NEXT:       ^bb0(%l_1: i32, %rr_1: i32):
// CHECK-NEXT:         %s_1 = arith.addi %l_1, %rr_1 : i32
// CHECK-NEXT:         scf.reduce.return %s_1 : i32
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     %p1 = scf.parallel (%a_5) = (%n) to (%n) step (%n) init (%f) -> (f32) {
// CHECK-NEXT:       scf.reduce(%f : f32) {
// CHECK-NEXT:       ^bb0(%l_2: f32, %rr_2: f32):
// CHECK-NEXT:         scf.reduce.return %l_2 : f32
// CHECK-NEXT:       }
// CHECK-NEXT:     } {note}
// CHECK-NEXT:     scf.forall (%a_6, %b_2) in (%n, 4) {
// CHECK-NEXT:       memref.store %f, %m[%a_6] : memref<?xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.forall (%a_7) = (0) to (%n) step (2) {
// CHECK-NEXT:     } {mapping = [#gpu.thread<x>]}
// CHECK-NEXT:     scf.forall (%a_8, %b_3) in (2, 4) {
// CHECK-NEXT:     } {note}
// CHECK-NEXT:     scf.forall (%a_9) = (%n) to (8) step (%n) {
// CHECK-NEXT:     }
// CHECK-NEXT:     %w, %w_1 = scf.while (%a_10 = %f, %b_4 = %n) : (f32, index) -> (f32, index) {
// CHECK-NEXT:       scf.condition(%c) %a_10, %b_4 : f32, index
// CHECK-NEXT:     } do {
// CHECK-NEXT:     ^bb0(%a_11: f32, %b_5: index):
// CHECK-NEXT:       scf.yield %a_11, %b_5 : f32, index
// CHECK-NEXT:     } attributes {note}
// CHECK-NEXT:     scf.while : () -> () {
// CHECK-NEXT:       scf.condition(%c)
// CHECK-NEXT:     } do {
// CHECK-NEXT:       scf.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %w2 = scf.while (%a_12 = %f) : (f32) -> i32 {
// CHECK-NEXT:       scf.condition(%c) %i : i32
// CHECK-NEXT:     } do {
// CHECK-NEXT:     ^bb0(%a_13: i32):
// CHECK-NEXT:       scf.yield %f : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.execute_region {
// CHECK-NEXT:       scf.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.execute_region {
// CHECK-NEXT:       cf.br ^bb1
// CHECK-NEXT:     ^bb1:
// CHECK-NEXT:       scf.yield
// CHECK-NEXT:     } {note}
// CHECK-NEXT:     %e = scf.execute_region -> (f32) {
// CHECK-NEXT:       scf.yield %f : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     %e2 = scf.execute_region -> (f32) no_inline {
// CHECK-NEXT:       scf.yield %f : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     %sw = scf.index_switch %n {note} -> f32 case 2 {
// CHECK-NEXT:       scf.yield %f : f32
// CHECK-NEXT:     } case 5 {
// CHECK-NEXT:       scf.yield %f : f32
// CHECK-NEXT:     } default {
// CHECK-NEXT:       scf.yield %f : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     scf.index_switch %n case 2 {
// CHECK-NEXT:       scf.yield
// CHECK-NEXT:     } default {
// CHECK-NEXT:       scf.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %sw2, %sw2_1 = scf.index_switch %n -> f32, i32 case -1 {
// CHECK-NEXT:       scf.yield %f, %i : f32, i32
// CHECK-NEXT:     } default {
// CHECK-NEXT:       scf.yield %f, %i : f32, i32
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @tensors(%t: tensor<8xf32>, %n: index) -> tensor<8xf32> {
// CHECK-NEXT:     %r = scf.forall (%a) in (8) shared_outs(%o = %t) -> (tensor<8xf32>) {
// CHECK-NEXT:       scf.forall.in_parallel {
// CHECK-NEXT:       ^bb0:
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return %r : tensor<8xf32>
// CHECK-NEXT:   }
// CHECK-NEXT: }
