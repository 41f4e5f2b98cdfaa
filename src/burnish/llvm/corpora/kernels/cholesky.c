/* Cholesky's factor of a covariance matrix, blocked and packed; a Gaussian process is fitted with it. */
#include "kernel.h"
#include <math.h>

enum { BLOCK = 32 };

/* Row i of a lower triangle begins at i (i + 1) / 2. */
static double *row_of(double *triangle, int i) { return triangle + (size_t)i * (i + 1) / 2; }
static const double *const_row_of(const double *triangle, int i) { return triangle + (size_t)i * (i + 1) / 2; }

static double dot(const double *a, const double *b, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

static double covariance(double a, double b) {
  double distance = (a - b) * 8;
  return exp(-0.5 * distance * distance);
}

/* Overwrite columns `from` to `to` of rows from `from` on, given that earlier columns are done. */
static void factorize_panel(double *triangle, int n, int from, int to) {
  for (int j = from; j < to; ++j) {
    double *pivot_row = row_of(triangle, j), pivot = pivot_row[j] - dot(pivot_row + from, pivot_row + from, j - from);
    check(pivot > 0, "the matrix is not positive definite");
    pivot_row[j] = sqrt(pivot);
    for (int i = j + 1; i < n; ++i) {
      double *row = row_of(triangle, i);
      row[j] = (row[j] - dot(row + from, pivot_row + from, j - from)) / pivot_row[j];
    }
  }
}

static void factorize(double *triangle, int n) {
  for (int from = 0; from < n; from += BLOCK) {
    int to = from + BLOCK < n ? from + BLOCK : n;
    factorize_panel(triangle, n, from, to);
    for (int i = to; i < n; ++i) { /* what the panel takes from all that is right of it */
      double *row = row_of(triangle, i);
      for (int j = to; j <= i; ++j)
        row[j] -= dot(row + from, row_of(triangle, j) + from, to - from);
    }
  }
}

static void solve(const double *factor, int n, double *x) {
  for (int i = 0; i < n; ++i) {
    const double *row = const_row_of(factor, i);
    x[i] = (x[i] - dot(row, x, i)) / row[i];
  }
  for (int i = n; i-- > 0;) {
    const double *row = const_row_of(factor, i);
    x[i] /= row[i];
    for (int j = 0; j < i; ++j)
      x[j] -= row[j] * x[i];
  }
}

static void check_factor(const double *matrix, const double *factor, int n) {
  for (int i = 0; i < n; i += 1 + n / 40)
    for (int j = 0; j <= i; ++j) {
      double product = dot(const_row_of(factor, i), const_row_of(factor, j), j + 1);
      check(fabs(product - const_row_of(matrix, i)[j]) < 1e-10 * n, "the factor's square is another matrix");
    }
}

static double predict(const double *places, const double *weights, int n, double at) {
  double sum = 0;
  for (int i = 0; i < n; ++i)
    sum += weights[i] * covariance(places[i], at);
  return sum;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 4, 1u << 13);
  int n = (int)input.size;
  size_t count = (size_t)n * (n + 1) / 2;
  uint64_t state = input.seed;
  double *matrix = allocate(count, sizeof *matrix), *factor = allocate(count, sizeof *factor);
  double *places = allocate(input.size, sizeof *places), *values = allocate(input.size, sizeof *values);
  double *weights = allocate(input.size, sizeof *weights), logarithm = 0, worst = 0;
  for (int i = 0; i < n; ++i) {
    places[i] = (i + random_unit(&state)) / n;
    values[i] = sin(9 * places[i]) + 0.01 * (random_unit(&state) - 0.5);
    for (int j = 0; j <= i; ++j)
      row_of(matrix, i)[j] = covariance(places[i], places[j]) + (i == j ? 0.01 : 0);
  }
  memcpy(factor, matrix, count * sizeof *factor);
  memcpy(weights, values, input.size * sizeof *weights);
  factorize(factor, n);
  FAULT(factor[count / 3] += 1e-3; factor[0] += 1e-3);
  check_factor(matrix, factor, n);
  solve(factor, n, weights);
  for (int i = 0; i < n; ++i) {
    double found = 0;
    for (int j = 0; j < n; ++j)
      found += (i >= j ? row_of(matrix, i)[j] : row_of(matrix, j)[i]) * weights[j];
    worst = fmax(worst, fabs(found - values[i]));
    logarithm += 2 * log(row_of(factor, i)[i]);
  }
  check(worst < 1e-8, "the solution does not solve");
  printf("%d places, log determinant %.4f\n", n, logarithm);
  for (int i = 1; i < 5; ++i) {
    double at = i / 5.0, value = predict(places, weights, n, at);
    check(fabs(value - sin(9 * at)) < 0.5, "the prediction is far off");
    printf("at %.1f: %.4f\n", at, value);
  }
  free(matrix);
  free(factor);
  free(places);
  free(values);
  free(weights);
  return 0;
}
