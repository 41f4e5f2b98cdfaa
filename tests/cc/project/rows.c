#include "sum.h"

int rows(const int *values, int count) {
  int total = 0;
  for (int i = 0; i < count; i++)
    total += values[i] > 0 ? sum(values[i]) : either(values[i], i);
  return total;
}
