// Two kernels that each raise a flag of their own and then look for the other's, a limited number
// of times. Both see the other's flag only if they run at the same time. The tokens are given: the
// analysis would rightly order two launches that write and read the same flags.
module attributes {gpu.container_module} {
  gpu.module @latch {
    gpu.func @meet(%mine: memref<1xi32>, %other: memref<1xi32>, %met: memref<1xi32>,
                   %limit: i32) kernel {
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %raised = memref.atomic_rmw addi %one, %mine[%c0] : (i32, memref<1xi32>) -> i32
      %tries = scf.while (%k = %zero) : (i32) -> i32 {
        %flag = memref.atomic_rmw addi %zero, %other[%c0] : (i32, memref<1xi32>) -> i32
        %missing = arith.cmpi eq, %flag, %zero : i32
        %more = arith.cmpi slt, %k, %limit : i32
        %again = arith.andi %missing, %more : i1
        scf.condition(%again) %k : i32
      } do {
      ^bb0(%k: i32):
        %next = arith.addi %k, %one : i32
        scf.yield %next : i32
      }
      %seen = arith.cmpi slt, %tries, %limit : i32
      %result = arith.extui %seen : i1 to i32
      memref.store %result, %met[%c0] : memref<1xi32>
      gpu.return
    }
  }
  func.func @concurrent(%a: memref<1xi32>, %b: memref<1xi32>, %met_a: memref<1xi32>,
                        %met_b: memref<1xi32>, %limit: i32) {
    %c1 = arith.constant 1 : index
    %0 = gpu.launch_func async @latch::@meet blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%a : memref<1xi32>, %b : memref<1xi32>, %met_a : memref<1xi32>, %limit : i32)
    %1 = gpu.launch_func async @latch::@meet blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%b : memref<1xi32>, %a : memref<1xi32>, %met_b : memref<1xi32>, %limit : i32)
    gpu.wait [%0, %1]
    return
  }
  func.func @in_order(%a: memref<1xi32>, %b: memref<1xi32>, %met_a: memref<1xi32>,
                      %met_b: memref<1xi32>, %limit: i32) {
    %c1 = arith.constant 1 : index
    %0 = gpu.launch_func async @latch::@meet blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%a : memref<1xi32>, %b : memref<1xi32>, %met_a : memref<1xi32>, %limit : i32)
    %1 = gpu.launch_func async [%0] @latch::@meet
        blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%b : memref<1xi32>, %a : memref<1xi32>, %met_b : memref<1xi32>, %limit : i32)
    gpu.wait [%1]
    return
  }
}
