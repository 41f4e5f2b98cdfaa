/* Dense matrix products: by definition, blocked with packing, and Strassen's; and powers of an integer matrix. */
#include "kernel.h"
#include <math.h>

enum { BLOCK = 48, STRASSEN_LEAST = 64 };

struct matrix {
  double *at;
  int stride; /* from one row to the next */
};

static void fill(double *values, size_t count, uint64_t *state) {
  for (size_t i = 0; i < count; ++i)
    values[i] = random_unit(state) - 0.5;
}

static int least(int a, int b) { return a < b ? a : b; }

/* c += a * b for a block: rows x depth times depth x columns, with b packed into columns. */
static void multiply_block(struct matrix a, const double *packed, struct matrix c, int rows, int depth, int columns) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const double *row = a.at + (size_t)i * a.stride, *column = packed + (size_t)j * depth;
      double even = 0, odd = 0;
      int k = 0;
      for (; k + 1 < depth; k += 2) {
        even += row[k] * column[k];
        odd += row[k + 1] * column[k + 1];
      }
      if (k < depth)
        even += row[k] * column[k];
      c.at[(size_t)i * c.stride + j] += even + odd;
    }
}

static void multiply_blocked(struct matrix a, struct matrix b, struct matrix c, int n) {
  double packed[BLOCK * BLOCK];
  for (int k = 0; k < n; k += BLOCK)
    for (int j = 0; j < n; j += BLOCK) {
      int depth = least(BLOCK, n - k), columns = least(BLOCK, n - j);
      for (int y = 0; y < columns; ++y)
        for (int x = 0; x < depth; ++x)
          packed[y * depth + x] = b.at[(size_t)(k + x) * b.stride + j + y];
      for (int i = 0; i < n; i += BLOCK) {
        struct matrix left = {a.at + (size_t)i * a.stride + k, a.stride};
        struct matrix result = {c.at + (size_t)i * c.stride + j, c.stride};
        multiply_block(left, packed, result, least(BLOCK, n - i), depth, columns);
      }
    }
}

static struct matrix quarter(struct matrix m, int half, int row, int column) {
  struct matrix part = {m.at + (size_t)(row * half) * m.stride + column * half, m.stride};
  return part;
}

/* to = a + sign * b */
static void combine(struct matrix to, struct matrix a, double sign, struct matrix b, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      to.at[(size_t)i * to.stride + j] = a.at[(size_t)i * a.stride + j] + sign * b.at[(size_t)i * b.stride + j];
}

static void clear(struct matrix m, int n) {
  for (int i = 0; i < n; ++i)
    memset(m.at + (size_t)i * m.stride, 0, (size_t)n * sizeof *m.at);
}

/* c = a * b in seven products of half the size, where the size is even and large enough. */
static void strassen(struct matrix a, struct matrix b, struct matrix c, int n) {
  clear(c, n);
  if (n % 2 || n < STRASSEN_LEAST) {
    multiply_blocked(a, b, c, n);
    return;
  }
  /* each product: (a[i] + sign a[j]) (b[k] + sign b[l]), and where it is added or subtracted; 4: nothing */
  static const signed char recipe[7][10] = {{0, 1, 3, 0, 1, 3, 1, 0, 0, 1},  {2, 1, 3, 0, 1, 4, 0, 0, 1, -1},
                                            {0, 1, 4, 1, -1, 3, 0, 1, 0, 1}, {3, 1, 4, 2, -1, 0, 1, 0, 1, 0},
                                            {0, 1, 1, 3, 1, 4, -1, 1, 0, 0}, {2, -1, 0, 0, 1, 1, 0, 0, 0, 1},
                                            {1, -1, 3, 2, 1, 3, 1, 0, 0, 0}};
  int half = n / 2;
  double *space = allocate(3 * (size_t)half * half, sizeof *space);
  struct matrix left = {space, half}, right = {space + (size_t)half * half, half};
  struct matrix product = {space + 2 * (size_t)half * half, half};
  for (int i = 0; i < 7; ++i) {
    const signed char *r = recipe[i];
    struct matrix first = quarter(a, half, r[0] / 2, r[0] % 2), second = quarter(b, half, r[3] / 2, r[3] % 2);
    combine(left, first, r[2] == 4 ? 0 : r[1], r[2] == 4 ? first : quarter(a, half, r[2] / 2, r[2] % 2), half);
    combine(right, second, r[5] == 4 ? 0 : r[4], r[5] == 4 ? second : quarter(b, half, r[5] / 2, r[5] % 2), half);
    strassen(left, right, product, half);
    for (int q = 0; q < 4; ++q)
      if (r[6 + q]) {
        struct matrix to = quarter(c, half, q / 2, q % 2);
        combine(to, to, r[6 + q], product, half);
      }
  }
  free(space);
}

static double by_definition(struct matrix a, struct matrix b, int n, int row, int column) {
  double sum = 0;
  for (int k = 0; k < n; ++k)
    sum += a.at[(size_t)row * a.stride + k] * b.at[(size_t)k * b.stride + column];
  return sum;
}

/* Fibonacci's numbers modulo 2^64 by powers of a 2 x 2 matrix. */
static uint64_t fibonacci(uint64_t n) {
  uint64_t power[2][2] = {{1, 1}, {1, 0}}, result[2][2] = {{1, 0}, {0, 1}};
  for (; n; n >>= 1) {
    uint64_t next[2][2];
    for (int both = n & 1; both >= 0; --both) {
      uint64_t (*to)[2] = both ? result : power;
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
          next[i][j] = to[i][0] * power[0][j] + to[i][1] * power[1][j];
      memcpy(to, next, sizeof next);
    }
  }
  return result[0][1];
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 4096);
  int n = (int)input.size;
  size_t count = (size_t)n * n;
  uint64_t state = input.seed;
  double *space = allocate(4 * count, sizeof *space), trace = 0, total = 0;
  struct matrix a = {space, n}, b = {space + count, n}, c = {space + 2 * count, n}, d = {space + 3 * count, n};
  fill(a.at, 2 * count, &state);
  multiply_blocked(a, b, c, n);
  strassen(a, b, d, n);
  FAULT(c.at[count / 2] += 1e-3);
  for (size_t i = 0; i < count; ++i) {
    check(fabs(c.at[i] - d.at[i]) < 1e-9 * n, "the blocked product and Strassen's differ");
    total += c.at[i] * c.at[i];
  }
  for (int i = 0; i < 50; ++i) {
    int row = (int)random_below(&state, input.size), column = (int)random_below(&state, input.size);
    check(fabs(by_definition(a, b, n, row, column) - c.at[(size_t)row * n + column]) < 1e-9 * n, "definition");
  }
  for (int i = 0; i < n; ++i)
    trace += c.at[(size_t)i * n + i];
  check(fibonacci(90) == 2880067194370816120u, "Fibonacci's 90th number");
  printf("%d x %d: trace %.5f, squares %.4f; Fibonacci %llu\n", n, n, trace, total,
         (unsigned long long)fibonacci(next_random(&state)));
  free(space);
  return 0;
}
