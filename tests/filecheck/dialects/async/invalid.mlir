// RUN: opar-opt --verify-diagnostics --split-input-file %s | filecheck %s

// CHECK: ')' expected
func.func private @f(!async.token<i32>)

// -----

// CHECK: ')' expected
func.func private @f(!async.group<i32>)

// -----

// CHECK: 'async.execute' takes operands of type !async.value, not !async.token
func.func @f(%f: f32, %t: !async.token, %v: !async.value<f32>, %g: !async.group) {
  %0 = async.execute (%t as %x: !async.token) {
    async.yield
  }
  return
}

// -----

// CHECK: 'async.execute': the body takes (i32), but the operands hold (f32)
func.func @f(%f: f32, %t: !async.token, %v: !async.value<f32>, %g: !async.group) {
  %0 = "async.execute"(%v) <{operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%x: i32):
    "async.yield"() : () -> ()
  }) : (!async.value<f32>) -> !async.token
  return
}

// -----

// CHECK: 'async.execute': the body yields (), but the results hold (f32)
func.func @f(%f: f32, %t: !async.token, %v: !async.value<f32>, %g: !async.group) {
  %0, %1 = async.execute -> (!async.value<f32>) {
    async.yield
  }
  return
}

// -----

// CHECK: 'async.execute': the body does not end in 'async.yield'
func.func @f(%f: f32, %t: !async.token, %v: !async.value<f32>, %g: !async.group) {
  %0 = async.execute {
    "test.termop"() : () -> ()
  }
  return
}

// -----

// CHECK: 'async.await': awaiting returns (f32), but the operand holds ()
func.func @f(%f: f32, %t: !async.token, %v: !async.value<f32>, %g: !async.group) {
  %0 = "async.await"(%t) : (!async.token) -> f32
  return
}

// -----

// CHECK: 'async.await': awaiting returns (i32), but the operand holds (f32)
func.func @f(%f: f32, %t: !async.token, %v: !async.value<f32>, %g: !async.group) {
  %0 = "async.await"(%v) : (!async.value<f32>) -> i32
  return
}

// -----

// CHECK: 'async.func': an async.func returns at least a token or a value
async.func @f() {
  async.return
}

// -----

// CHECK: 'async.func': result 0 is f32, not an async token or value
async.func @f(%f: f32) -> f32 {
  async.return %f : f32
}

// -----

// CHECK: 'async.func': the token is result 1; it has to be the first
async.func @f(%f: f32) -> (!async.value<f32>, !async.token) {
  async.return %f : f32
}

// -----

// CHECK: 'async.func': the body takes (i32), but the function type says (f32)
"async.func"() <{function_type = (f32) -> !async.token, sym_name = "f"}> ({
^bb0(%a: i32):
  "async.return"() : () -> ()
}) : () -> ()

// -----

// CHECK: 'async.return': returns (), but the results hold (f32)
async.func @f() -> !async.value<f32> {
  async.return
}

// -----

// CHECK: 'async.call': '@none' is not an async.func
func.func @f(%f: f32, %t: !async.token, %v: !async.value<f32>, %g: !async.group) {
  %0 = async.call @none() : () -> !async.token
  return
}

// -----

// CHECK: 'async.call': passes (), but the callee takes (f32)
async.func private @g(f32) -> !async.token
func.func @f(%f: f32, %t: !async.token, %v: !async.value<f32>, %g: !async.group) {
  %0 = async.call @g() : () -> !async.token
  return
}

// -----

// CHECK: 'async.call': gets (!async.value<f32>), but the callee returns (!async.token)
async.func private @g(f32) -> !async.token
func.func @f(%f: f32, %t: !async.token, %v: !async.value<f32>, %g: !async.group) {
  %0 = async.call @g(%f) : (f32) -> !async.value<f32>
  return
}
