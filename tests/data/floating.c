/* Floating point: a polynomial, Newton's method, mean and variance, conversions. */
double polynomial(const double *coefficients, int degree, double x) {
  double value = coefficients[degree];
  for (int i = degree - 1; i >= 0; --i)
    value = value * x + coefficients[i];
  return value;
}

double square_root(double x) {
  double guess = x > 1 ? x / 2 : 1;
  if (x <= 0)
    return 0;
  for (int i = 0; i < 30; ++i) {
    double next = 0.5 * (guess + x / guess);
    double change = next > guess ? next - guess : guess - next;
    guess = next;
    if (change < 1e-12 * guess)
      break;
  }
  return guess;
}

struct moments {
  double mean, variance;
};

struct moments measure(const float *values, int count) {
  struct moments result = {0, 0};
  for (int i = 0; i < count; ++i) {
    double delta = values[i] - result.mean;
    result.mean += delta / (i + 1);
    result.variance += delta * (values[i] - result.mean);
  }
  if (count > 1)
    result.variance /= count - 1;
  return result;
}

int round_half_up(float value) {
  int whole = (int)value;
  float rest = value - (float)whole;
  return rest >= 0.5f ? whole + 1 : rest < -0.5f ? whole - 1 : whole;
}
