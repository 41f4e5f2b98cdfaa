; Blocks and calls: expectations are in test_views.py.
declare void @outside()
declare i32 @llvm.abs.i32(i32, i1)

define internal i32 @leaf(i32 %x) {
  %a = call i32 @llvm.abs.i32(i32 %x, i1 false)
  ret i32 %a
}

define internal void @never() {
  unreachable
}

define i32 @sum(ptr %p, i32 %n, ptr %f) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %j, %body ]
  %t = phi i32 [ 0, %entry ], [ %u, %body ]
  %c = icmp ult i32 %i, %n
  br i1 %c, label %body, label %exit
body:
  %q = getelementptr i32, ptr %p, i32 %i
  %v = load i32, ptr %q
  %l = call i32 @leaf(i32 %v)
  %m = call i32 @leaf(i32 %l)
  store i32 %m, ptr %q
  call void @outside()
  %u = add i32 %t, %m
  %j = add i32 %i, 1
  br label %head
exit:
  call void %f()
  ret i32 %t
}
