; A branch, and a phi that uses before it is defined elsewhere in the text.
define internal i64 @abs(i64 %x) {
entry:
  %n = icmp slt i64 %x, 0
  br i1 %n, label %negative, label %join
join:
  %r = phi i64 [ %x, %entry ], [ %m, %negative ]
  ret i64 %r
negative:
  %m = sub i64 0, %x
  br label %join
}
