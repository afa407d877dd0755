// RUN: opar-opt %s | filecheck %s
// RUN: opar-opt %s --print-op-generic | opar-opt | filecheck %s

#map = affine_map<(d0, d1)[s0] -> (d0 + d1 * 2 + s0, 10)>
#set = affine_set<(d0, d1)[s0] : (d0 - 10 >= 0, d1 + s0 >= 0, d0 mod 4 == 0)>

func.func @for(%n: index, %m: index, %f: f32, %v: i32) {
  affine.for %i = 0 to 10 {
  }
  affine.for %i = -4 to -1 {
    affine.yield
  }
  affine.for %i = %n to %m step 3 {
  } {note}
  affine.for %i = max #map(%n, %m)[%n] to min affine_map<(d0)[s0] -> (d0, s0 ceildiv 4, 128)>(%n)[%m] step 4 {
  } {tag = "x"}
  affine.for %i = affine_map<(d0) -> (d0 + 1)>(%n) to affine_map<()[s0] -> (s0 * 2)>()[%m] {
    affine.for %j = affine_map<(d0) -> (d0)>(%i) to min affine_map<(d0) -> (d0 + 32, 100)>(%i) {
    }
  }
  %r:2 = affine.for %i = 0 to 10 iter_args(%x = %f, %y = %v) -> (f32, i32) {
    affine.yield %x, %y : f32, i32
  } {note}
  %one = affine.for %i = 0 to %n iter_args(%x = %f) -> f32 {
    affine.yield %x : f32
  }
  return
}

func.func @parallel(%n: index, %m: index, %f: f32, %v: i32, %s: si32, %u: ui32) {
  affine.parallel (%i, %j) = (0, 0) to (10, 20) {
  }
  affine.parallel (%i, %j) = (max(0, %n), %m + 1) to (min(%n + symbol(%m), 100), symbol(%n) * 2 - 1) step (2, 3) {
    affine.parallel (%k) = (%i) to (min(%i + 8, 100)) {
      affine.yield
    }
  } {mapping = "x"}
  affine.parallel () = () to () {
  }
  %p:2 = affine.parallel (%i) = (0) to (100) step (1) reduce ("addf", "muli") -> (f32, i32) {
    affine.yield %f, %v : f32, i32
  } {note}
  %q:6 = affine.parallel (%i) = (0) to (100) reduce ("mulf", "maximumf", "minimumf", "addi", "ori", "andi") -> (f32, f32, f32, i32, i32, i32) {
    affine.yield %f, %f, %f, %v, %v, %v : f32, f32, f32, i32, i32, i32
  }
  %r:5 = affine.parallel (%i) = (0) to (100) reduce ("maxs", "mins", "maxu", "minu", "assign") -> (si32, si32, ui32, ui32, index) {
    affine.yield %s, %s, %u, %u, %i : si32, si32, ui32, ui32, index
  }
  %t = affine.parallel (%i) = (0) to (100) reduce ("addf") -> f32 {
    affine.yield %f : f32
  }
  return
}

func.func @if(%n: index, %f: f32) {
  affine.for %i = 0 to 10 {
    affine.for %j = 0 to 10 {
      affine.if #set(%i, %j)[%n] {
        affine.yield
      } else {
      } {note}
      affine.if affine_set<() : (1 >= 0)>() {
      }
      affine.if affine_set<()[s0] : (s0 >= 8)>()[%n] {
      }
      %s = affine.if affine_set<(d0)[s0] : (-d0 + s0 - 3 >= 0, d0 <= 5, -(d0 + s0) == 4)>(%i)[%n] -> f32 {
        affine.yield %f : f32
      } else {
        affine.yield %f : f32
      }
    }
  }
  return
}

func.func @expressions(%n: index, %a: memref<?x?xf32>) {
  affine.for %i = 0 to 10 {
    affine.for %j = 0 to 10 {
      %0 = affine.load %a[%i, %j] : memref<?x?xf32>
      %1 = affine.load %a[%i + %j * 2 - symbol(%n) + 7, (%i + %j) floordiv 3 + %j mod 8 - %i ceildiv 2] {note} : memref<?x?xf32>
      %2 = affine.load %a[(%i - (%j - symbol(%n))) * 3, -(%i + 1) + 5] : memref<?x?xf32>
      %3 = affine.load %a[((%i mod 8) * 4) floordiv 2, (%i * 4) mod 6 floordiv 2] : memref<?x?xf32>
      %4 = affine.load %a[0, symbol(%n) + symbol(%n) * 2] : memref<?x?xf32>
      %5 = affine.load %a[%n, %n + %n] : memref<?x?xf32>
      %d:2 = affine.delinearize_index %i into (4, 8) : index, index
      %6 = affine.load %a[%d#1 + 1, %i] : memref<?x?xf32>
      affine.store %0, %a[-%i + 3, symbol(%n) - %j] : memref<?x?xf32>
    }
  }
  return
}

func.func @accesses(%n: index, %a: memref<?x?xf32>, %z: memref<f32>, %f: f32) {
  affine.for %i = 0 to 10 {
    %0 = affine.load %z[] : memref<f32>
    affine.store %f, %z[] {note} : memref<f32>
    %1 = affine.vector_load %a[%i, %n + 1] {note} : memref<?x?xf32>, vector<4xf32>
    affine.vector_store %1, %a[%i, symbol(%n)] : memref<?x?xf32>, vector<4xf32>
    affine.prefetch %a[%i, %i + 5], read, locality<3>, data : memref<?x?xf32>
    affine.prefetch %a[%i, %i], write, locality<0>, instr {note} : memref<?x?xf32>
  }
  return
}

func.func @maps(%n: index) {
  affine.for %i = 0 to 10 {
    %0 = affine.apply affine_map<(d0)[s0] -> (d0 * 3 - s0)>(%i)[%n] {note}
    %1 = affine.apply affine_map<()[s0] -> (s0 floordiv 2)>()[%n]
    %2 = affine.min #map(%i, %0)[%n] {note}
    %3 = affine.max affine_map<(d0) -> (d0, 4)>(%i)
    %4:3 = affine.delinearize_index %i into (%n, 4, 8) : index, index, index
    %5:3 = affine.delinearize_index %i into (4, 8) {note} : index, index, index
    %6 = affine.linearize_index [%i, %n] by (%n, 4) : index
    %7 = affine.linearize_index disjoint [%i, %i, %n] by (8, 4) {note} : index
  }
  return
}

func.func @dma(%a: memref<256xf32>, %b: memref<64xf32, 2>, %t: memref<1xi32>, %n: index, %s: index) {
  affine.for %i = 0 to 10 {
    affine.dma_start %a[%i + 7], %b[%n], %t[%n - 1], %n : memref<256xf32>, memref<64xf32, 2>, memref<1xi32>
    affine.dma_start %a[%i + symbol(%n)], %b[0], %t[0], %n, %s, %s : memref<256xf32>, memref<64xf32, 2>, memref<1xi32>
    affine.dma_wait %t[%i + 2], %n : memref<1xi32>
  }
  return
}

// Values that do not change within their scope are dimensions and symbols, whatever made them.
func.func @scopes(%a: memref<?xf32>, %h: memref<index>, %c: index) {
  %top = memref.load %h[] : memref<index>
  affine.for %i = 0 to %top {
    %size = memref.dim %a, %c : memref<?xf32>
    %sum = arith.addi %size, %top : index
    %0 = affine.load %a[symbol(%sum) + %size] : memref<?xf32>
    %k = arith.constant 3 : index
    affine.for %j = %k to %size {
    }
    %alloc = memref.alloc(%sum) : memref<?xf32>
    %zero = arith.constant 0 : index
    %inner = memref.dim %alloc, %zero : memref<?xf32>
    %1 = affine.load %alloc[symbol(%inner) - 1] : memref<?xf32>
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c, %gy = %c, %gz = %c) threads(%tx, %ty, %tz) in (%sx = %c, %sy = %c, %sz = %c) {
    %l = memref.load %h[] : memref<index>
    %0 = affine.load %a[%l + %bx + symbol(%tx) + symbol(%c)] : memref<?xf32>
    gpu.terminator
  }
  return
}

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @for(%n: index, %m: index, %f: f32, %v: i32) {
// CHECK-NEXT:     affine.for %i = 0 to 10 {
// CHECK-NEXT:     }
// CHECK-NEXT:     affine.for %i_1 = -4 to -1 {
// CHECK-NEXT:     }
// CHECK-NEXT:     affine.for %i_2 = %n to %m step 3 {
// CHECK-NEXT:     } {note}
// CHECK-NEXT:     affine.for %i_3 = max affine_map<(d0, d1)[s0] -> (((d0 + (d1 * 2)) + s0), 10)>(%n, %m)[%n] to min affine_map<(d0)[s0] -> (d0, (s0 ceildiv 4), 128)>(%n)[%m] step 4 {
// CHECK-NEXT:     } {tag = "x"}
// CHECK-NEXT:     affine.for %i_4 = affine_map<(d0) -> ((d0 + 1))>(%n) to affine_map<()[s0] -> ((s0 * 2))>()[%m] {
// CHECK-NEXT:       affine.for %j = affine_map<(d0) -> (d0)>(%i_4) to min affine_map<(d0) -> ((d0 + 32), 100)>(%i_4) {
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     %r, %r_1 = affine.for %i_5 = 0 to 10 iter_args(%x = %f, %y = %v) -> (f32, i32) {
// CHECK-NEXT:       affine.yield %x, %y : f32, i32
// CHECK-NEXT:     } {note}
// CHECK-NEXT:     %one = affine.for %i_6 = 0 to %n iter_args(%x_1 = %f) -> (f32) {
// CHECK-NEXT:       affine.yield %x_1 : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @parallel(%n: index, %m: index, %f: f32, %v: i32, %s: si32, %u: ui32) {
// CHECK-NEXT:     affine.parallel (%i, %j) = (0, 0) to (10, 20) {
// CHECK-NEXT:     }
// CHECK-NEXT:     affine.parallel (%i_1, %j_1) = (max(0, %n), %m + 1) to (min(%n + symbol(%m), 100), symbol(%n) * 2 - 1) step (2, 3) {
// CHECK-NEXT:       affine.parallel (%k) = (%i_1) to (min(%i_1 + 8, 100)) {
// CHECK-NEXT:       }
// CHECK-NEXT:     } {mapping = "x"}
// CHECK-NEXT:     affine.parallel () = () to () {
// CHECK-NEXT:     }
// CHECK-NEXT:     %p, %p_1 = affine.parallel (%i_2) = (0) to (100) reduce ("addf", "muli") -> (f32, i32) {
// CHECK-NEXT:       affine.yield %f, %v : f32, i32
// CHECK-NEXT:     } {note}
// CHECK-NEXT:     %q, %q_1, %q_2, %q_3, %q_4, %q_5 = affine.parallel (%i_3) = (0) to (100) reduce ("mulf", "maximumf", "minimumf", "addi", "ori", "andi") -> (f32, f32, f32, i32, i32, i32) {
// CHECK-NEXT:       affine.yield %f, %f, %f, %v, %v, %v : f32, f32, f32, i32, i32, i32
// CHECK-NEXT:     }
// CHECK-NEXT:     %r, %r_1, %r_2, %r_3, %r_4 = affine.parallel (%i_4) = (0) to (100) reduce ("maxs", "mins", "maxu", "minu", "assign") -> (si32, si32, ui32, ui32, index) {
// CHECK-NEXT:       affine.yield %s, %s, %u, %u, %i_4 : si32, si32, ui32, ui32, index
// CHECK-NEXT:     }
// CHECK-NEXT:     %t = affine.parallel (%i_5) = (0) to (100) reduce ("addf") -> (f32) {
// CHECK-NEXT:       affine.yield %f : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @if(%n: index, %f: f32) {
// CHECK-NEXT:     affine.for %i = 0 to 10 {
// CHECK-NEXT:       affine.for %j = 0 to 10 {
// CHECK-NEXT:         affine.if affine_set<(d0, d1)[s0] : ((d0 + -10) >= 0, (d1 + s0) >= 0, (d0 mod 4) == 0)>(%i, %j)[%n] {
// CHECK-NEXT:         } else {
// CHECK-NEXT:         } {note}
// CHECK-NEXT:         affine.if affine_set<() : (1 >= 0)>() {
// CHECK-NEXT:         }
// CHECK-NEXT:         affine.if affine_set<()[s0] : ((s0 + -8) >= 0)>()[%n] {
// CHECK-NEXT:         }
// CHECK-NEXT:         %s = affine.if affine_set<(d0)[s0] : ((((d0 * -1) + s0) + -3) >= 0, ((d0 * -1) + 5) >= 0, (((d0 + s0) * -1) + -4) == 0)>(%i)[%n] -> (f32) {
// CHECK-NEXT:           affine.yield %f : f32
// CHECK-NEXT:         } else {
// CHECK-NEXT:           affine.yield %f : f32
// CHECK-NEXT:         }
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @expressions(%n: index, %a: memref<?x?xf32>) {
// CHECK-NEXT:     affine.for %i = 0 to 10 {
// CHECK-NEXT:       affine.for %j = 0 to 10 {
// CHECK-NEXT:         %0 = affine.load %a[%i, %j] : memref<?x?xf32>
// CHECK-NEXT:         %1 = affine.load %a[%i + %j * 2 - symbol(%n) + 7, (%i + %j) floordiv 3 + %j mod 8 - %i ceildiv 2] {note} : memref<?x?xf32>
// CHECK-NEXT:         %2 = affine.load %a[(%i - (%j - symbol(%n))) * 3, -(%i + 1) + 5] : memref<?x?xf32>
// CHECK-NEXT:         %3 = affine.load %a[%i mod 8 * 4 floordiv 2, %i * 4 mod 6 floordiv 2] : memref<?x?xf32>
// CHECK-NEXT:         %4 = affine.load %a[0, symbol(%n) + symbol(%n) * 2] : memref<?x?xf32>
// CHECK-NEXT:         %5 = affine.load %a[%n, %n + %n] : memref<?x?xf32>
// CHECK-NEXT:         %d, %d_1 = affine.delinearize_index %i into (4, 8) : index, index
// CHECK-NEXT:         %6 = affine.load %a[%d_1 + 1, %i] : memref<?x?xf32>
// CHECK-NEXT:         affine.store %0, %a[-%i + 3, symbol(%n) - %j] : memref<?x?xf32>
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @accesses(%n: index, %a: memref<?x?xf32>, %z: memref<f32>, %f: f32) {
// CHECK-NEXT:     affine.for %i = 0 to 10 {
// CHECK-NEXT:       %0 = affine.load %z[] : memref<f32>
// CHECK-NEXT:       affine.store %f, %z[] {note} : memref<f32>
// CHECK-NEXT:       %1 = affine.vector_load %a[%i, %n + 1] {note} : memref<?x?xf32>, vector<4xf32>
// CHECK-NEXT:       affine.vector_store %1, %a[%i, symbol(%n)] : memref<?x?xf32>, vector<4xf32>
// CHECK-NEXT:       affine.prefetch %a[%i, %i + 5], read, locality<3>, data : memref<?x?xf32>
// CHECK-NEXT:       affine.prefetch %a[%i, %i], write, locality<0>, instr {note} : memref<?x?xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @maps(%n: index) {
// CHECK-NEXT:     affine.for %i = 0 to 10 {
// CHECK-NEXT:       %0 = affine.apply affine_map<(d0)[s0] -> (((d0 * 3) + (s0 * -1)))>(%i)[%n] {note}
// CHECK-NEXT:       %1 = affine.apply affine_map<()[s0] -> ((s0 floordiv 2))>()[%n]
// CHECK-NEXT:       %2 = affine.min affine_map<(d0, d1)[s0] -> (((d0 + (d1 * 2)) + s0), 10)>(%i, %0)[%n] {note}
// CHECK-NEXT:       %3 = affine.max affine_map<(d0) -> (d0, 4)>(%i)
// CHECK-NEXT:       %4, %5, %6 = affine.delinearize_index %i into (%n, 4, 8) : index, index, index
// CHECK-NEXT:       %7, %8, %9 = affine.delinearize_index %i into (4, 8) {note} : index, index, index
// CHECK-NEXT:       %10 = affine.linearize_index [%i, %n] by (%n, 4) : index
// CHECK-NEXT:       %11 = affine.linearize_index disjoint [%i, %i, %n] by (8, 4) {note} : index
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @dma(%a: memref<256xf32>, %b: memref<64xf32, 2 : i64>, %t: memref<1xi32>, %n: index, %s: index) {
// CHECK-NEXT:     affine.for %i = 0 to 10 {
// CHECK-NEXT:       affine.dma_start %a[%i + 7], %b[%n], %t[%n - 1], %n : memref<256xf32>, memref<64xf32, 2 : i64>, memref<1xi32>
// CHECK-NEXT:       affine.dma_start %a[%i + symbol(%n)], %b[0], %t[0], %n, %s, %s : memref<256xf32>, memref<64xf32, 2 : i64>, memref<1xi32>
// CHECK-NEXT:       affine.dma_wait %t[%i + 2], %n : memref<1xi32>
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @scopes(%a: memref<?xf32>, %h: memref<index>, %c: index) {
// CHECK-NEXT:     %top = memref.load %h[] : memref<index>
// CHECK-NEXT:     affine.for %i = 0 to %top {
// CHECK-NEXT:       %size = memref.dim %a, %c : memref<?xf32>
// CHECK-NEXT:       %sum = arith.addi %size, %top : index
// CHECK-NEXT:       %0 = affine.load %a[symbol(%sum) + %size] : memref<?xf32>
// CHECK-NEXT:       %k = arith.constant 3 : index
// CHECK-NEXT:       affine.for %j = %k to %size {
// CHECK-NEXT:       }
// CHECK-NEXT:       %alloc = memref.alloc(%sum) : memref<?xf32>
// CHECK-NEXT:       %zero = arith.constant 0 : index
// CHECK-NEXT:       %inner = memref.dim %alloc, %zero : memref<?xf32>
// CHECK-NEXT:       %1 = affine.load %alloc[symbol(%inner) - 1] : memref<?xf32>
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.launch blocks(%bx, %by, %bz) in (%gx = %c, %gy = %c, %gz = %c) threads(%tx, %ty, %tz) in (%sx = %c, %sy = %c, %sz = %c) {
// CHECK-NEXT:       %l = memref.load %h[] : memref<index>
// CHECK-NEXT:       %2 = affine.load %a[%l + %bx + symbol(%tx) + symbol(%c)] : memref<?xf32>
// CHECK-NEXT:       gpu.terminator
// CHECK-NEXT:     }
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT: }
