/* Least squares by Householder's reflections, and eigenvalues of a symmetric matrix by Jacobi's rotations. */
#include "kernel.h"
#include <math.h>

enum { COLUMNS = 12, MOST_SWEEPS = 30 };

/* Reflect column k of the matrix onto an axis; its vector takes the column's place, the diagonal is returned. */
static double make_reflector(double *matrix, int rows, int columns, int k) {
  double norm = 0;
  for (int i = k; i < rows; ++i)
    norm += matrix[(size_t)i * columns + k] * matrix[(size_t)i * columns + k];
  norm = sqrt(norm);
  check(norm > 1e-12, "the columns are dependent");
  double *pivot = &matrix[(size_t)k * columns + k], diagonal = *pivot > 0 ? -norm : norm;
  *pivot -= diagonal;
  return diagonal;
}

static double reflector_square(const double *matrix, int rows, int columns, int k) {
  double square = 0;
  for (int i = k; i < rows; ++i)
    square += matrix[(size_t)i * columns + k] * matrix[(size_t)i * columns + k];
  return square;
}

/* Apply reflector k of the matrix to a column of `to`. */
static void reflect(const double *matrix, int rows, int columns, int k, double square, double *to, int stride) {
  double dot = 0;
  for (int i = k; i < rows; ++i)
    dot += matrix[(size_t)i * columns + k] * to[(size_t)i * stride];
  double factor = 2 * dot / square;
  for (int i = k; i < rows; ++i)
    to[(size_t)i * stride] -= factor * matrix[(size_t)i * columns + k];
}

/* Minimise |matrix * x - right|; both are overwritten. */
static void least_squares(double *matrix, double *right, int rows, int columns, double *x) {
  double diagonal[COLUMNS];
  for (int k = 0; k < columns; ++k) {
    diagonal[k] = make_reflector(matrix, rows, columns, k);
    double square = reflector_square(matrix, rows, columns, k);
    for (int j = k + 1; j < columns; ++j)
      reflect(matrix, rows, columns, k, square, matrix + j, columns);
    reflect(matrix, rows, columns, k, square, right, 1);
  }
  for (int i = columns; i-- > 0;) {
    double sum = right[i];
    for (int j = i + 1; j < columns; ++j)
      sum -= matrix[(size_t)i * columns + j] * x[j];
    x[i] = sum / diagonal[i];
  }
}

static void rotate(double s[COLUMNS][COLUMNS], int p, int q) {
  double theta = (s[q][q] - s[p][p]) / (2 * s[p][q]);
  double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), sine = t * c;
  for (int k = 0; k < COLUMNS; ++k) {
    double a = s[k][p], b = s[k][q];
    s[k][p] = c * a - sine * b;
    s[k][q] = sine * a + c * b;
  }
  for (int k = 0; k < COLUMNS; ++k) {
    double a = s[p][k], b = s[q][k];
    s[p][k] = c * a - sine * b;
    s[q][k] = sine * a + c * b;
  }
}

static double off_diagonal(double s[COLUMNS][COLUMNS]) {
  double sum = 0;
  for (int i = 0; i < COLUMNS; ++i)
    for (int j = 0; j < COLUMNS; ++j)
      sum += i == j ? 0 : s[i][j] * s[i][j];
  return sum;
}

/* Diagonalise: the eigenvalues of s are then on its diagonal. */
static void diagonalize(double s[COLUMNS][COLUMNS]) {
  for (int sweep = 0; off_diagonal(s) > 1e-18; ++sweep) {
    check(sweep < MOST_SWEEPS, "Jacobi's method does not converge");
    for (int p = 0; p < COLUMNS; ++p)
      for (int q = p + 1; q < COLUMNS; ++q)
        if (fabs(s[p][q]) > 1e-300)
          rotate(s, p, q);
  }
}

static void normal_matrix(const double *matrix, int rows, double s[COLUMNS][COLUMNS]) {
  for (int a = 0; a < COLUMNS; ++a)
    for (int b = 0; b < COLUMNS; ++b) {
      s[a][b] = 0;
      for (int i = 0; i < rows; ++i)
        s[a][b] += matrix[(size_t)i * COLUMNS + a] * matrix[(size_t)i * COLUMNS + b];
      s[a][b] /= rows;
    }
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 2 * COLUMNS, 1u << 22);
  int rows = (int)input.size;
  size_t count = (size_t)rows * COLUMNS;
  uint64_t state = input.seed;
  double *matrix = allocate(count, sizeof *matrix), *work = allocate(count, sizeof *work);
  double *right = allocate(input.size, sizeof *right), *residual = allocate(input.size, sizeof *residual);
  double x[COLUMNS], s[COLUMNS][COLUMNS], trace = 0, sum = 0, square = 0;
  for (size_t i = 0; i < count; ++i)
    matrix[i] = random_unit(&state) - 0.4;
  for (int i = 0; i < rows; ++i) { /* known coefficients 1, 2, 3, ... and some noise */
    right[i] = 0.1 * random_unit(&state);
    for (int j = 0; j < COLUMNS; ++j)
      right[i] += (j + 1) * matrix[(size_t)i * COLUMNS + j];
  }
  memcpy(work, matrix, count * sizeof *work);
  memcpy(residual, right, input.size * sizeof *residual);
  least_squares(work, residual, rows, COLUMNS, x);
  FAULT(x[COLUMNS / 2] += 1e-4);
  for (int i = 0; i < rows; ++i) {
    residual[i] = right[i];
    for (int j = 0; j < COLUMNS; ++j)
      residual[i] -= matrix[(size_t)i * COLUMNS + j] * x[j];
    square += residual[i] * residual[i];
  }
  for (int j = 0; j < COLUMNS; ++j) { /* what is left is orthogonal to every column */
    double dot = 0;
    for (int i = 0; i < rows; ++i)
      dot += residual[i] * matrix[(size_t)i * COLUMNS + j];
    check(fabs(dot) < 1e-9 * rows, "a better solution exists");
    printf("%.4f%c", x[j], j + 1 < COLUMNS ? ' ' : '\n');
  }
  normal_matrix(matrix, rows, s);
  for (int j = 0; j < COLUMNS; ++j)
    trace += s[j][j];
  diagonalize(s);
  double greatest = s[0][0];
  for (int j = 0; j < COLUMNS; ++j) {
    check(s[j][j] > 0, "an eigenvalue is negative");
    greatest = fmax(greatest, s[j][j]);
    sum += s[j][j];
  }
  check(fabs(trace - sum) < 1e-9 * trace, "the eigenvalues do not sum to the trace");
  printf("squares left %.4f; greatest eigenvalue %.5f, trace %.5f\n", square, greatest, trace);
  free(matrix);
  free(work);
  free(right);
  free(residual);
  return 0;
}
