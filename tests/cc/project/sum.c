#include "sum.h"

static int twice(int x, int y) {
  for (int i = 0; i < y; i++)
    x = x * 3 + (x >> 2) - i;
  return x ^ (x >> 5);
}

int either(int a, int b) {
  if (a > b)
    return twice(a, b) + twice(a, 1);
  return twice(b, a) + twice(b, 1);
}

int sum(int a) { return twice(a, 3) + twice(a, 4) + either(a, 1); }
