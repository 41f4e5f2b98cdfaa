/* LU factors with partial pivoting: solve, invert, determinant; checked by residuals and by the factors' product. */
#include "kernel.h"
#include <math.h>

static void swap_rows(double *matrix, int n, int a, int b) {
  for (int j = 0; j < n; ++j) {
    double held = matrix[(size_t)a * n + j];
    matrix[(size_t)a * n + j] = matrix[(size_t)b * n + j];
    matrix[(size_t)b * n + j] = held;
  }
}

static int find_pivot(const double *matrix, int n, int column) {
  int best = column;
  for (int i = column + 1; i < n; ++i)
    if (fabs(matrix[(size_t)i * n + column]) > fabs(matrix[(size_t)best * n + column]))
      best = i;
  return best;
}

/* Overwrite the matrix by its factors and the permutation of its rows; return the permutation's sign. */
static int factorize(double *matrix, int n, int *rows) {
  int sign = 1;
  for (int i = 0; i < n; ++i)
    rows[i] = i;
  for (int k = 0; k < n; ++k) {
    int pivot = find_pivot(matrix, n, k);
    check(fabs(matrix[(size_t)pivot * n + k]) > 1e-12, "the matrix is singular");
    if (pivot != k) {
      swap_rows(matrix, n, pivot, k);
      int held = rows[pivot];
      rows[pivot] = rows[k];
      rows[k] = held;
      sign = -sign;
    }
    const double *top = matrix + (size_t)k * n;
    for (int i = k + 1; i < n; ++i) {
      double *row = matrix + (size_t)i * n, factor = row[k] / top[k];
      row[k] = factor;
      for (int j = k + 1; j < n; ++j)
        row[j] -= factor * top[j];
    }
  }
  return sign;
}

static void solve(const double *factors, int n, const int *rows, const double *right, double *x) {
  for (int i = 0; i < n; ++i) {
    double sum = right[rows[i]];
    for (int j = 0; j < i; ++j)
      sum -= factors[(size_t)i * n + j] * x[j];
    x[i] = sum;
  }
  for (int i = n; i-- > 0;) {
    for (int j = i + 1; j < n; ++j)
      x[i] -= factors[(size_t)i * n + j] * x[j];
    x[i] /= factors[(size_t)i * n + i];
  }
}

/* The greatest component of matrix * x - right. */
static double residual(const double *matrix, int n, const double *x, const double *right) {
  double worst = 0;
  for (int i = 0; i < n; ++i) {
    double sum = -right[i];
    for (int j = 0; j < n; ++j)
      sum += matrix[(size_t)i * n + j] * x[j];
    worst = fmax(worst, fabs(sum));
  }
  return worst;
}

static void check_product(const double *matrix, const double *factors, int n, const int *rows) {
  for (int i = 0; i < n; i += 1 + n / 16)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int k = 0; k <= i && k <= j; ++k)
        sum += (k == i ? 1 : factors[(size_t)i * n + k]) * factors[(size_t)k * n + j];
      check(fabs(sum - matrix[(size_t)rows[i] * n + j]) < 1e-10 * n, "the factors' product is another matrix");
    }
}

static double invert_trace(const double *factors, int n, const int *rows, double *inverse) {
  double *unit = allocate((size_t)n, sizeof *unit), trace = 0;
  for (int j = 0; j < n; ++j) {
    unit[j] = 1;
    solve(factors, n, rows, unit, inverse + (size_t)j * n); /* row j holds column j */
    unit[j] = 0;
    trace += inverse[(size_t)j * n + j];
  }
  free(unit);
  return trace;
}

/* The greatest distance of matrix * inverse from the identity, in one row of it. */
static double identity_error(const double *matrix, const double *inverse, int n, int row) {
  double worst = 0;
  for (int j = 0; j < n; ++j) {
    double sum = row == j ? -1 : 0;
    for (int k = 0; k < n; ++k)
      sum += matrix[(size_t)row * n + k] * inverse[(size_t)j * n + k];
    worst = fmax(worst, fabs(sum));
  }
  return worst;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 4096);
  int n = (int)input.size, *rows = allocate(input.size, sizeof *rows);
  size_t count = (size_t)n * n;
  uint64_t state = input.seed;
  double *matrix = allocate(count, sizeof *matrix), *factors = allocate(count, sizeof *factors);
  double *inverse = allocate(count, sizeof *inverse);
  double *right = allocate(input.size, sizeof *right), *x = allocate(input.size, sizeof *x);
  for (size_t i = 0; i < count; ++i)
    matrix[i] = random_unit(&state) - 0.5 + (i % (count / (size_t)n + 1) == 0 ? 2 : 0);
  for (int i = 0; i < n; ++i)
    right[i] = random_unit(&state);
  memcpy(factors, matrix, count * sizeof *factors);
  int sign = factorize(factors, n, rows);
  solve(factors, n, rows, right, x);
  FAULT(x[n / 2] += 1e-3);
  check(residual(matrix, n, x, right) < 1e-9 * n, "the residual is large");
  check_product(matrix, factors, n, rows);
  double trace = invert_trace(factors, n, rows, inverse), logarithm = 0, sum = 0;
  for (int i = 0; i < 5; ++i)
    check(identity_error(matrix, inverse, n, (int)random_below(&state, input.size)) < 1e-8 * n, "the inverse");
  for (int i = 0; i < n; ++i) {
    double pivot = factors[(size_t)i * n + i];
    sign = pivot < 0 ? -sign : sign;
    logarithm += log(fabs(pivot));
    sum += x[i];
  }
  printf("%d x %d: solution sums to %.5f; determinant %s exp(%.5f); trace of the inverse %.4f\n", n, n, sum,
         sign < 0 ? "-" : "+", logarithm, trace);
  free(rows);
  free(matrix);
  free(factors);
  free(inverse);
  free(right);
  free(x);
  return 0;
}
