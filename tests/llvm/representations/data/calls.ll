; Direct, indirect, external and intrinsic calls; a function pointer; two ends.
declare ptr @malloc(i64)
declare void @unknown(...)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal void @twice(ptr %f) {
  call void %f()
  call void asm sideeffect "nop", ""()
  ret void
}

define i32 @main(i1 %c) {
  br i1 %c, label %yes, label %no
yes:
  %p = call ptr @malloc(i64 8)
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 8, i1 false)
  call void (...) @unknown(ptr %p)
  ret i32 0
no:
  call void @twice(ptr @unknown)
  ret i32 1
}
