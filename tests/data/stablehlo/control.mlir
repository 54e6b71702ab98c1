// Loops and branches that see values from around them; calls; composites; tuples; tokens.
#loc1 = loc("n")
module @control attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i32> loc("n"), %arg1: tensor<4xf32> loc("x")) -> (tensor<i32>, tensor<4xf32>) {
    %c = stablehlo.constant dense<1> : tensor<i32> loc(#loc)
    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<4xf32>
    cond {
      %7 = stablehlo.compare GT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> loc(#loc2)
      stablehlo.return %7 : tensor<i1>
    } do {
      %7 = stablehlo.subtract %iterArg, %c : tensor<i32>
      %8 = stablehlo.add %iterArg_0, %arg1 : tensor<4xf32> loc(callsite("f"("a.py":3:4) at #loc2))
      stablehlo.return %7, %8 : tensor<i32>, tensor<4xf32>
    } loc(fused["a.py":1:1, "b.py":2:2])
    %1 = "stablehlo.case"(%0#0) ({
      stablehlo.return %0#1 : tensor<4xf32>
    }, {
      %7 = func.call @f(%0#1) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %7 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    %2 = stablehlo.compare EQ, %0#0, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = "stablehlo.if"(%2) ({
      stablehlo.return %1 : tensor<4xf32>
    }, {
      %7 = stablehlo.negate %1 : tensor<4xf32>
      stablehlo.return %7 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %4 = stablehlo.composite "my.thing" %3 {composite_attributes = {k = 3 : i64, name = "abc"}, decomposition = @f, version = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %5 = stablehlo.tuple %4, %c : tuple<tensor<4xf32>, tensor<i32>>
    %6 = stablehlo.get_tuple_element %5[0] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<4xf32>
    %t = stablehlo.create_token : !stablehlo.token
    %u = stablehlo.after_all %t, %t : !stablehlo.token
    %9 = stablehlo.optimization_barrier %6 : tensor<4xf32>
    return %0#0, %9 : tensor<i32>, tensor<4xf32>
  } loc(#loc)
  func.func private @f(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = call @g(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func private @g(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.sine %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
#loc = loc(unknown)
#loc2 = loc("jit(f)/scope/add"("a.py":7:12))
