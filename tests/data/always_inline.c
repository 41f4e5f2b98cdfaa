/* What the programmer demands: `step` has no body of its own after opening, at any level. */
static inline __attribute__((always_inline)) int step(int x, int by) {
  int y = x * 3 + by;
  return y ^ (y >> 4);
}

int walk(int x) {
  x = step(x, 1);
  x = step(x, 2);
  x = step(x, 3);
  x = step(x, 4);
  return x;
}

__attribute__((noinline)) int stay(int x) { return x + 1; }
int call_stay(int x) { return stay(x); }
