; With type nodes: a part of a type points to the whole, a type to what is of it.
%pair = type { i32, [4 x i32], ptr }
@g = internal global %pair zeroinitializer

define i32 @f(%pair %p) {
  %x = extractvalue %pair %p, 0
  store i32 %x, ptr @g
  ret i32 %x
}
