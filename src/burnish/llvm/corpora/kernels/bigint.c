/* Big integers in 32-bit limbs: products by Karatsuba, Montgomery's powers, long division; RSA round trips. */
#include "kernel.h"

enum { MOST_LIMBS = 256, KARATSUBA_LEAST = 24 };

/* a + b into a; the carry out */
static uint32_t add_to(uint32_t *a, int a_size, const uint32_t *b, int b_size) {
  uint64_t carry = 0;
  for (int i = 0; i < a_size && (i < b_size || carry); ++i) {
    carry += (uint64_t)a[i] + (i < b_size ? b[i] : 0);
    a[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return (uint32_t)carry;
}

/* a - b into a; the borrow out */
static uint32_t subtract_from(uint32_t *a, int a_size, const uint32_t *b, int b_size) {
  uint64_t borrow = 0;
  for (int i = 0; i < a_size && (i < b_size || borrow); ++i) {
    uint64_t difference = (uint64_t)a[i] - (i < b_size ? b[i] : 0) - borrow;
    a[i] = (uint32_t)difference;
    borrow = difference >> 63;
  }
  return (uint32_t)borrow;
}

static int compare(const uint32_t *a, const uint32_t *b, int size) {
  while (size-- > 0)
    if (a[size] != b[size])
      return a[size] < b[size] ? -1 : 1;
  return 0;
}

static void multiply_simply(const uint32_t *a, const uint32_t *b, int size, uint32_t *product) {
  memset(product, 0, 2 * (size_t)size * sizeof *product);
  for (int i = 0; i < size; ++i) {
    uint64_t carry = 0;
    for (int j = 0; j < size; ++j) {
      carry += (uint64_t)a[i] * b[j] + product[i + j];
      product[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
    product[i + size] = (uint32_t)carry;
  }
}

/* Three products of half the size; `product` holds 2 size limbs. */
static void multiply(const uint32_t *a, const uint32_t *b, int size, uint32_t *product) {
  if (size < KARATSUBA_LEAST || size % 2) {
    multiply_simply(a, b, size, product);
    return;
  }
  int half = size / 2;
  uint32_t x[MOST_LIMBS / 2 + 1] = {0}, y[MOST_LIMBS / 2 + 1] = {0}, middle[MOST_LIMBS + 2];
  multiply(a, b, half, product);
  multiply(a + half, b + half, half, product + size);
  memcpy(x, a, (size_t)half * sizeof *x);
  memcpy(y, b, (size_t)half * sizeof *y);
  x[half] = add_to(x, half, a + half, half);
  y[half] = add_to(y, half, b + half, half);
  multiply(x, y, half + 1, middle);
  subtract_from(middle, size + 2, product, size);
  subtract_from(middle, size + 2, product + size, size);
  add_to(product + half, size + half, middle, size + 2);
}

/* -1 / odd modulo 2^32 by Newton's iteration */
static uint32_t negative_inverse(uint32_t odd) {
  uint32_t inverse = odd;
  for (int i = 0; i < 5; ++i)
    inverse *= 2 - odd * inverse;
  return 0 - inverse;
}

/* product / 2^(32 size) modulo m; `product` holds 2 size + 1 limbs and is used up. */
static void reduce(uint32_t *product, const uint32_t *m, int size, uint32_t inverse, uint32_t *result) {
  product[2 * size] = 0;
  for (int i = 0; i < size; ++i) {
    uint32_t factor = product[i] * inverse;
    uint64_t carry = 0;
    for (int j = 0; j < size; ++j) {
      carry += (uint64_t)factor * m[j] + product[i + j];
      product[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
    uint32_t high = (uint32_t)carry;
    add_to(product + i + size, size + 1 - i, &high, 1);
  }
  if (product[2 * size] || compare(product + size, m, size) >= 0)
    subtract_from(product + size, size, m, size);
  memcpy(result, product + size, (size_t)size * sizeof *result);
}

/* number modulo m, bit by bit; `number` holds count limbs. */
static void remainder_of(const uint32_t *number, int count, const uint32_t *m, int size, uint32_t *result) {
  memset(result, 0, (size_t)size * sizeof *result);
  for (int bit = 32 * count; bit-- > 0;) {
    uint32_t out = number[bit / 32] >> bit % 32 & 1;
    for (int i = 0; i < size; ++i) {
      uint32_t next = result[i] >> 31;
      result[i] = result[i] << 1 | out;
      out = next;
    }
    if (out || compare(result, m, size) >= 0)
      subtract_from(result, size, m, size);
  }
}

/* base^exponent modulo an odd m */
static void power(const uint32_t *base, const uint32_t *exponent, int exponent_size, const uint32_t *m, int size,
                  uint32_t *result) {
  uint32_t wide[2 * MOST_LIMBS + 1] = {0}, b[MOST_LIMBS], inverse = negative_inverse(m[0]);
  memcpy(wide + size, base, (size_t)size * sizeof *base);
  remainder_of(wide, 2 * size, m, size, b);
  memset(wide, 0, sizeof wide);
  wide[size] = 1;
  remainder_of(wide, size + 1, m, size, result);
  for (int bit = 32 * exponent_size; bit-- > 0;) {
    multiply(result, result, size, wide);
    reduce(wide, m, size, inverse, result);
    if (exponent[bit / 32] >> bit % 32 & 1) {
      multiply(result, b, size, wide);
      reduce(wide, m, size, inverse, result);
    }
  }
  memset(wide, 0, sizeof wide);
  memcpy(wide, result, (size_t)size * sizeof *result);
  reduce(wide, m, size, inverse, result);
}

static void random_limbs(uint32_t *to, int size, uint64_t *state) {
  for (int i = 0; i < size; ++i)
    to[i] = (uint32_t)next_random(state);
}

/* 2^127 - 1 is prime: what Fermat says must hold for any base. */
static void check_fermat(uint64_t *state) {
  uint32_t m[4] = {~0u, ~0u, ~0u, ~0u >> 1}, exponent[4] = {~0u - 1, ~0u, ~0u, ~0u >> 1}, base[4], found[4];
  random_limbs(base, 4, state);
  base[3] >>= 2;
  power(base, exponent, 4, m, 4, found);
  FAULT(found[0] ^= 4);
  check(found[0] == 1 && !found[1] && !found[2] && !found[3], "Fermat's little theorem");
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 20);
  uint64_t state = input.seed, sum = FNV_START;
  static uint32_t a[MOST_LIMBS], b[MOST_LIMBS], c[MOST_LIMBS], m[MOST_LIMBS], left[2 * MOST_LIMBS + 1];
  static uint32_t right[2 * MOST_LIMBS + 1];
  for (uint32_t i = 0; i < input.size; ++i) {
    int size = 8 << i % 4; /* 256 to 2,048 bits */
    check_fermat(&state);
    random_limbs(a, size, &state);
    random_limbs(b, size, &state);
    random_limbs(m, size, &state);
    m[0] |= 1;
    m[size - 1] |= 1u << 31;
    multiply(a, b, size, left);
    multiply_simply(a, b, size, right);
    check(memcmp(left, right, 2 * (size_t)size * sizeof *left) == 0, "Karatsuba's product is another");
    uint32_t one = random_below(&state, 1u << 16), two = random_below(&state, 1u << 16), both = one * two;
    power(a, &one, 1, m, size, b);
    power(b, &two, 1, m, size, c);
    power(a, &both, 1, m, size, b);
    check(compare(b, c, size) == 0, "(a^x)^y is not a^(x y)");
    sum = mix_bytes(mix_bytes(sum, left, 2 * (size_t)size * sizeof *left), b, (size_t)size * sizeof *b);
  }
  printf("%u rounds\n", input.size);
  print_checksum(sum);
  return 0;
}
