// RUN: opar-opt %s | filecheck %s
// RUN: opar-opt %s --print-op-generic | opar-opt | filecheck %s

func.func @e(%m: memref<4xf32>, %f: f32, %g: !async.group, %tok: !async.token, %val: !async.value<f32>) {
  %t = async.execute { async.yield }
  %t1 = async.execute [%t] { 
     %c = arith.constant 1.0 : f32
     async.yield }
  %t2, %r = async.execute -> !async.value<f32> { async.yield %f : f32 }
  %t3, %r3:2 = async.execute [%t, %t2] (%r as %x: !async.value<f32>) -> (!async.value<f32>, !async.value<i32>) {
     %c = arith.constant 1 : i32
     async.yield %x, %c : f32, i32 }
  %t4 = async.execute (%r as %x: !async.value<f32>, %val as %y: !async.value<f32>) { async.yield } 
  %t5 = async.execute attributes {foo} { async.yield }
  async.await %t : !async.token
  %v = async.await %r : !async.value<f32>
  %c4 = arith.constant 4 : index
  %gr = async.create_group %c4 : !async.group
  %i = async.add_to_group %t, %gr : !async.token
  %i2 = async.add_to_group %r, %gr : !async.value<f32>
  async.await_all %gr
  return
}
async.func @af(%a: f32) -> !async.token { return }
async.func private @decl(%a: f32) -> !async.token
async.func @af2(%a: f32) -> (!async.token, !async.value<f32>) attributes {bar} { return %a : f32 }
async.func @af3(%a: f32 {llvm.x}) -> !async.value<f32> { 
  %t, %v = async.call @af2(%a) : (f32) -> (!async.token, !async.value<f32>)
  %t2 = async.call @af(%a) {x} : (f32) -> !async.token
  %0 = async.await %v : !async.value<f32>
  return %0 : f32 }

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @e(%m: memref<4xf32>, %f: f32, %g: !async.group, %tok: !async.token, %val: !async.value<f32>) {
// CHECK-NEXT:     %t = async.execute {
// CHECK-NEXT:       async.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %t1 = async.execute [%t] {
// CHECK-NEXT:       %c = arith.constant 1.000000e+00 : f32
// CHECK-NEXT:       async.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %t2, %r = async.execute -> (!async.value<f32>) {
// CHECK-NEXT:       async.yield %f : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     %t3, %r3, %r3_1 = async.execute [%t, %t2] (%r as %x: !async.value<f32>) -> (!async.value<f32>, !async.value<i32>) {
// CHECK-NEXT:       %c_1 = arith.constant 1 : i32
// CHECK-NEXT:       async.yield %x, %c_1 : f32, i32
// CHECK-NEXT:     }
// CHECK-NEXT:     %t4 = async.execute (%r as %x_1: !async.value<f32>, %val as %y: !async.value<f32>) {
// CHECK-NEXT:       async.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     %t5 = async.execute attributes {foo} {
// CHECK-NEXT:       async.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     async.await %t : !async.token
// CHECK-NEXT:     %v = async.await %r : !async.value<f32>
// CHECK-NEXT:     %c4 = arith.constant 4 : index
// CHECK-NEXT:     %gr = async.create_group %c4 : !async.group
// CHECK-NEXT:     %i = async.add_to_group %t, %gr : !async.token
// CHECK-NEXT:     %i2 = async.add_to_group %r, %gr : !async.value<f32>
// CHECK-NEXT:     async.await_all %gr
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   async.func @af(%a: f32) -> !async.token {
// CHECK-NEXT:     async.return
// CHECK-NEXT:   }
// CHECK-NEXT:   async.func private @decl(f32) -> !async.token
// CHECK-NEXT:   async.func @af2(%a: f32) -> (!async.token, !async.value<f32>) attributes {bar} {
// CHECK-NEXT:     async.return %a : f32
// CHECK-NEXT:   }
// CHECK-NEXT:   async.func @af3(%a: f32 {llvm.x}) -> !async.value<f32> {
// CHECK-NEXT:     %t, %v = async.call @af2(%a) : (f32) -> (!async.token, !async.value<f32>)
// CHECK-NEXT:     %t2 = async.call @af(%a) {x} : (f32) -> !async.token
// CHECK-NEXT:     %0 = async.await %v : !async.value<f32>
// CHECK-NEXT:     async.return %0 : f32
// CHECK-NEXT:   }
// CHECK-NEXT: }
