/* Matrices of ints and floats: product, transpose, power. */
enum { N = 16 };

void transpose(float to[N][N], const float from[N][N]) {
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j)
      to[j][i] = from[i][j];
}

void multiply(float c[N][N], const float a[N][N], const float b[N][N]) {
  for (int i = 0; i < N; ++i)
    for (int j = 0; j < N; ++j) {
      float sum = 0;
      for (int k = 0; k < N; ++k)
        sum += a[i][k] * b[k][j];
      c[i][j] = sum;
    }
}

void scale_rows(int *matrix, int rows, int columns, const int *factors) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      matrix[i * columns + j] *= factors[i];
}

unsigned fibonacci(unsigned n) {
  unsigned a[2][2] = {{1, 1}, {1, 0}}, r[2][2] = {{1, 0}, {0, 1}}, t[2][2];
  for (; n; n >>= 1) {
    if (n & 1) {
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
          t[i][j] = r[i][0] * a[0][j] + r[i][1] * a[1][j];
      __builtin_memcpy(r, t, sizeof r);
    }
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        t[i][j] = a[i][0] * a[0][j] + a[i][1] * a[1][j];
    __builtin_memcpy(a, t, sizeof a);
  }
  return r[0][1];
}
