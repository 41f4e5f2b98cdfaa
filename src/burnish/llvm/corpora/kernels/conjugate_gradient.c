/* Sparse matrices by rows: an irregular Laplacian is assembled from triplets and solved by conjugate gradients. */
#include "kernel.h"
#include <math.h>

enum { EXTRA = 3, MOST_ITERATIONS = 5000 };

struct triplet {
  uint32_t row, column;
  double value;
};

struct sparse {
  uint32_t rows;
  uint32_t *first, *columns; /* entries of row i are first[i] up to first[i + 1], by column */
  double *values;
};

/* Sum the entries at the same place, as an assembly of finite elements does. */
static struct sparse assemble(const struct triplet *triplets, size_t count, uint32_t rows) {
  struct sparse m = {rows, allocate(rows + 1, sizeof(uint32_t)), NULL, NULL};
  uint32_t *next = allocate(rows + 1, sizeof *next), *order = allocate(count, sizeof *order), kept = 0;
  m.columns = allocate(count, sizeof *m.columns);
  m.values = allocate(count, sizeof *m.values);
  for (size_t i = 0; i < count; ++i)
    ++next[triplets[i].row + 1];
  for (uint32_t row = 0; row < rows; ++row)
    next[row + 1] += next[row];
  uint32_t start = 0;
  for (size_t i = 0; i < count; ++i)
    order[next[triplets[i].row]++] = (uint32_t)i;
  for (uint32_t row = 0; row < rows; ++row) {
    m.first[row] = kept;
    for (uint32_t i = start; i < next[row]; ++i) { /* insertion keeps a row's few columns in order */
      const struct triplet *entry = &triplets[order[i]];
      uint32_t at = kept;
      while (at > m.first[row] && m.columns[at - 1] >= entry->column)
        --at;
      if (at < kept && m.columns[at] == entry->column) {
        m.values[at] += entry->value;
        continue;
      }
      memmove(m.columns + at + 1, m.columns + at, (kept - at) * sizeof *m.columns);
      memmove(m.values + at + 1, m.values + at, (kept - at) * sizeof *m.values);
      m.columns[at] = entry->column;
      m.values[at] = entry->value;
      ++kept;
    }
    start = next[row];
  }
  m.first[rows] = kept;
  free(next);
  free(order);
  return m;
}

static size_t add_spring(struct triplet *to, uint32_t a, uint32_t b, double strength) {
  to[0] = (struct triplet){a, a, strength};
  to[1] = (struct triplet){b, b, strength};
  to[2] = (struct triplet){a, b, -strength};
  to[3] = (struct triplet){b, a, -strength};
  return 4;
}

static struct sparse make_matrix(uint32_t nodes, uint64_t *state) {
  struct triplet *triplets = allocate((size_t)nodes * (1 + 4 * (1 + EXTRA)), sizeof *triplets);
  size_t count = 0;
  for (uint32_t node = 0; node < nodes; ++node) {
    triplets[count++] = (struct triplet){node, node, 0.05}; /* held a little in place */
    for (int i = 0; i <= EXTRA; ++i) {
      uint32_t other = (node + (i ? 1 + random_below(state, 100) : 1)) % nodes;
      if (other != node)
        count += add_spring(triplets + count, node, other, 0.5 + random_unit(state));
    }
  }
  struct sparse matrix = assemble(triplets, count, nodes);
  free(triplets);
  return matrix;
}

static void multiply(const struct sparse *m, const double *x, double *result) {
  for (uint32_t row = 0; row < m->rows; ++row) {
    double sum = 0;
    for (uint32_t i = m->first[row]; i < m->first[row + 1]; ++i)
      sum += m->values[i] * x[m->columns[i]];
    result[row] = sum;
  }
}

static double dot(const double *a, const double *b, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

static double diagonal(const struct sparse *m, uint32_t row) {
  for (uint32_t i = m->first[row]; i < m->first[row + 1]; ++i)
    if (m->columns[i] == row)
      return m->values[i];
  fail("a row has no diagonal");
}

/* Solve with the diagonal as preconditioner; `space` holds five vectors. Return the iterations. */
static int solve(const struct sparse *m, const double *right, double *x, double *space) {
  uint32_t n = m->rows;
  double *r = space, *z = r + n, *p = z + n, *q = p + n, *scale = q + n;
  for (uint32_t i = 0; i < n; ++i) {
    x[i] = 0;
    r[i] = right[i];
    scale[i] = 1 / diagonal(m, i);
    p[i] = z[i] = scale[i] * r[i];
  }
  double rho = dot(r, z, n), goal = 1e-22 * dot(right, right, n);
  for (int iteration = 1; iteration < MOST_ITERATIONS; ++iteration) {
    multiply(m, p, q);
    double alpha = rho / dot(p, q, n);
    for (uint32_t i = 0; i < n; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      z[i] = scale[i] * r[i];
    }
    if (dot(r, r, n) < goal)
      return iteration;
    double next = dot(r, z, n), beta = next / rho;
    rho = next;
    for (uint32_t i = 0; i < n; ++i)
      p[i] = z[i] + beta * p[i];
  }
  fail("it does not converge");
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 4, 1u << 22);
  uint64_t state = input.seed;
  struct sparse matrix = make_matrix(input.size, &state);
  double *right = allocate(input.size, sizeof *right), *x = allocate(input.size, sizeof *x);
  double *space = allocate(5 * (size_t)input.size, sizeof *space), worst = 0, sum = 0, applied = 0;
  for (uint32_t i = 0; i < input.size; ++i)
    applied += right[i] = random_unit(&state) - 0.3;
  int iterations = solve(&matrix, right, x, space);
  FAULT(x[input.size / 2] += 1e-3);
  multiply(&matrix, x, space);
  for (uint32_t i = 0; i < input.size; ++i) {
    worst = fmax(worst, fabs(space[i] - right[i]));
    sum += x[i];
  }
  check(worst < 1e-8, "the residual is large");
  check(fabs(0.05 * sum - applied) < 1e-6 * input.size, "the springs do not balance");
  printf("%u unknowns, %u entries, about %d iterations; sum %.4f, first %.5f\n", input.size, matrix.first[matrix.rows],
         (iterations + 5) / 10 * 10, sum, x[0]);
  free(matrix.first);
  free(matrix.columns);
  free(matrix.values);
  free(right);
  free(x);
  free(space);
  return 0;
}
