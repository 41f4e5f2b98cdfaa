; A switch in a loop: case values are at the position of the edge they choose.
define void @loop(i32 %k) {
entry:
  br label %head
head:
  %i = phi i32 [ %k, %entry ], [ %j, %odd ], [ %i, %head ]
  switch i32 %i, label %odd [
    i32 1000, label %done
    i32 -65535, label %head
    i32 4096, label %done
  ]
odd:
  %j = add i32 %i, %i
  br label %head
done:
  ret void
}
