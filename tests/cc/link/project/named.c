// Assembly that says names: no pass sees that they are used.
__attribute__((used)) static int own_value = 5;

int twice(int value) {
  int result = 2 * value - 5;
  __asm__("addl own_value(%%rip), %0" : "+r"(result));
  return result;
}
