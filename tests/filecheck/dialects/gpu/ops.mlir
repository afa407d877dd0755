// RUN: opar-opt %s | filecheck %s
// RUN: opar-opt %s --print-op-generic | opar-opt | filecheck %s

module attributes {gpu.container_module} {
  gpu.module @kernels <#gpu.select_object<0 : i64>> [#nvvm.target<chip = "sm_90">] attributes {note = 1 : i32} {
    gpu.func @all(%a: memref<4xf32> {llvm.noalias}, %b: f32) workgroup(%w : memref<32xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, %w2 : memref<32xf32, 3>) private(%p : memref<1xf32, #gpu.address_space<private>>) kernel attributes {known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 4, 1, 1>, note} {
      gpu.return
    }
    gpu.func @empty() kernel {
      gpu.return
    }
    gpu.func @device(%a: f32) -> f32 {
      gpu.return %a : f32
    }
    gpu.func @results(%a: f32, %b: i32) -> (f32 {llvm.note}, i32) private(%p : memref<1xf32, 5> {llvm.align = 4 : i64}) {
      gpu.return %a, %b : f32, i32
    }
    gpu.func @blocks(%c: i1) kernel {
      cf.cond_br %c, ^bb1, ^bb2
    ^bb1:
      gpu.barrier
      cf.br ^bb2
    ^bb2:
      gpu.return
    }
    gpu.func @ids() {
      %tx = gpu.thread_id x upper_bound 32
      %by = gpu.block_id y
      %bdz = gpu.block_dim z
      %gdx = gpu.grid_dim x
      %gx = gpu.global_id x
      %cx = gpu.cluster_id x
      %cdx = gpu.cluster_dim x
      %cbx = gpu.cluster_dim_blocks x
      %cbi = gpu.cluster_block_id x upper_bound 8
      %lane = gpu.lane_id upper_bound 32
      %lane2 = gpu.lane_id
      %sg = gpu.subgroup_id upper_bound 8 : index
      %nsg = gpu.num_subgroups : index
      %sgs = gpu.subgroup_size : index
      gpu.barrier {note}
      gpu.return
    }
    gpu.func @collectives(%f: f32, %i: i32, %v: vector<4xf16>) {
      %ar = gpu.all_reduce add %f uniform {
      } : (f32) -> f32
      %ar2 = gpu.all_reduce %f {
      ^bb0(%x: f32, %y: f32):
        %s = arith.mulf %x, %y : f32
        gpu.yield %s : f32
      } : (f32) -> f32
      %sr = gpu.subgroup_reduce add %f : (f32) -> f32
      %sr2 = gpu.subgroup_reduce maxsi %i uniform cluster(size = 8, stride = 2) : (i32) -> i32
      %sr3 = gpu.subgroup_reduce minimumf %v cluster(size = 8) {note} : (vector<4xf16>) -> vector<4xf16>
      %s1, %ok1 = gpu.shuffle xor %f, %i, %i : f32
      %s2, %ok2 = gpu.shuffle up %v, %i, %i : vector<4xf16>
      %s3, %ok3 = gpu.shuffle down %f, %i, %i : f32
      %s4, %ok4 = gpu.shuffle idx %f, %i, %i : f32
      %r, %ok5 = gpu.rotate %f, 3, 16 : f32
      %b1 = gpu.subgroup_broadcast %f, first_active_lane : f32
      %b2 = gpu.subgroup_broadcast %f, specific_lane %i : f32
      gpu.return
    }
    gpu.func @warp(%lane: index, %v: vector<4xf32>) {
      gpu.warp_execute_on_lane_0(%lane)[32] {
      }
      %part = gpu.warp_execute_on_lane_0(%lane)[32] args(%v : vector<4xf32>) -> (vector<1xf32>) {
      ^bb0(%whole: vector<128xf32>):
        %sum = builtin.unrealized_conversion_cast %whole : vector<128xf32> to vector<32xf32>
        gpu.yield %sum : vector<32xf32>
      }
      gpu.return
    }
    gpu.func @others(%i: i32, %f: f32) {
      gpu.printf "hello"
      gpu.printf "%d %f\n", %i, %f : i32, f32
      %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      gpu.return
    }
  }
  gpu.binary @compiled [#gpu.object<#nvvm.target<chip = "sm_90">, "blob">]
  gpu.binary @compiled2 <#gpu.select_object<1 : i64>> [#gpu.object<#nvvm.target, offload = "">, #gpu.object<#nvvm.target<O = 3, flags = {fast}>, properties = {O = 3 : i32}, bin = "x">]

  func.func @memory(%a: memref<4xf32>, %n: index, %f: f32) {
    %t0 = gpu.wait async
    %t1 = gpu.wait async [%t0]
    gpu.wait [%t0, %t1]
    gpu.wait
    %m0 = gpu.alloc () : memref<4xf32>
    %m1 = gpu.alloc (%n) : memref<?xf32>
    %m2, %t2 = gpu.alloc async [%t0] host_shared (%n)[%n] {note} : memref<?xf32, affine_map<(d0)[s0] -> (d0 + s0)>>
    %m3, %t3 = gpu.alloc async () : memref<4xf32>
    gpu.dealloc %m0 : memref<4xf32>
    %t4 = gpu.dealloc async [%t3] %m3 : memref<4xf32>
    gpu.memcpy %a, %m0 : memref<4xf32>, memref<4xf32>
    gpu.memcpy [%t4] %a, %m1 : memref<4xf32>, memref<?xf32>
    %t5 = gpu.memcpy async [%t0, %t1] %a, %m0 : memref<4xf32>, memref<4xf32> {note}
    gpu.memset %a, %f : memref<4xf32>, f32
    %t6 = gpu.memset async [%t5] %a, %f : memref<4xf32>, f32
    return
  }
  func.func @launches(%a: memref<4xf32>, %f: f32, %n: index, %i: i32, %l: i64, %stream: !llvm.ptr) {
    %t0 = gpu.wait async
    gpu.launch_func @kernels::@empty blocks in (%n, %n, %n) threads in (%n, %n, %n)
    gpu.launch_func @kernels::@all clusters in (%n, %n, %n) blocks in (%n, %n, %n) threads in (%n, %n, %n) dynamic_shared_memory_size %i args(%a : memref<4xf32>, %f : f32) {note}
    %t1 = gpu.launch_func async [%t0] @kernels::@empty blocks in (%i, %i, %i) threads in (%i, %i, %i) : i32
    gpu.launch_func [%t0, %t1] @kernels::@empty clusters in (%l, %l, %l) blocks in (%l, %l, %l) threads in (%l, %l, %l) : i64 dynamic_shared_memory_size %i
    gpu.launch_func <%stream : !llvm.ptr> @kernels::@empty blocks in (%n, %n, %n) threads in (%n, %n, %n)
    gpu.launch_func @compiled::@any blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%f : f32)
    %done = async.execute {
      gpu.launch_func @elsewhere::@unknown blocks in (%n, %n, %n) threads in (%n, %n, %n)
      async.yield
    }
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
      gpu.printf "%d %f", %tx, %f : index, f32
      gpu.terminator
    }
    %t2 = gpu.launch async [%t0, %t1] clusters(%cx, %cy, %cz) in (%csx = %n, %csy = %n, %csz = %n) blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) dynamic_shared_memory_size %i module(@kernels2) function(@body) workgroup(%w : memref<32xf32, 3>) private(%p : memref<1xf32, 5>) {
      cf.br ^bb1
    ^bb1:
      gpu.terminator
    } {note}
    return
  }
  func.func @host(%u: memref<*xf32>, %i: i32) {
    gpu.host_register %u : memref<*xf32>
    gpu.host_unregister %u : memref<*xf32>
    gpu.set_default_device %i
    return
  }
  func.func private @attributes() attributes {mapping = [#gpu.address_space<global>, #gpu.block<x>, #gpu.thread<linear_dim_0>, #gpu.warp<y>, #gpu.warpgroup<z>, #gpu.lane<linear_dim_3>, #gpu.memory_space<workgroup>, #gpu.mask<0x33>, #gpu.loop_dim_map<processor = thread_x, map = (d0)[s0] -> (d0 + s0), bound = (d0) -> (d0)>, #gpu<dim z>, #gpu<all_reduce_op xor>, #gpu<shuffle_mode idx>, #gpu<broadcast specific_lane>]}
}

// CHECK:      builtin.module attributes {gpu.container_module} {
// CHECK-NEXT:   gpu.module @kernels <#gpu.select_object<0 : i64>> [#nvvm.target<chip = "sm_90">] attributes {note = 1 : i32} {
// CHECK-NEXT:     gpu.func @all(%a: memref<4xf32> {llvm.noalias}, %b: f32) workgroup(%w: memref<32xf32, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, %w2: memref<32xf32, 3 : i64>) private(%p: memref<1xf32, #gpu.address_space<private>>) kernel attributes {note, known_block_size = array<i32: 32, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.func @empty() kernel {
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.func @device(%a: f32) -> f32 {
// CHECK-NEXT:       gpu.return %a : f32
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.func @results(%a: f32, %b: i32) -> (f32 {llvm.note}, i32) private(%p: memref<1xf32, 5 : i64> {llvm.align = 4 : i64}) {
// CHECK-NEXT:       gpu.return %a, %b : f32, i32
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.func @blocks(%c: i1) kernel {
// CHECK-NEXT:       cf.cond_br %c, ^bb1, ^bb2
// CHECK-NEXT:     ^bb1:
// CHECK-NEXT:       gpu.barrier
// CHECK-NEXT:       cf.br ^bb2
// CHECK-NEXT:     ^bb2:
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.func @ids() {
// CHECK-NEXT:       %tx = gpu.thread_id x upper_bound 32
// CHECK-NEXT:       %by = gpu.block_id y
// CHECK-NEXT:       %bdz = gpu.block_dim z
// CHECK-NEXT:       %gdx = gpu.grid_dim x
// CHECK-NEXT:       %gx = gpu.global_id x
// CHECK-NEXT:       %cx = gpu.cluster_id x
// CHECK-NEXT:       %cdx = gpu.cluster_dim x
// CHECK-NEXT:       %cbx = gpu.cluster_dim_blocks x
// CHECK-NEXT:       %cbi = gpu.cluster_block_id x upper_bound 8
// CHECK-NEXT:       %lane = gpu.lane_id upper_bound 32
// CHECK-NEXT:       %lane2 = gpu.lane_id
// CHECK-NEXT:       %sg = gpu.subgroup_id upper_bound 8 : index
// CHECK-NEXT:       %nsg = gpu.num_subgroups : index
// CHECK-NEXT:       %sgs = gpu.subgroup_size : index
// CHECK-NEXT:       gpu.barrier {note}
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.func @collectives(%f: f32, %i: i32, %v: vector<4xf16>) {
// CHECK-NEXT:       %ar = gpu.all_reduce add %f uniform {
// CHECK-NEXT:       } : (f32) -> f32
// CHECK-NEXT:       %ar2 = gpu.all_reduce %f {
// CHECK-NEXT:       ^bb0(%x: f32, %y: f32):
// CHECK-NEXT:         %s = arith.mulf %x, %y : f32
// CHECK-NEXT:         gpu.yield %s : f32
// CHECK-NEXT:       } : (f32) -> f32
// CHECK-NEXT:       %sr = gpu.subgroup_reduce add %f : (f32) -> f32
// CHECK-NEXT:       %sr2 = gpu.subgroup_reduce maxsi %i uniform cluster(size = 8, stride = 2) : (i32) -> i32
// CHECK-NEXT:       %sr3 = gpu.subgroup_reduce minimumf %v cluster(size = 8) {note} : (vector<4xf16>) -> vector<4xf16>
// CHECK-NEXT:       %s1, %ok1 = gpu.shuffle xor %f, %i, %i : f32
// CHECK-NEXT:       %s2, %ok2 = gpu.shuffle up %v, %i, %i : vector<4xf16>
// CHECK-NEXT:       %s3, %ok3 = gpu.shuffle down %f, %i, %i : f32
// CHECK-NEXT:       %s4, %ok4 = gpu.shuffle idx %f, %i, %i : f32
// CHECK-NEXT:       %r, %ok5 = gpu.rotate %f, 3, 16 : f32
// CHECK-NEXT:       %b1 = gpu.subgroup_broadcast %f, first_active_lane : f32
// CHECK-NEXT:       %b2 = gpu.subgroup_broadcast %f, specific_lane %i : f32
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.func @warp(%lane: index, %v: vector<4xf32>) {
// CHECK-NEXT:       gpu.warp_execute_on_lane_0(%lane)[32] {
// CHECK-NEXT:         gpu.yield
// CHECK-NEXT:       }
// CHECK-NEXT:       %part = gpu.warp_execute_on_lane_0(%lane)[32] args(%v : vector<4xf32>) -> (vector<1xf32>) {
// CHECK-NEXT:       ^bb0(%whole: vector<128xf32>):
// CHECK-NEXT:         %sum = builtin.unrealized_conversion_cast %whole : vector<128xf32> to vector<32xf32>
// CHECK-NEXT:         gpu.yield %sum : vector<32xf32>
// CHECK-NEXT:       }
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.func @others(%i: i32, %f: f32) {
// CHECK-NEXT:       gpu.printf "hello"
// CHECK-NEXT:       gpu.printf "%d %f\0A", %i, %f : i32, f32
// CHECK-NEXT:       %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
// CHECK-NEXT:       gpu.return
// CHECK-NEXT:     }
// CHECK-NEXT:   }
// CHECK-NEXT:   gpu.binary @compiled [#gpu.object<#nvvm.target<chip = "sm_90">, "blob">]
// CHECK-NEXT:   gpu.binary @compiled2 <#gpu.select_object<1 : i64>> [#gpu.object<#nvvm.target, offload = "">, #gpu.object<#nvvm.target<O = 3, flags = {fast}>, properties = {O = 3 : i32}, bin = "x">]
// CHECK-NEXT:   func.func @memory(%a: memref<4xf32>, %n: index, %f: f32) {
// CHECK-NEXT:     %t0 = gpu.wait async
// CHECK-NEXT:     %t1 = gpu.wait async [%t0]
// CHECK-NEXT:     gpu.wait [%t0, %t1]
// CHECK-NEXT:     gpu.wait
// CHECK-NEXT:     %m0 = gpu.alloc () : memref<4xf32>
// CHECK-NEXT:     %m1 = gpu.alloc (%n) : memref<?xf32>
// CHECK-NEXT:     %m2, %t2 = gpu.alloc async [%t0] host_shared (%n)[%n] {note} : memref<?xf32, affine_map<(d0)[s0] -> ((d0 + s0))>>
// CHECK-NEXT:     %m3, %t3 = gpu.alloc async () : memref<4xf32>
// CHECK-NEXT:     gpu.dealloc %m0 : memref<4xf32>
// CHECK-NEXT:     %t4 = gpu.dealloc async [%t3] %m3 : memref<4xf32>
// CHECK-NEXT:     gpu.memcpy %a, %m0 : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:     gpu.memcpy [%t4] %a, %m1 : memref<4xf32>, memref<?xf32>
// CHECK-NEXT:     %t5 = gpu.memcpy async [%t0, %t1] %a, %m0 : memref<4xf32>, memref<4xf32> {note}
// CHECK-NEXT:     gpu.memset %a, %f : memref<4xf32>, f32
// CHECK-NEXT:     %t6 = gpu.memset async [%t5] %a, %f : memref<4xf32>, f32
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @launches(%a: memref<4xf32>, %f: f32, %n: index, %i: i32, %l: i64, %stream: !llvm.ptr) {
// CHECK-NEXT:     %t0 = gpu.wait async
// CHECK-NEXT:     gpu.launch_func @kernels::@empty blocks in (%n, %n, %n) threads in (%n, %n, %n)
// CHECK-NEXT:     gpu.launch_func @kernels::@all clusters in (%n, %n, %n) blocks in (%n, %n, %n) threads in (%n, %n, %n) dynamic_shared_memory_size %i args(%a : memref<4xf32>, %f : f32) {note}
// CHECK-NEXT:     %t1 = gpu.launch_func async [%t0] @kernels::@empty blocks in (%i, %i, %i) threads in (%i, %i, %i) : i32
// CHECK-NEXT:     gpu.launch_func [%t0, %t1] @kernels::@empty clusters in (%l, %l, %l) blocks in (%l, %l, %l) threads in (%l, %l, %l) : i64 dynamic_shared_memory_size %i
// CHECK-NEXT:     gpu.launch_func <%stream : !llvm.ptr> @kernels::@empty blocks in (%n, %n, %n) threads in (%n, %n, %n)
// CHECK-NEXT:     gpu.launch_func @compiled::@any blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%f : f32)
// CHECK-NEXT:     %done = async.execute {
// CHECK-NEXT:       gpu.launch_func @elsewhere::@unknown blocks in (%n, %n, %n) threads in (%n, %n, %n)
// CHECK-NEXT:       async.yield
// CHECK-NEXT:     }
// CHECK-NEXT:     gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %n, %gz = %n) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %n, %sz = %n) {
// CHECK-NEXT:       gpu.printf "%d %f", %tx, %f : index, f32
// CHECK-NEXT:       gpu.terminator
// CHECK-NEXT:     }
// CHECK-NEXT:     %t2 = gpu.launch async [%t0, %t1] clusters(%cx, %cy, %cz) in (%csx = %n, %csy = %n, %csz = %n) blocks(%bx_1, %by_1, %bz_1) in (%gx_1 = %n, %gy_1 = %n, %gz_1 = %n) threads(%tx_1, %ty_1, %tz_1) in (%sx_1 = %n, %sy_1 = %n, %sz_1 = %n) dynamic_shared_memory_size %i module(@kernels2) function(@body) workgroup(%w: memref<32xf32, 3 : i64>) private(%p: memref<1xf32, 5 : i64>) {
// CHECK-NEXT:       cf.br ^bb1
// CHECK-NEXT:     ^bb1:
// CHECK-NEXT:       gpu.terminator
// CHECK-NEXT:     } {note}
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func @host(%u: memref<*xf32>, %i: i32) {
// CHECK-NEXT:     gpu.host_register %u : memref<*xf32>
// CHECK-NEXT:     gpu.host_unregister %u : memref<*xf32>
// CHECK-NEXT:     gpu.set_default_device %i
// CHECK-NEXT:     func.return
// CHECK-NEXT:   }
// CHECK-NEXT:   func.func private @attributes() -> () attributes {mapping = [#gpu.address_space<global>, #gpu.block<x>, #gpu.thread<linear_dim_0>, #gpu.warp<y>, #gpu.warpgroup<z>, #gpu.lane<linear_dim_3>, #gpu.memory_space<workgroup>, #gpu.mask<51>, #gpu.loop_dim_map<processor = thread_x, map = (d0)[s0] -> ((d0 + s0)), bound = (d0) -> (d0)>, #gpu<dim z>, #gpu<all_reduce_op xor>, #gpu<shuffle_mode idx>, #gpu<broadcast specific_lane>]}
// CHECK-NEXT: }
