int chosen(void) { return 7; }

int unused_in_library(int a, int b) {
  int sum = 0;
  while (a--) sum += b * a;
  return sum;
}
