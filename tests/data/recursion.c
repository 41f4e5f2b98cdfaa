/* Functions that call themselves and each other. */
static int is_odd(unsigned n);
int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1); }
static int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1); }

unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0)
    return n + 1;
  if (n == 0)
    return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

unsigned gcd(unsigned a, unsigned b) { return b ? gcd(b, a % b) : a; }

static int partition(int *values, int low, int high) {
  int pivot = values[high], i = low;
  for (int j = low; j < high; ++j)
    if (values[j] < pivot) {
      int swap = values[i];
      values[i++] = values[j];
      values[j] = swap;
    }
  values[high] = values[i];
  values[i] = pivot;
  return i;
}

void quicksort(int *values, int low, int high) {
  if (low < high) {
    int middle = partition(values, low, high);
    quicksort(values, low, middle - 1);
    quicksort(values, middle + 1, high);
  }
}
