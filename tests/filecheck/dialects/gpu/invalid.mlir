// RUN: opar-opt --verify-diagnostics --split-input-file %s | filecheck %s

// CHECK: ')' expected
func.func private @f(!gpu.async.token<i32>)

// -----

// A token needs a name, as in MLIR.
// CHECK: 'gpu.wait' marked 'async' needs a name for its token: '%token = gpu.wait async ...'
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  gpu.wait async
  return
}

// -----

// CHECK: 'gpu.alloc': memref<?xf32> has 1 dynamic dimensions, but 2 sizes are given
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  %0 = gpu.alloc (%n, %n) : memref<?xf32>
  return
}

// -----

// CHECK: 'gpu.alloc': the layout of memref<4xf32> has 0 symbols, but 1 symbol operands are given
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  %0 = gpu.alloc ()[%n] : memref<4xf32>
  return
}

// -----

// CHECK: 'gpu.alloc' returns a ranked memref
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  %0 = gpu.alloc () : memref<*xf32>
  return
}

// -----

// CHECK: 'gpu.memcpy': source and destination have different element types: memref<?xi32> and memref<4xf32>
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  gpu.memcpy %m, %d : memref<4xf32>, memref<?xi32>
  return
}

// -----

// CHECK: 'gpu.memcpy': source and destination have different shapes: memref<5xf32> and memref<4xf32>
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  %0 = gpu.alloc () : memref<5xf32>
  gpu.memcpy %m, %0 : memref<4xf32>, memref<5xf32>
  return
}

// -----

// CHECK: 'gpu.memset': the value of type i32 is not an element of memref<4xf32>
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  gpu.memset %m, %i : memref<4xf32>, i32
  return
}

// -----

// CHECK: 'gpu.module': the body of a gpu.module has no block arguments
"gpu.module"() <{sym_name = "m"}> ({
^bb0(%a: i32):
}) : () -> ()

// -----

// CHECK: 'gpu.func': a kernel returns no values
gpu.module @m {
  gpu.func @k(%a: f32) -> f32 kernel {
    gpu.return %a : f32
  }
}

// -----

// CHECK: 'gpu.func': a gpu.func needs a body
gpu.module @m {
  "gpu.func"() <{function_type = () -> ()}> ({
  }) {gpu.kernel, sym_name = "k"} : () -> ()
}

// -----

// CHECK: 'gpu.func': the body has 1 arguments, but 1 parameters and 1 workgroup attributions need them
gpu.module @m {
  "gpu.func"() <{function_type = (f32) -> ()}> ({
  ^bb0(%a: f32):
    "gpu.return"() : () -> ()
  }) {sym_name = "k", workgroup_attributions = 1 : i64} : () -> ()
}

// -----

// CHECK: 'gpu.func': argument 0 of the body has type i32, the function type says f32
gpu.module @m {
  "gpu.func"() <{function_type = (f32) -> ()}> ({
  ^bb0(%a: i32):
    "gpu.return"() : () -> ()
  }) {sym_name = "k"} : () -> ()
}

// -----

// CHECK: 'gpu.func': there are attributes for 2 arguments, but 1 arguments
gpu.module @m {
  "gpu.func"() <{function_type = (f32) -> (), arg_attrs = [{}, {}]}> ({
  ^bb0(%a: f32):
    "gpu.return"() : () -> ()
  }) {sym_name = "k"} : () -> ()
}

// -----

// CHECK: 'gpu.func': known_block_size is a dense array of three i32
gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 32>} {
    gpu.return
  }
}

// -----

// CHECK: 'gpu.func': a workgroup attribution has type f32, not memref
gpu.module @m {
  gpu.func @k() workgroup(%w: f32) {
    gpu.return
  }
}

// -----

// CHECK: 'gpu.func': a workgroup attribution is in memory space private: memref<4xf32, #gpu.address_space<private>>
gpu.module @m {
  gpu.func @k() workgroup(%w: memref<4xf32, #gpu.address_space<private>>) {
    gpu.return
  }
}

// -----

// CHECK: 'gpu.func': a private attribution is in memory space workgroup: memref<4xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k() private(%p: memref<4xf32, #gpu.address_space<workgroup>>) {
    gpu.return
  }
}

// -----

// CHECK: 'gpu.return': returns (), but the function's results are (f32)
gpu.module @m {
  gpu.func @k(%a: f32) -> f32 {
    gpu.return
  }
}

// -----

// CHECK: the arguments of 'gpu.func' need names
gpu.module @m {
  gpu.func @k(f32) {
    gpu.return
  }
}

// -----

// CHECK: either all arguments have names or none
gpu.module @m {
  gpu.func @k(%a: f32, f32) {
    gpu.return
  }
}

// -----

// LLVM#176530: MLIR 22 asserts here.
// CHECK: 'gpu.launch' returns a token only with the keyword 'async': '%token = gpu.launch async blocks...'
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  %x = gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    gpu.terminator
  }
  return
}

// -----

// CHECK: 'gpu.launch' with async dependencies needs the keyword 'async': '%token = gpu.launch async [...] blocks...'
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  gpu.launch [%t] blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    gpu.terminator
  }
  return
}

// -----

// MLIR accepts this one and drops the dependency when it prints it.
// CHECK: 'gpu.launch': a launch with async dependencies must be 'async'
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  "gpu.launch"(%t, %n, %n, %n, %n, %n, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}> ({
  ^bb0(%a0: index, %a1: index, %a2: index, %a3: index, %a4: index, %a5: index, %a6: index, %a7: index, %a8: index, %a9: index, %a10: index, %a11: index):
    "gpu.terminator"() : () -> ()
  }) {workgroup_attributions = 0 : i64} : (!gpu.async.token, index, index, index, index, index, index) -> ()
  return
}

// -----

// CHECK: 'gpu.launch': a cluster size is given along x, y and z, or not at all
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  "gpu.launch"(%n, %n, %n, %n, %n, %n, %n) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0>}> ({
  ^bb0(%a0: index, %a1: index, %a2: index, %a3: index, %a4: index, %a5: index, %a6: index, %a7: index, %a8: index, %a9: index, %a10: index, %a11: index):
    "gpu.terminator"() : () -> ()
  }) {workgroup_attributions = 0 : i64} : (index, index, index, index, index, index, index) -> ()
  return
}

// -----

// CHECK: 'gpu.launch': the body has 0 arguments, but ids, sizes and workgroup attributions need 12
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  "gpu.launch"(%n, %n, %n, %n, %n, %n) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}> ({
    "gpu.terminator"() : () -> ()
  }) {workgroup_attributions = 0 : i64} : (index, index, index, index, index, index) -> ()
  return
}

// -----

// CHECK: 'gpu.launch': the first 12 arguments of the body are of type index
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  "gpu.launch"(%n, %n, %n, %n, %n, %n) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0>}> ({
  ^bb0(%a0: index, %a1: index, %a2: index, %a3: i32, %a4: index, %a5: index, %a6: index, %a7: index, %a8: index, %a9: index, %a10: index, %a11: index):
    "gpu.terminator"() : () -> ()
  }) {workgroup_attributions = 0 : i64} : (index, index, index, index, index, index) -> ()
  return
}

// -----

// CHECK: 'gpu.launch': a workgroup attribution is in memory space private: memref<4xf32, #gpu.address_space<private>>
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) workgroup(%w: memref<4xf32, #gpu.address_space<private>>) {
    gpu.terminator
  }
  return
}

// -----

// CHECK: the attributions of 'gpu.launch' have no attributes
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) workgroup(%w: memref<4xf32> {llvm.align = 4 : i64}) {
    gpu.terminator
  }
  return
}

// -----

// CHECK: 'gpu.launch': the body ends in 'gpu.yield', not in 'gpu.terminator' or a branch
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    gpu.yield
  }
  return
}

// -----

// CHECK: 'gpu.launch' takes three ids and three sizes
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  gpu.launch blocks(%bx, %by) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
    gpu.terminator
  }
  return
}

// -----

// CHECK: 'gpu.launch_func': the module around it lacks the attribute 'gpu.container_module': 'module attributes {gpu.container_module}'
func.func @f(%n: index, %m: memref<4xf32>, %d: memref<?xi32>, %f: f32, %i: i32, %t: !gpu.async.token) {
  gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}

// -----

// CHECK: 'gpu.launch_func': kernel module '@other' does not exist
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func @other::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%f : f32)
  return
}
}

// -----

// CHECK: 'gpu.launch_func': '@f' is a 'func.func', not a gpu.module
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func @f::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%f : f32)
  return
}
}

// -----

// CHECK: 'gpu.launch_func': kernel '@m::@other' does not exist
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func @m::@other blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%f : f32)
  return
}
}

// -----

// CHECK: 'gpu.launch_func': '@m::@host' is a 'func.func', not a kernel
module attributes {gpu.container_module} {
gpu.module @m {
  func.func private @host(f32)
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func @m::@host blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%f : f32)
  return
}
}

// -----

// CHECK: 'gpu.launch_func': '@m::@d' lacks the attribute 'gpu.kernel'
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @d() {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func @m::@d blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}
}

// -----

// CHECK: 'gpu.launch_func': kernel '@m::@k' takes 1 arguments, 0 are given
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}
}

// -----

// CHECK: 'gpu.launch_func': argument 0 of kernel '@m::@k' has type f32, i32 is given
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%i : i32)
  return
}
}

// -----

// A launch inside of other operations is checked as well, if its kernel is known.
// CHECK: 'gpu.launch_func': kernel '@m::@k' takes 1 arguments, 0 are given
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  %done = async.execute {
    gpu.launch_func @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
    async.yield
  }
  return
}
}

// -----

// CHECK: 'gpu.launch_func': names its kernel '@module::@function', not '@k'
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func @k blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%f : f32)
  return
}
}

// -----

// CHECK: expected '@module::@kernel'
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func 4 blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%f : f32)
  return
}
}

// -----

// CHECK: 'gpu.launch_func' takes three sizes
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func @m::@k blocks in (%n, %n) threads in (%n, %n, %n) args(%f : f32)
  return
}
}

// -----

// CHECK: 'gpu.launch_func': grid, block and cluster sizes are all index, all i32 or all i64, not i16
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func @m::@k blocks in (%j, %j, %j) threads in (%j, %j, %j) : i16 args(%f : f32)
  return
}
}

// -----

// CHECK: 'gpu.launch_func': grid, block and cluster sizes are all index, all i32 or all i64, not i32, index
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  "gpu.launch_func"(%n, %n, %n, %i, %i, %i, %f) <{kernel = @m::@k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0>}> : (index, index, index, i32, i32, i32, f32) -> ()
  return
}
}

// -----

// CHECK: 'gpu.launch_func': a cluster size is given along x, y and z, or not at all
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  "gpu.launch_func"(%n, %n, %n, %n, %n, %n, %n, %f) <{kernel = @m::@k, operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 0>}> : (index, index, index, index, index, index, index, f32) -> ()
  return
}
}

// -----

// LLVM#195434
// CHECK: 'gpu.launch_func': has both async dependencies and an explicit stream; give one of them
module attributes {gpu.container_module} {
gpu.module @m {
  gpu.func @k(%a: f32) kernel {
    gpu.return
  }
}
func.func @f(%n: index, %f: f32, %i: i32, %j: i16, %t: !gpu.async.token, %s: !llvm.ptr) {
  gpu.launch_func [%t] <%s : !llvm.ptr> @m::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%f : f32)
  return
}
}

// -----

// CHECK: 'gpu.binary': a gpu.binary holds at least one object
gpu.binary @b []

// -----

// CHECK: the kernel table of a gpu.object is not supported
gpu.binary @b [#gpu.object<#nvvm.target, kernels = <[]>, bin = "x">]

// -----

// CHECK: 'gpu.all_reduce': works on an integer or a float, not index
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.all_reduce add %n {
  } : (index) -> index
  return
}

// -----

// CHECK: 'gpu.all_reduce': reduces f32 but returns i32
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.all_reduce add %f {
  } : (f32) -> i32
  return
}

// -----

// CHECK: 'gpu.all_reduce': a reduction is given by a name or by a region, one of them
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.all_reduce %f {
  } : (f32) -> f32
  return
}

// -----

// CHECK: 'gpu.all_reduce': a reduction is given by a name or by a region, one of them
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.all_reduce add %f {
  ^bb0(%a: f32, %b: f32):
    gpu.yield %a : f32
  } : (f32) -> f32
  return
}

// -----

// CHECK: 'gpu.all_reduce': reduction 'and' does not work on f32
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.all_reduce and %f {
  } : (f32) -> f32
  return
}

// -----

// CHECK: 'gpu.all_reduce': reduction 'minnumf' does not work on i32
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.all_reduce minnumf %i {
  } : (i32) -> i32
  return
}

// -----

// CHECK: 'plus' is not a reduction; those are add, mul, minui, minsi, minnumf, maxui, maxsi, maxnumf, and, or, xor, minimumf, maximumf
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.all_reduce plus %f {
  } : (f32) -> f32
  return
}

// -----

// CHECK: 'gpu.all_reduce': the region of a reduction of f32 takes two of them
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.all_reduce %f {
  ^bb0(%a: f32):
    gpu.yield %a : f32
  } : (f32) -> f32
  return
}

// -----

// CHECK: 'gpu.all_reduce': the region of a reduction of f32 yields one
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.all_reduce %f {
  ^bb0(%a: f32, %b: f32):
    gpu.yield %a, %b : f32, f32
  } : (f32) -> f32
  return
}

// -----

// CHECK: 'gpu.all_reduce' has one operand and one result
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.all_reduce add %f {
  } : (f32, f32) -> f32
  return
}

// -----

// CHECK: expected the name of a reduction
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.subgroup_reduce %f : (f32) -> f32
  return
}

// -----

// CHECK: 'gpu.subgroup_reduce': vector<2x2xf32> is not a vector of rank 1 and fixed length
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.subgroup_reduce add %v : (vector<2x2xf32>) -> vector<2x2xf32>
  return
}

// -----

// CHECK: 'gpu.subgroup_reduce': works on an integer, a float or a vector of them, not index
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.subgroup_reduce add %n : (index) -> index
  return
}

// -----

// CHECK: 'gpu.subgroup_reduce': reduces f32 but returns i32
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.subgroup_reduce add %f : (f32) -> i32
  return
}

// -----

// CHECK: 'gpu.subgroup_reduce': cluster size 3 is not a power of two
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.subgroup_reduce add %f cluster(size = 3) : (f32) -> f32
  return
}

// -----

// CHECK: 'gpu.subgroup_reduce': cluster stride 3 is not a power of two
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.subgroup_reduce add %f cluster(size = 4, stride = 3) : (f32) -> f32
  return
}

// -----

// CHECK: 'gpu.subgroup_reduce': a cluster stride needs a cluster size
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = "gpu.subgroup_reduce"(%f) <{cluster_stride = 2 : i32, op = #gpu<all_reduce_op add>}> : (f32) -> f32
  return
}

// -----

// CHECK: 'gpu.shuffle': works on an integer, a float or a vector of them, not index
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0, %1 = gpu.shuffle xor %n, %i, %i : index
  return
}

// -----

// CHECK: 'gpu.shuffle': shuffles f32 but returns i32
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0, %1 = "gpu.shuffle"(%f, %i, %i) <{mode = #gpu<shuffle_mode xor>}> : (f32, i32, i32) -> (i32, i1)
  return
}

// -----

// CHECK: 'gpu.rotate': offset 16 is not in [0, 16)
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0, %1 = gpu.rotate %f, 16, 16 : f32
  return
}

// -----

// CHECK: 'gpu.rotate': width 12 is not a power of two
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0, %1 = gpu.rotate %f, 1, 12 : f32
  return
}

// -----

// CHECK: 'gpu.rotate': rotates f32 but returns i32
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0, %1 = "gpu.rotate"(%f) <{offset = 1 : i32, width = 4 : i32}> : (f32) -> (i32, i1)
  return
}

// -----

// CHECK: 'gpu.subgroup_broadcast': a lane is given for a 'specific_lane' broadcast and no other
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.subgroup_broadcast %f, specific_lane : f32
  return
}

// -----

// CHECK: 'gpu.subgroup_broadcast': a lane is given for a 'specific_lane' broadcast and no other
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.subgroup_broadcast %f, first_active_lane %i : f32
  return
}

// -----

// CHECK: 'gpu.subgroup_broadcast': broadcasts f32 but returns i32
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = "gpu.subgroup_broadcast"(%f) <{broadcast_type = #gpu<broadcast first_active_lane>}> : (f32) -> i32
  return
}

// -----

// CHECK: 'gpu.dynamic_shared_memory': returns memref<?xi8, #gpu.address_space<workgroup>>, not memref<?xi8, 3 : i64>
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.dynamic_shared_memory : memref<?xi8, 3>
  return
}

// -----

// CHECK: 'gpu.warp_execute_on_lane_0': the body takes 0 values, but 1 are given
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  gpu.warp_execute_on_lane_0(%n)[32] args(%f : f32) {
  }
  return
}

// -----

// CHECK: 'gpu.warp_execute_on_lane_0': the body yields 1 values, but there are 0 results
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  gpu.warp_execute_on_lane_0(%n)[32] {
    gpu.yield %f : f32
  }
  return
}

// -----

// CHECK: 'gpu.warp_execute_on_lane_0': the body does not end in 'gpu.yield'
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  gpu.warp_execute_on_lane_0(%n)[32] {
    "test.termop"() : () -> ()
  }
  return
}

// -----

// CHECK: 'gpu.warp_execute_on_lane_0': i32 is not 32 times f32
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  %0 = gpu.warp_execute_on_lane_0(%n)[32] -> (f32) {
    gpu.yield %i : i32
  }
  return
}

// -----

// CHECK: 'gpu.warp_execute_on_lane_0': vector<64xf32> is not 32 times vector<4xf32>
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  gpu.warp_execute_on_lane_0(%n)[32] args(%w : vector<4xf32>) {
  ^bb0(%whole: vector<64xf32>):
    gpu.yield
  }
  return
}

// -----

// CHECK: 'gpu.warp_execute_on_lane_0': vector<33xf32> is not 32 times vector<4xf32>
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  gpu.warp_execute_on_lane_0(%n)[32] args(%w : vector<4xf32>) {
  ^bb0(%whole: vector<33xf32>):
    gpu.yield
  }
  return
}

// -----

// CHECK: 'gpu.warp_execute_on_lane_0': vector<128xi32> is not 32 times vector<4xf32>
func.func @f(%n: index, %f: f32, %i: i32, %v: vector<2x2xf32>, %w: vector<4xf32>) {
  gpu.warp_execute_on_lane_0(%n)[32] args(%w : vector<4xf32>) {
  ^bb0(%whole: vector<128xi32>):
    gpu.yield
  }
  return
}
