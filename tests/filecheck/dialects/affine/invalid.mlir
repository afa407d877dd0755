// RUN: opar-opt --verify-diagnostics --split-input-file %s | filecheck %s

// CHECK: 'max' needs at least one expression
func.func @f(%n: index) {
  affine.parallel (%i) = (max()) to (5) {
  }
  return
}

// -----

// Accepted by the parser of MLIR, which then crashed (LLVM#59929).
// CHECK: 'affine.parallel': a dimension has no upper bound
func.func @f() {
  "affine.parallel"() <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0)>, reductions = [], steps = [1], upperBoundsGroups = dense<0> : tensor<1xi32>, upperBoundsMap = affine_map<() -> ()>}> ({
  ^bb0(%i: index):
    "affine.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

// CHECK: expected bounds for 2 loops, got 1
func.func @f() {
  affine.parallel (%i, %j) = (0, 0) to (5) {
  }
  return
}

// -----

// CHECK: expected 2 steps, got 1
func.func @f() {
  affine.parallel (%i, %j) = (0, 0) to (5, 5) step (1) {
  }
  return
}

// -----

// CHECK: 'affine.parallel': the steps must be positive
func.func @f() {
  affine.parallel (%i) = (0) to (5) step (0) {
  }
  return
}

// -----

// CHECK: 'affine.parallel': the steps must be positive
func.func @f() {
  affine.parallel (%i) = (0) to (5) step (-1) {
  }
  return
}

// -----

// CHECK: 'affine.parallel': expected a group of lower bounds for each dimension
func.func @f() {
  "affine.parallel"() <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0)>, reductions = [], steps = [1, 1], upperBoundsGroups = dense<1> : tensor<2xi32>, upperBoundsMap = affine_map<() -> (5, 5)>}> ({
  ^bb0(%i: index, %j: index):
    "affine.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

// CHECK: 'affine.parallel': the groups do not add up to the lower bounds
func.func @f() {
  "affine.parallel"() <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0, 1)>, reductions = [], steps = [1], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = affine_map<() -> (5)>}> ({
  ^bb0(%i: index):
    "affine.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

// CHECK: 'affine.parallel': the body must take 1 loop variables of type index
func.func @f() {
  "affine.parallel"() <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0)>, reductions = [], steps = [1], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = affine_map<() -> (5)>}> ({
  ^bb0(%i: index, %j: index):
    "affine.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

// CHECK: 'affine.parallel': the bounds take 0 operands, got 1
func.func @f(%n: index) {
  "affine.parallel"(%n) <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0)>, reductions = [], steps = [1], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = affine_map<() -> (5)>}> ({
  ^bb0(%i: index):
    "affine.yield"() : () -> ()
  }) : (index) -> ()
  return
}

// -----

// CHECK: 'affine.parallel': expected a reduction for each result
func.func @f(%v: f32) {
  %r = "affine.parallel"() <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0)>, reductions = [], steps = [1], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = affine_map<() -> (5)>}> ({
  ^bb0(%i: index):
    "affine.yield"(%v) : (f32) -> ()
  }) : () -> f32
  return
}

// -----

// CHECK: unknown reduction 'addx'; expected one of addf, addi, andi, assign, maximumf, maxnumf, maxs, maxu, minimumf, minnumf, mins, minu, mulf, muli, ori, xori
func.func @f(%v: f32) {
  %r = affine.parallel (%i) = (0) to (5) reduce ("addx") -> f32 {
    affine.yield %v : f32
  }
  return
}

// -----

// CHECK: 'affine.parallel': a reduction 'addi' cannot have a result of type f32
func.func @f(%v: f32) {
  %r = affine.parallel (%i) = (0) to (5) reduce ("addi") -> f32 {
    affine.yield %v : f32
  }
  return
}

// -----

// As in MLIR, the signed kinds take signed integers only.
// CHECK: 'affine.parallel': a reduction 'maxs' cannot have a result of type i32
func.func @f(%v: i32) {
  %r = affine.parallel (%i) = (0) to (5) reduce ("maxs") -> i32 {
    affine.yield %v : i32
  }
  return
}

// -----

// CHECK: 'affine.parallel': loops cannot reduce by 'maxnumf'
func.func @f(%v: f32) {
  %r = affine.parallel (%i) = (0) to (5) reduce ("maxnumf") -> f32 {
    affine.yield %v : f32
  }
  return
}

// -----

// CHECK: 'affine.parallel': 99 is not a kind of reduction
func.func @f(%v: f32) {
  %r = "affine.parallel"() <{lowerBoundsGroups = dense<1> : tensor<1xi32>, lowerBoundsMap = affine_map<() -> (0)>, reductions = [99], steps = [1], upperBoundsGroups = dense<1> : tensor<1xi32>, upperBoundsMap = affine_map<() -> (5)>}> ({
  ^bb0(%i: index):
    "affine.yield"(%v) : (f32) -> ()
  }) : () -> f32
  return
}

// -----

// CHECK: 'affine.parallel': the region must end in affine.yield
func.func @f(%v: f32) {
  %r = affine.parallel (%i) = (0) to (5) reduce ("addf") -> f32 {
  }
  return
}

// -----

// CHECK: 'affine.parallel': the types of the yielded values and of the results differ
func.func @f(%v: i32) {
  %r = affine.parallel (%i) = (0) to (5) reduce ("addf") -> f32 {
    affine.yield %v : i32
  }
  return
}

// -----

// CHECK: 'affine.parallel': operand %x cannot be used as a dimension id: it must be a variable of an affine loop, an affine.apply of such, or a valid symbol
func.func @f(%m: memref<index>) {
  affine.for %i = 0 to 10 {
    %x = memref.load %m[] : memref<index>
    affine.parallel (%j) = (0) to (%x) {
    }
  }
  return
}

// -----

// CHECK: 'affine.parallel': operand %i cannot be used as a symbol: it must be constant, come from the top of the function, or be computed from such without effects
func.func @f() {
  affine.for %i = 0 to 10 {
    affine.parallel (%j) = (symbol(%i)) to (10) {
    }
  }
  return
}

// -----

// CHECK: the step must be positive
func.func @f() {
  affine.for %i = 0 to 10 step 0 {
  }
  return
}

// -----

// CHECK: 'affine.for': the step must be positive
func.func @f() {
  "affine.for"() <{lowerBoundMap = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 0, 0, 0>, step = -1 : index, upperBoundMap = affine_map<() -> (5)>}> ({
  ^bb0(%i: index):
    "affine.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

// CHECK: a bound with several results needs 'min' before it
func.func @f(%n: index) {
  affine.for %i = 0 to affine_map<(d0) -> (d0, 8)>(%n) {
  }
  return
}

// -----

// CHECK: the map takes 1 dimensions and 0 symbols, got 2 and 0
func.func @f(%n: index) {
  affine.for %i = 0 to affine_map<(d0) -> (d0)>(%n, %n) {
  }
  return
}

// -----

// CHECK: expected an affine map
func.func @f(%n: index) {
  affine.for %i = 0 to affine_set<(d0) : (d0 >= 0)>(%n) {
  }
  return
}

// -----

// CHECK: 'affine.for': the map of the lower bound must have a result
func.func @f() {
  affine.for %i = affine_map<() -> ()>() to 5 {
  }
  return
}

// -----

// CHECK: 'affine.for': the map of the lower bound takes 0 operands, got 1
func.func @f(%n: index) {
  "affine.for"(%n) <{lowerBoundMap = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 1, 0, 0>, step = 1 : index, upperBoundMap = affine_map<() -> (5)>}> ({
  ^bb0(%i: index):
    "affine.yield"() : () -> ()
  }) : (index) -> ()
  return
}

// -----

// CHECK: 'affine.for': the types of the initial values and of the results differ
func.func @f(%v: f32) {
  %r = "affine.for"(%v) <{lowerBoundMap = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = affine_map<() -> (5)>}> ({
  ^bb0(%i: index, %x: f32):
    "affine.yield"(%x) : (f32) -> ()
  }) : (f32) -> i32
  return
}

// -----

// CHECK: 'affine.for': the body must take the loop variable and the iteration values
func.func @f(%v: f32) {
  %r = "affine.for"(%v) <{lowerBoundMap = affine_map<() -> (0)>, operandSegmentSizes = array<i32: 0, 0, 1>, step = 1 : index, upperBoundMap = affine_map<() -> (5)>}> ({
  ^bb0(%i: index):
    "affine.yield"(%v) : (f32) -> ()
  }) : (f32) -> f32
  return
}

// -----

// CHECK: 'affine.for': operand %i cannot be used as a symbol: it must be constant, come from the top of the function, or be computed from such without effects
func.func @f() {
  affine.for %i = 0 to 10 {
    affine.for %j = 0 to %i {
    }
  }
  return
}

// -----

// CHECK: the operands do not match the dimensions and symbols
func.func @f(%n: index) {
  affine.if affine_set<(d0, d1) : (d0 + d1 >= 0)>(%n) {
  }
  return
}

// -----

// CHECK: expected an affine set
func.func @f(%n: index) {
  affine.if affine_map<(d0) -> (d0)>(%n) {
  }
  return
}

// -----

// CHECK: 'affine.if': the set takes 0 operands, got 1
func.func @f(%n: index) {
  "affine.if"(%n) <{condition = affine_set<() : (1 >= 0)>}> ({
    "affine.yield"() : () -> ()
  }, {
  }) : (index) -> ()
  return
}

// -----

// CHECK: 'affine.if': an operation with results needs an else region
func.func @f(%n: index, %v: f32) {
  %r = affine.if affine_set<(d0) : (d0 >= 0)>(%n) -> f32 {
    affine.yield %v : f32
  }
  return
}

// -----

// CHECK: 'affine.if': operand %i cannot be used as a symbol: it must be constant, come from the top of the function, or be computed from such without effects
func.func @f() {
  affine.for %i = 0 to 10 {
    affine.if affine_set<()[s0] : (s0 >= 0)>()[%i] {
    }
  }
  return
}

// -----

// CHECK: expected '>=', '<=' or '=='
func.func @f(%n: index) {
  affine.if affine_set<(d0) : (d0 > 0)>(%n) {
  }
  return
}

// -----

// CHECK: 'affine.apply': the map must have one result
func.func @f(%n: index) {
  %0 = affine.apply affine_map<(d0) -> (d0, d0)>(%n)
  return
}

// -----

// CHECK: 'affine.apply': the map takes 0 operands, got 1
func.func @f(%n: index) {
  %0 = "affine.apply"(%n) <{map = affine_map<() -> (0)>}> : (index) -> index
  return
}

// -----

// CHECK: 'affine.apply': a loop variable cannot be used as a symbol
func.func @f() {
  affine.for %i = 0 to 10 {
    %0 = affine.apply affine_map<()[s0] -> (s0)>()[%i]
  }
  return
}

// -----

// CHECK: 'affine.min': the map must have at least one result
func.func @f() {
  %0 = affine.min affine_map<() -> ()>()
  return
}

// -----

// CHECK: 'affine.max': the map must have at least one result
func.func @f() {
  %0 = affine.max affine_map<() -> ()>()
  return
}

// -----

// CHECK: 'affine.max': the map takes 0 operands, got 1
func.func @f(%n: index) {
  %0 = "affine.max"(%n) <{map = affine_map<() -> (0)>}> : (index) -> index
  return
}

// -----

// CHECK: 'affine.load': the map has 1 results, the memref 2 dimensions
func.func @f(%n: index, %m: memref<4x4xf32>) {
  %0 = affine.load %m[%n] : memref<4x4xf32>
  return
}

// -----

// CHECK: 'affine.load': the map takes 1 operands, got 2
func.func @f(%n: index, %m: memref<4xf32>) {
  %0 = "affine.load"(%m, %n, %n) <{map = affine_map<(d0) -> (d0)>}> : (memref<4xf32>, index, index) -> f32
  return
}

// -----

// CHECK: 'affine.load': the result must have the element type of the memref
func.func @f(%n: index, %m: memref<4xf32>) {
  %0 = "affine.load"(%m, %n) <{map = affine_map<(d0) -> (d0)>}> : (memref<4xf32>, index) -> f64
  return
}

// -----

// CHECK: expected a memref type
func.func @f(%n: index, %m: f32) {
  %0 = affine.load %m[%n] : f32
  return
}

// -----

// CHECK: 'affine.store': the value must have the element type of the memref
func.func @f(%n: index, %m: memref<4xf32>, %v: f64) {
  "affine.store"(%v, %m, %n) <{map = affine_map<(d0) -> (d0)>}> : (f64, memref<4xf32>, index) -> ()
  return
}

// -----

// The sum of a loop variable and something else is not a dimension; affine.apply makes one.
// CHECK: 'affine.load': operand %sum cannot be used as a dimension id: it must be a variable of an affine loop, an affine.apply of such, or a valid symbol
func.func @f(%n: index, %m: memref<4xf32>) {
  affine.for %i = 0 to 4 {
    %sum = arith.addi %i, %n : index
    %0 = affine.load %m[%sum] : memref<4xf32>
  }
  return
}

// -----

// CHECK: 'affine.load': operand %i cannot be used as a dimension id: it must be a variable of an affine loop, an affine.apply of such, or a valid symbol
func.func @f(%n: index, %m: memref<4xf32>) {
  scf.for %i = %n to %n step %n {
    %0 = affine.load %m[%i] : memref<4xf32>
  }
  return
}

// -----

// CHECK: 'affine.load': operand %i cannot be used as a symbol: it must be constant, come from the top of the function, or be computed from such without effects
func.func @f(%m: memref<4xf32>) {
  affine.for %i = 0 to 4 {
    %0 = affine.load %m[symbol(%i)] : memref<4xf32>
  }
  return
}

// -----

// CHECK: one factor of a product must be a constant; this is not affine
func.func @f(%n: index, %m: memref<4xf32>) {
  %0 = affine.load %m[%n * %n] : memref<4xf32>
  return
}

// -----

// CHECK: the right side of 'mod' must be a positive constant
func.func @f(%n: index, %m: memref<4xf32>) {
  %0 = affine.load %m[%n mod symbol(%n)] : memref<4xf32>
  return
}

// -----

// CHECK: the right side of 'floordiv' must be a positive constant
func.func @f(%n: index, %m: memref<4xf32>) {
  %0 = affine.load %m[%n floordiv 0] : memref<4xf32>
  return
}

// -----

// CHECK: one factor of a product must be a constant; this is not affine
func.func @f(%n: index) {
  %0 = affine.apply affine_map<(d0)[s0] -> (d0 * s0)>(%n)[%n]
  return
}

// -----

// CHECK: a dimension or symbol is declared twice
func.func @f(%n: index) {
  %0 = affine.apply affine_map<(d0, d0) -> (d0)>(%n, %n)
  return
}

// -----

// CHECK: expected a vector type
func.func @f(%n: index, %m: memref<8xf32>) {
  %0 = affine.vector_load %m[%n] : memref<8xf32>, f32
  return
}

// -----

// CHECK: 'affine.vector_load': the memref and the vector must have the same element type
func.func @f(%n: index, %m: memref<8xf32>) {
  %0 = affine.vector_load %m[%n] : memref<8xf32>, vector<4xf64>
  return
}

// -----

// CHECK: 'affine.vector_store': the memref and the vector must have the same element type
func.func @f(%n: index, %m: memref<8xf32>, %v: vector<4xf64>) {
  affine.vector_store %v, %m[%n] : memref<8xf32>, vector<4xf64>
  return
}

// -----

// CHECK: 'affine.prefetch': the locality hint must be 0, 1, 2 or 3
func.func @f(%n: index, %m: memref<8xf32>) {
  affine.prefetch %m[%n], read, locality<4>, data : memref<8xf32>
  return
}

// -----

// CHECK: expected 'write' or 'read'
func.func @f(%n: index, %m: memref<8xf32>) {
  affine.prefetch %m[%n], execute, locality<3>, data : memref<8xf32>
  return
}

// -----

// CHECK: 'affine.delinearize_index': the basis must have 3 or 2 elements, got 1
func.func @f(%n: index) {
  %0:3 = affine.delinearize_index %n into (4) : index, index, index
  return
}

// -----

// CHECK: 'affine.delinearize_index': the elements of the basis must be positive
func.func @f(%n: index) {
  %0:2 = affine.delinearize_index %n into (4, 0) : index, index
  return
}

// -----

// CHECK: expected results of type index
func.func @f(%n: index) {
  %0:2 = affine.delinearize_index %n into (4, 4) : index, i32
  return
}

// -----

// CHECK: 'affine.delinearize_index': expected an operand for each dynamic element of the basis
func.func @f(%n: index) {
  %0:2 = "affine.delinearize_index"(%n) <{static_basis = array<i64: -9223372036854775808, 4>}> : (index) -> (index, index)
  return
}

// -----

// CHECK: 'affine.delinearize_index': expected at least one result
func.func @f(%n: index) {
  "affine.delinearize_index"(%n) <{static_basis = array<i64>}> : (index) -> ()
  return
}

// -----

// CHECK: 'affine.linearize_index': the basis must have 2 or 1 elements, got 3
func.func @f(%n: index) {
  %0 = affine.linearize_index [%n, %n] by (2, 3, 4) : index
  return
}

// -----

// CHECK: 'affine.dma_start': the elements of the tag must be integers
func.func @f(%n: index, %a: memref<8xf32>, %t: memref<1xf32>) {
  affine.dma_start %a[%n], %a[%n], %t[0], %n : memref<8xf32>, memref<8xf32>, memref<1xf32>
  return
}

// -----

// CHECK: 'affine.dma_start': the map of the source must have a result for each dimension
func.func @f(%n: index, %a: memref<8xf32>, %t: memref<1xi32>) {
  affine.dma_start %a[%n, %n], %a[%n], %t[0], %n : memref<8xf32>, memref<8xf32>, memref<1xi32>
  return
}

// -----

// CHECK: 'affine.dma_start': expected the number of elements, or that, a stride and the elements per stride
func.func @f(%n: index, %a: memref<8xf32>, %t: memref<1xi32>) {
  affine.dma_start %a[%n], %a[%n], %t[0], %n, %n : memref<8xf32>, memref<8xf32>, memref<1xi32>
  return
}

// -----

// CHECK: expected the types of source, destination and tag
func.func @f(%n: index, %a: memref<8xf32>, %t: memref<1xi32>) {
  affine.dma_start %a[%n], %a[%n], %t[0], %n : memref<8xf32>, memref<8xf32>
  return
}

// -----

// CHECK: 'affine.dma_wait': the tag must be a memref
func.func @f(%n: index, %t: f32) {
  affine.dma_wait %t[0], %n : f32
  return
}

// -----

// CHECK: 'affine.dma_wait': expected the number of elements
func.func @f(%n: index, %t: memref<1xi32>) {
  "affine.dma_wait"(%t, %n) {tag_map = affine_map<() -> (0)>} : (memref<1xi32>, index) -> ()
  "affine.dma_wait"(%t, %n, %n) {tag_map = affine_map<() -> (0)>} : (memref<1xi32>, index, index) -> ()
  return
}

// -----

// CHECK: 'affine.dma_wait': too few operands for the maps
func.func @f(%n: index, %t: memref<1xi32>) {
  "affine.dma_wait"(%t) {tag_map = affine_map<(d0) -> (d0)>} : (memref<1xi32>) -> ()
  return
}

// -----

// CHECK: 'affine.for' uses a value that its own region defines
func.func @f() {
  affine.for %i = 0 to %i {
  }
  return
}

// -----

// CHECK: 'affine.for': Region 'body' at position 0 expected a single block, but got 2 blocks
func.func @f() {
  affine.for %i = 0 to 4 {
    cf.br ^bb1
  ^bb1:
    affine.yield
  }
  return
}
