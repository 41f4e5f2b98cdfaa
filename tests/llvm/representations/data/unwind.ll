; Exceptions: an unwinding function ends in resume; where it is unreachable, control does not return.
declare void @may_throw()
declare i32 @__gxx_personality_v0(...)

define linkonce_odr void @f() personality ptr @__gxx_personality_v0 {
  invoke void @may_throw() to label %normal unwind label %caught
normal:
  unreachable
caught:
  %e = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %e
}
