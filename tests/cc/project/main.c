#include <stdio.h>

#include "sum.h"

int main(void) {
  int values[] = {3, -1, 4, 1, -5, 9};
  printf("%d %d\n", rows(values, 6), shape(2) + shape(5));
  return 0;
}
