; Drawn by hand; every number of it is in features.json.
;
;   walk:  entry --> loop <-+        merge:  start --> a ----+
;            |        |  |__|                  |  \--> b ----+
;            |        v                        |             v
;            +--> out <-- after                +----------> join

declare void @note(i64)

define i32 @walk(i32 %n, ptr %p) {
entry:
  %slot = alloca i32
  store i32 0, ptr %slot
  %empty = icmp eq i32 %n, 0
  br i1 %empty, label %out, label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi i32 [ 1, %entry ], [ %more, %loop ]
  %at = getelementptr i32, ptr %p, i32 %i
  %value = load i32, ptr %at
  %more = add i32 %sum, %value
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %after, label %loop

after:
  %wide = zext i32 %more to i64
  %shifted = shl i64 %wide, 1
  %set = or i64 %shifted, 6
  %back = lshr i64 %set, 2
  %narrow = trunc i64 %back to i32
  br label %out

out:
  %result = phi i32 [ 0, %entry ], [ %narrow, %after ]
  %wider = sext i32 %result to i64
  %called = call i64 @merge(i64 %wider, i32 %n)
  call void @note(i64 %called)
  %final = trunc i64 %called to i32
  ret i32 %final
}

define internal i64 @merge(i64 %x, i32 %k) {
start:
  switch i32 %k, label %join [
    i32 0, label %a
    i32 1, label %b
  ]

a:
  %ax = ashr i64 %x, 3
  br label %join

b:
  %bx = mul i64 %x, 5
  br label %join

join:
  %p1 = phi i64 [ %x, %start ], [ %ax, %a ], [ %bx, %b ]
  %p2 = phi i64 [ 0, %start ], [ 1, %a ], [ %x, %b ]
  %p3 = phi i64 [ %x, %start ], [ %x, %a ], [ 7, %b ]
  %p4 = phi i64 [ %x, %start ], [ 2, %a ], [ 2, %b ]
  %s1 = sub i64 %p1, %p2
  %s2 = xor i64 %p3, %p4
  %s3 = and i64 %s1, %s2
  %positive = icmp sgt i64 %s3, -1
  %chosen = select i1 %positive, i64 %s3, i64 %s1
  ret i64 %chosen
}
