; Constants are shared by all functions; constant expressions have operands.
%pair = type { i32, [4 x i8] }
@table = internal constant [3 x %pair] zeroinitializer
@other = alias void (), ptr @g

define void @f(ptr %p) {
  store ptr null, ptr getelementptr (i8, ptr @table, i64 24)
  store double 0.5, ptr %p
  store <2 x i32> <i32 7, i32 7>, ptr %p
  store i48 undef, ptr %p
  ret void
}

define void @g() {
  store ptr null, ptr @table
  call void @other()
  ret void
}
