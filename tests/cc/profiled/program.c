// The first argument is the number of steps. A training run with 2,000 leaves `report` and most of `rarely` cold.
#include <stdio.h>
#include <stdlib.h>

unsigned report(unsigned n, const char *what) {
  unsigned total = 0;
  for (unsigned i = 0; i < n; ++i) {
    printf("%s %u\n", what, i * n);
    total += i ^ n;
    if (total % 7 == 3)
      total += n / 3;
  }
  return total;
}

unsigned rarely(unsigned n) {
  if (n > 1000000)
    return report(n, "many");
  return n == 0 ? report(3, "none") : n;
}

__attribute__((noinline)) unsigned step(unsigned x) {
  for (int i = 0; i < 8; ++i)
    x = x % 7 > 2 ? (x >> 1) ^ (x * 3) : x * 5 + 1;
  return x;
}

int main(int argc, char **argv) {
  unsigned sum = 0, n = argc > 1 ? atoi(argv[1]) : 2000;
  for (unsigned i = 0; i < n; ++i)
    sum ^= step(sum + i);
  printf("%u %u\n", sum, rarely(n) ^ rarely(n + 1) ^ rarely(n + 2));
  return 0;
}
