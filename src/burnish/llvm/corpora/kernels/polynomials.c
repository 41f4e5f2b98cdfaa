/* Polynomials modulo a prime: products by the number-theoretic transform, inverse series, and values at points. */
#include "kernel.h"

enum { GENERATOR = 3 };

static const uint32_t PRIME = 998244353; /* 119 * 2^23 + 1 */

static uint32_t add(uint32_t a, uint32_t b) {
  uint32_t sum = a + b;
  return sum >= PRIME ? sum - PRIME : sum;
}

static uint32_t subtract(uint32_t a, uint32_t b) { return a >= b ? a - b : a + PRIME - b; }

static uint32_t times(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b % PRIME); }

static uint32_t power(uint32_t base, uint32_t exponent) {
  uint32_t result = 1;
  for (; exponent; exponent >>= 1, base = times(base, base))
    if (exponent & 1)
      result = times(result, base);
  return result;
}

static uint32_t inverse(uint32_t a) { return power(a, PRIME - 2); }

/* Forth in natural order, by decimation in frequency: the result is in bit-reversed order, as `back` takes it. */
static void transform(uint32_t *values, uint32_t count) {
  for (uint32_t half = count / 2; half; half /= 2) {
    uint32_t root = power(GENERATOR, (PRIME - 1) / (2 * half));
    for (uint32_t start = 0; start < count; start += 2 * half)
      for (uint32_t i = 0, turn = 1; i < half; ++i, turn = times(turn, root)) {
        uint32_t *even = &values[start + i], *odd = even + half, difference = subtract(*even, *odd);
        *even = add(*even, *odd);
        *odd = times(difference, turn);
      }
  }
}

static void transform_back(uint32_t *values, uint32_t count) {
  for (uint32_t half = 1; half < count; half *= 2) {
    uint32_t root = inverse(power(GENERATOR, (PRIME - 1) / (2 * half)));
    for (uint32_t start = 0; start < count; start += 2 * half)
      for (uint32_t i = 0, turn = 1; i < half; ++i, turn = times(turn, root)) {
        uint32_t *even = &values[start + i], *odd = even + half, turned = times(*odd, turn);
        *odd = subtract(*even, turned);
        *even = add(*even, turned);
      }
  }
  uint32_t scale = inverse(count % PRIME);
  for (uint32_t i = 0; i < count; ++i)
    values[i] = times(values[i], scale);
}

/* The first `room` coefficients of a product; `space` holds 2 * size numbers, a power of two not below both degrees. */
static void multiply(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count, uint32_t *product,
                     uint32_t room, uint32_t *space, uint32_t size) {
  uint32_t *x = space, *y = space + size;
  memset(space, 0, 2 * (size_t)size * sizeof *space);
  memcpy(x, a, a_count * sizeof *x);
  memcpy(y, b, b_count * sizeof *y);
  transform(x, size);
  transform(y, size);
  for (uint32_t i = 0; i < size; ++i)
    x[i] = times(x[i], y[i]);
  transform_back(x, size);
  memcpy(product, x, room * sizeof *x);
}

/* 1 / a as a power series, by Newton's iteration: twice as many terms each time. */
static void invert_series(const uint32_t *a, uint32_t count, uint32_t *result, uint32_t *space, uint32_t *held) {
  memset(result, 0, count * sizeof *result);
  result[0] = inverse(a[0]);
  for (uint32_t known = 1; known < count; known *= 2) {
    multiply(a, 2 * known, result, known, held, 2 * known, space, 4 * known);
    for (uint32_t i = 0; i < 2 * known; ++i)
      held[i] = subtract(i == 0 ? 2 : 0, held[i]);
    multiply(held, 2 * known, result, known, result, 2 * known, space, 4 * known);
  }
}

static uint32_t value_at(const uint32_t *coefficients, uint32_t count, uint32_t point) {
  uint32_t value = 0;
  while (count-- > 0)
    value = add(times(value, point), coefficients[count]);
  return value;
}

/* How many ways there are to write each number as a sum: 1 / product of (1 - x^k), by Euler's pentagonal numbers. */
static void euler_series(uint32_t *to, uint32_t count) {
  memset(to, 0, count * sizeof *to);
  for (uint32_t k = 0, first = 0; first < count; ++k, first = k * (3 * k - 1) / 2) {
    uint32_t sign = k % 2 ? PRIME - 1 : 1, second = k * (3 * k + 1) / 2;
    to[first] = sign;
    if (second < count)
      to[second] = sign;
  }
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 7, 20);
  uint32_t count = 1u << input.size;
  uint64_t state = input.seed, sum = FNV_START;
  uint32_t *a = allocate(count, sizeof *a), *b = allocate(count, sizeof *b);
  uint32_t *product = allocate(2 * (size_t)count, sizeof *product), *held = allocate(2 * (size_t)count, sizeof *held);
  uint32_t *space = allocate(8 * (size_t)count, sizeof *space);
  for (uint32_t i = 0; i < count; ++i) {
    a[i] = random_below(&state, PRIME);
    b[i] = random_below(&state, PRIME);
  }
  multiply(a, count, b, count, product, 2 * count, space, 2 * count);
  FAULT(++product[count / 2]);
  for (int i = 0; i < 10; ++i) { /* two polynomials that agree at random points are the same */
    uint32_t point = random_below(&state, PRIME);
    uint32_t expected = times(value_at(a, count, point), value_at(b, count, point));
    check(value_at(product, 2 * count, point) == expected, "the product has another value");
  }
  for (uint32_t i = 0; i < 2 * count; ++i)
    sum = mix(sum, product[i]);
  euler_series(a, count);
  invert_series(a, count, b, space, held);
  check(b[5] == 7 && b[100] == 190569292, "the partitions of 5 and of 100");
  multiply(a, count, b, count, product, count, space, 2 * count);
  for (uint32_t i = 0; i < count; ++i)
    check(product[i] == (i == 0), "the series times its inverse is not 1");
  printf("%u coefficients; partitions of %u: %u modulo %u\n", count, count - 1, b[count - 1], PRIME);
  print_checksum(sum);
  free(a);
  free(b);
  free(product);
  free(held);
  free(space);
  return 0;
}
