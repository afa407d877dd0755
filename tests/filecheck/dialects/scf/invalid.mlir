// RUN: opar-opt --verify-diagnostics --split-input-file %s | filecheck %s

// CHECK: 'scf.for': the region must end in scf.yield
func.func @f(%n: index, %v: f32) {
  %r = scf.for %i = %n to %n step %n iter_args(%x = %v) -> (f32) {
  }
  return
}

// -----

// CHECK: 'scf.for': the types of the yielded values and of the results differ
func.func @f(%n: index, %v: f32) {
  %r = scf.for %i = %n to %n step %n iter_args(%x = %v) -> (f32) {
    scf.yield %n : index
  }
  return
}

// -----

// CHECK: 'scf.for': the arguments of the body must have the types (index, f32)
func.func @f(%n: index, %v: f32) {
  %r = "scf.for"(%n, %n, %n, %v) ({
  ^bb0(%i: index):
    "scf.yield"(%v) : (f32) -> ()
  }) : (index, index, index, f32) -> f32
  return
}

// -----

// CHECK: 'scf.for': the types of the initial values and of the results differ
func.func @f(%n: index, %v: f32) {
  %r = "scf.for"(%n, %n, %n, %v) ({
  ^bb0(%i: index, %x: f32):
    "scf.yield"(%v) : (f32) -> ()
  }) : (index, index, index, f32) -> i32
  return
}

// -----

// CHECK: 'scf.if': an operation with results needs an else region
func.func @f(%c: i1, %v: f32) {
  %r = scf.if %c -> f32 {
    scf.yield %v : f32
  }
  return
}

// -----

// CHECK: 'scf.if': the else region must have one block
func.func @f(%c: i1) {
  "scf.if"(%c) ({
    "scf.yield"() : () -> ()
  }, {
    "cf.br"()[^bb1] : () -> ()
  ^bb1:
    "scf.yield"() : () -> ()
  }) : (i1) -> ()
  return
}

// -----

// CHECK: 'scf.execute_region': the region must have a block
func.func @f() {
  "scf.execute_region"() ({
  }) : () -> ()
  return
}

// -----

// CHECK: 'scf.execute_region': the region must take no values
func.func @f() {
  "scf.execute_region"() ({
  ^bb0(%x: index):
    "scf.yield"() : () -> ()
  }) : () -> ()
  return
}

// -----

// CHECK: 'scf.execute_region': the yielded values must have the types (i32)
func.func @f(%v: f32) {
  %r = scf.execute_region -> i32 {
    scf.yield %v : f32
  }
  return
}

// -----

// CHECK: 'scf.index_switch': a case is there twice
func.func @f(%n: index) {
  scf.index_switch %n case 2 {
  } case 2 {
  } default {
  }
  return
}

// -----

// CHECK: 'scf.index_switch': 2 cases, but 1 regions
func.func @f(%n: index) {
  "scf.index_switch"(%n) <{cases = array<i64: 1, 2>}> ({
    "scf.yield"() : () -> ()
  }, {
    "scf.yield"() : () -> ()
  }) : (index) -> ()
  return
}

// -----

// CHECK: 'scf.index_switch': the types of the yielded values and of the results differ
func.func @f(%n: index, %v: f32) {
  %r = scf.index_switch %n -> f32 case 2 {
    scf.yield %n : index
  } default {
    scf.yield %v : f32
  }
  return
}

// -----

// CHECK: 'scf.while': the first region must end in scf.condition
func.func @f(%c: i1, %v: f32) {
  scf.while : () -> () {
    scf.yield
  } do {
    scf.yield
  }
  return
}

// -----

// CHECK: 'scf.while': the values of scf.condition must have the types (f32)
func.func @f(%c: i1, %v: f32) {
  %r = scf.while : () -> f32 {
    scf.condition(%c)
  } do {
  ^bb0(%x: f32):
    scf.yield
  }
  return
}

// -----

// CHECK: 'scf.while': the arguments of the second region must have the types (f32)
func.func @f(%c: i1, %v: f32) {
  %r = scf.while : () -> f32 {
    scf.condition(%c) %v : f32
  } do {
    scf.yield
  }
  return
}

// -----

// CHECK: 'scf.while': the arguments of the first region must have the types (f32)
func.func @f(%c: i1, %v: f32) {
  "scf.while"(%v) ({
    "scf.condition"(%c) : (i1) -> ()
  }, {
    "scf.yield"(%v) : (f32) -> ()
  }) : (f32) -> ()
  return
}

// -----

// CHECK: 'scf.condition': must be within scf.while
func.func @f(%c: i1) {
  scf.condition(%c)
}

// -----

// CHECK: 'scf.yield': must be within scf.execute_region or scf.for or scf.if or scf.index_switch or scf.while
func.func @f() {
  scf.yield
}

// -----

// CHECK: 'scf.parallel': expected as many upper bounds and steps as lower bounds
func.func @f(%n: index) {
  scf.parallel (%i, %j) = (%n, %n) to (%n) step (%n, %n) {
  }
  return
}

// -----

// CHECK: 'scf.parallel': expected at least one loop
func.func @f(%n: index) {
  scf.parallel () = () to () step () {
  }
  return
}

// -----

// CHECK: 'scf.parallel': the arguments of the body must have the types (index)
func.func @f(%n: index) {
  scf.parallel (%i, %j) = (%n) to (%n) step (%n) {
  }
  return
}

// -----

// CHECK: 'scf.parallel': the body must end in scf.reduce
func.func @f(%n: index, %v: f32) {
  %r = scf.parallel (%i) = (%n) to (%n) step (%n) init (%v) -> f32 {
  }
  return
}

// -----

// CHECK: 'scf.parallel': the reduced values must have the types (f32)
func.func @f(%n: index, %v: f32) {
  %r = scf.parallel (%i) = (%n) to (%n) step (%n) init (%v) -> f32 {
    scf.reduce
  }
  return
}

// -----

// CHECK: 'scf.parallel': the types of the initial values and of the results differ
func.func @f(%n: index, %v: f32) {
  %r = "scf.parallel"(%n, %n, %n, %v) <{operandSegmentSizes = array<i32: 1, 1, 1, 1>}> ({
  ^bb0(%i: index):
    scf.reduce
  }) : (index, index, index, f32) -> f64
  return
}

// -----

// CHECK: 'scf.reduce': expected a region for each value
func.func @f(%n: index, %v: f32) {
  %r = scf.parallel (%i) = (%n) to (%n) step (%n) init (%v) -> f32 {
    "scf.reduce"(%v) : (f32) -> ()
  }
  return
}

// -----

// CHECK: 'scf.reduce': the arguments of a reduction must have the types (f32, f32)
func.func @f(%n: index, %v: f32) {
  %r = scf.parallel (%i) = (%n) to (%n) step (%n) init (%v) -> f32 {
    scf.reduce(%v : f32) {
    ^bb0(%x: f32):
      scf.reduce.return %x : f32
    }
  }
  return
}

// -----

// CHECK: 'scf.reduce': a reduction must end in scf.reduce.return of its type
func.func @f(%n: index, %v: f32) {
  %r = scf.parallel (%i) = (%n) to (%n) step (%n) init (%v) -> f32 {
    scf.reduce(%v : f32) {
    ^bb0(%x: f32, %y: f32):
      scf.reduce.return %n : index
    }
  }
  return
}

// -----

// CHECK: 'scf.forall': the arguments of the body must have the types (index)
func.func @f(%n: index) {
  scf.forall (%i, %j) in (4) {
  }
  return
}

// -----

// CHECK: 'scf.forall': expected as many lower bounds and steps as upper bounds
func.func @f(%n: index) {
  scf.forall (%i) = (0, 0) to (4) step (1) {
  }
  return
}

// -----

// CHECK: 'scf.forall': the steps must be positive
func.func @f(%n: index) {
  scf.forall (%i) = (0) to (4) step (0) {
  }
  return
}

// -----

// CHECK: 'scf.forall': the mapping must have an entry for each loop
func.func @f(%n: index) {
  scf.forall (%i) in (4) {
  } {mapping = [#gpu.thread<x>, #gpu.thread<y>]}
  return
}

// -----

// CHECK: 'scf.forall': expected an operand for each dynamic bound
func.func @f(%n: index) {
  "scf.forall"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: -9223372036854775808>}> ({
  ^bb0(%i: index):
    "scf.forall.in_parallel"() ({
    ^bb0:
    }) : () -> ()
  }) : () -> ()
  return
}

// -----

// CHECK: 'scf.forall': the types of the outputs and of the results differ
func.func @f(%t: tensor<8xf32>) {
  %r = "scf.forall"(%t) <{operandSegmentSizes = array<i32: 0, 0, 0, 1>, staticLowerBound = array<i64: 0>, staticStep = array<i64: 1>, staticUpperBound = array<i64: 4>}> ({
  ^bb0(%i: index, %o: tensor<8xf32>):
    "scf.forall.in_parallel"() ({
    ^bb0:
    }) : () -> ()
  }) : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

// CHECK: 'scf.forall': the body must end in scf.forall.in_parallel
func.func @f(%t: tensor<8xf32>) {
  %r = scf.forall (%i) in (4) shared_outs(%o = %t) -> (tensor<8xf32>) {
  }
  return
}

// -----

// CHECK: 'scf.forall' uses a value that its own region defines
func.func @f() {
  scf.forall (%i) in (%i) {
  }
  return
}

// -----

// CHECK: 'scf.parallel': Region 'body' at position 0 expected a single block, but got 2 blocks
func.func @f(%n: index) {
  scf.parallel (%i) = (%n) to (%n) step (%n) {
    cf.br ^bb1
  ^bb1:
    scf.reduce
  }
  return
}
