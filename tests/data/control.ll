; Control that comes and goes in other ways than by branches and returns, and a switch with two edges to a block.
target triple = "x86_64-unknown-linux-gnu"
declare void @may_throw()
declare i32 @__gxx_personality_v0(...)
declare void @use(i32)
declare i32 @musted(i32, ptr)
define i32 @must(i1 %c, i32 %a, ptr %p) {
  br i1 %c, label %x, label %y
x:
  store i32 %a, ptr %p
  call void @use(i32 %a)
  %r = musttail call i32 @must2(i1 %c, i32 %a, ptr %p)
  ret i32 %r
y:
  store i32 %a, ptr %p
  call void @use(i32 %a)
  %s = musttail call i32 @must2(i1 %c, i32 %a, ptr %p)
  ret i32 %s
}
declare i32 @must2(i1, i32, ptr)
define i32 @inv(i1 %c, i32 %a, ptr %p) personality ptr @__gxx_personality_v0 {
  br i1 %c, label %x, label %y
x:
  store i32 %a, ptr %p
  invoke void @may_throw() to label %ok unwind label %lp
y:
  store i32 %a, ptr %p
  invoke void @may_throw() to label %ok unwind label %lp
ok:
  %o = phi i32 [ 1, %x ], [ 2, %y ]
  ret i32 %o
lp:
  %l = landingpad { ptr, i32 } cleanup
  %e = extractvalue { ptr, i32 } %l, 1
  br i1 %c, label %r1, label %r2
r1:
  call void @use(i32 %e)
  resume { ptr, i32 } %l
r2:
  call void @use(i32 %e)
  resume { ptr, i32 } %l
}
define i32 @cb(i1 %c, i32 %a, ptr %p) {
  br i1 %c, label %x, label %y
x:
  store i32 %a, ptr %p
  call void @use(i32 4)
  callbr void asm sideeffect "", "!i"() to label %ok [label %no]
y:
  store i32 %a, ptr %p
  call void @use(i32 4)
  callbr void asm sideeffect "", "!i"() to label %ok [label %no]
ok:
  ret i32 0
no:
  ret i32 1
}
define i32 @va(i1 %c, ptr %l, ...) {
  br i1 %c, label %x, label %y
x:
  %v = va_arg ptr %l, i32
  call void @use(i32 %v)
  br label %z
y:
  %w = va_arg ptr %l, i32
  call void @use(i32 %w)
  br label %z
z:
  %o = phi i32 [ %v, %x ], [ %w, %y ]
  ret i32 %o
}
define i32 @lifetimes(i1 %c) {
  %s = alloca i32
  br i1 %c, label %x, label %y
x:
  call void @llvm.lifetime.start.p0(ptr %s)
  store i32 1, ptr %s
  %v = load i32, ptr %s
  call void @llvm.lifetime.end.p0(ptr %s)
  call void @use(i32 %v)
  br label %z
y:
  call void @llvm.lifetime.start.p0(ptr %s)
  store i32 1, ptr %s
  %w = load i32, ptr %s
  call void @llvm.lifetime.end.p0(ptr %s)
  call void @use(i32 %w)
  br label %z
z:
  ret i32 0
}
define void @dead(i1 %c, ptr %p) {
  br i1 %c, label %x, label %y
x:
  store i32 1, ptr %p
  call void @use(i32 1)
  call void @abort()
  unreachable
y:
  store i32 1, ptr %p
  call void @use(i32 1)
  call void @abort()
  unreachable
}
define i32 @blockaddr(i1 %c, i32 %a, ptr %p) {
  %t = select i1 %c, ptr blockaddress(@blockaddr, %x), ptr blockaddress(@blockaddr, %y)
  indirectbr ptr %t, [label %x, label %y]
x:
  store i32 %a, ptr %p
  call void @use(i32 4)
  br label %z
y:
  store i32 %a, ptr %p
  call void @use(i32 4)
  br label %z
z:
  ret i32 %a
}
define i32 @switchsame(i32 %v, i1 %c, i32 %a, ptr %p) {
  br i1 %c, label %x, label %y
x:
  store i32 %a, ptr %p
  call void @use(i32 4)
  call void @use(i32 5)
  %k = load i32, ptr @g
  switch i32 %k, label %d [ i32 1, label %e
                            i32 2, label %e
                            i32 7, label %f ]
y:
  %m = mul i32 %a, 5
  store i32 %m, ptr %p
  call void @use(i32 4)
  call void @use(i32 5)
  %l = load i32, ptr @g
  switch i32 %l, label %d [ i32 1, label %e
                            i32 2, label %e
                            i32 7, label %f ]
d:
  %r = phi i32 [ 1, %x ], [ 2, %y ]
  ret i32 %r
e:
  %s = phi i32 [ %k, %x ], [ %k, %x ], [ %l, %y ], [ %l, %y ]
  ret i32 %s
f:
  ret i32 4
}
@g = global i32 0
declare void @abort() noreturn
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
