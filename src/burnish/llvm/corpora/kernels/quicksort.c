/* Introsort: quicksort by the median of three, heapsort where it degenerates, insertion sort at the end. */
#include "kernel.h"

enum { SMALL_RANGE = 16 };

static void swap(uint32_t *a, uint32_t *b) {
  uint32_t held = *a;
  *a = *b;
  *b = held;
}

static void insertion_sort(uint32_t *values, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    uint32_t value = values[i];
    size_t at = i;
    for (; at > 0 && values[at - 1] > value; --at)
      values[at] = values[at - 1];
    values[at] = value;
  }
}

static void sift_down(uint32_t *heap, size_t at, size_t count) {
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= count)
      return;
    if (child + 1 < count && heap[child + 1] > heap[child])
      ++child;
    if (heap[at] >= heap[child])
      return;
    swap(&heap[at], &heap[child]);
    at = child;
  }
}

static void heapsort(uint32_t *values, size_t count) {
  for (size_t i = count / 2; i-- > 0;)
    sift_down(values, i, count);
  for (size_t end = count; end-- > 1;) {
    swap(&values[0], &values[end]);
    sift_down(values, 0, end);
  }
}

static void median_to_front(uint32_t *values, size_t count) {
  uint32_t *first = &values[0], *middle = &values[count / 2], *last = &values[count - 1];
  if (*middle < *first)
    swap(middle, first);
  if (*last < *middle)
    swap(last, middle);
  if (*middle < *first)
    swap(middle, first);
  swap(first, middle);
}

/* Hoare's partition by the first value; what is left of the result is not greater than what follows. */
static size_t partition(uint32_t *values, size_t count) {
  uint32_t pivot = values[0];
  size_t low = 0, high = count;
  for (;;) {
    do
      --high;
    while (values[high] > pivot);
    while (low < high && values[low] < pivot)
      ++low;
    if (low >= high)
      return high + 1;
    swap(&values[low++], &values[high]);
  }
}

static void introsort(uint32_t *values, size_t count, int depth) {
  while (count > SMALL_RANGE) {
    if (depth-- == 0) {
      heapsort(values, count);
      return;
    }
    median_to_front(values, count);
    size_t split = partition(values, count);
    if (split == count)
      --split; /* the pivot is the greatest: it is last already, or equal to the last */
    introsort(values + split, count - split, depth);
    count = split;
  }
  insertion_sort(values, count);
}

static int log2_floor(size_t value) {
  int result = 0;
  while (value >>= 1)
    ++result;
  return result;
}

enum shape { RANDOM, FEW_VALUES, ASCENDING, DESCENDING, ORGAN_PIPE, SHAPES };

static uint32_t shaped(enum shape shape, uint32_t i, uint32_t count, uint64_t *state) {
  switch (shape) {
  case RANDOM:
    return (uint32_t)next_random(state);
  case FEW_VALUES:
    return random_below(state, 7);
  case ASCENDING:
    return i;
  case DESCENDING:
    return count - i;
  default:
    return i < count / 2 ? i : count - i;
  }
}

int main(int argc, char **argv) {
  static const char *const names[SHAPES] = {"random", "few values", "ascending", "descending", "organ pipe"};
  struct input input = read_input(argc, argv, 1, 1u << 26);
  uint32_t count = input.size, *values = allocate(count, sizeof *values);
  uint64_t state = input.seed;
  for (int shape = 0; shape < SHAPES; ++shape) {
    uint64_t sum_before = 0, xor_before = 0, sum_after = 0, xor_after = 0, ordered = FNV_START;
    for (uint32_t i = 0; i < count; ++i) {
      values[i] = shaped((enum shape)shape, i, count, &state);
      sum_before += values[i];
      xor_before ^= values[i] * 0x9e3779b97f4a7c15u;
    }
    introsort(values, count, 2 * log2_floor(count));
    FAULT(values[count / 2] += 1);
    for (uint32_t i = 0; i < count; ++i) {
      check(i == 0 || values[i - 1] <= values[i], "the values are not in order");
      sum_after += values[i];
      xor_after ^= values[i] * 0x9e3779b97f4a7c15u;
      ordered = mix(ordered, values[i]);
    }
    check(sum_before == sum_after && xor_before == xor_after, "the values are not those that were given");
    printf("%s: median %u, ", names[shape], values[count / 2]);
    print_checksum(ordered);
  }
  free(values);
  return 0;
}
