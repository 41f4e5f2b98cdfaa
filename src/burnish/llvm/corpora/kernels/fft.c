/* Fast Fourier transform of 2^SIZE complex values: iterative and radix 2, checked by its inverse and by definition. */
#include "kernel.h"
#include <math.h>

static const double TWO_PI = 6.283185307179586;

struct complex {
  double re, im;
};

static struct complex times(struct complex a, struct complex b) {
  struct complex product = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  return product;
}

static struct complex *make_twiddles(size_t count) {
  struct complex *twiddles = allocate(count / 2 + 1, sizeof *twiddles);
  for (size_t i = 0; i < count / 2; ++i) {
    double angle = -TWO_PI * (double)i / (double)count;
    twiddles[i].re = cos(angle);
    twiddles[i].im = sin(angle);
  }
  return twiddles;
}

static void reverse_bits(struct complex *values, size_t count) {
  size_t reversed = 0;
  for (size_t i = 1; i < count; ++i) {
    size_t bit = count >> 1;
    for (; reversed & bit; bit >>= 1)
      reversed ^= bit;
    reversed |= bit;
    if (i < reversed) {
      struct complex held = values[i];
      values[i] = values[reversed];
      values[reversed] = held;
    }
  }
}

static void transform(struct complex *values, const struct complex *twiddles, size_t count, int inverse) {
  reverse_bits(values, count);
  for (size_t half = 1; half < count; half *= 2) {
    size_t stride = count / (2 * half);
    for (size_t start = 0; start < count; start += 2 * half)
      for (size_t i = 0; i < half; ++i) {
        struct complex twiddle = twiddles[i * stride];
        if (inverse)
          twiddle.im = -twiddle.im;
        struct complex *even = &values[start + i], *odd = even + half, turned = times(*odd, twiddle);
        odd->re = even->re - turned.re;
        odd->im = even->im - turned.im;
        even->re += turned.re;
        even->im += turned.im;
      }
  }
  if (inverse)
    for (size_t i = 0; i < count; ++i) {
      values[i].re /= (double)count;
      values[i].im /= (double)count;
    }
}

/* The sum that defines one value of the spectrum. */
static struct complex by_definition(const struct complex *signal, size_t count, size_t frequency) {
  struct complex sum = {0, 0};
  for (size_t i = 0; i < count; ++i) {
    double angle = -TWO_PI * (double)(i * frequency % count) / (double)count;
    struct complex wave = {cos(angle), sin(angle)}, term = times(signal[i], wave);
    sum.re += term.re;
    sum.im += term.im;
  }
  return sum;
}

static double distance(struct complex a, struct complex b) { return hypot(a.re - b.re, a.im - b.im); }

static double energy(const struct complex *values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += values[i].re * values[i].re + values[i].im * values[i].im;
  return sum;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 24);
  size_t count = (size_t)1 << input.size;
  struct complex *signal = allocate(count, sizeof *signal), *values = allocate(count, sizeof *values);
  struct complex *twiddles = make_twiddles(count);
  uint64_t state = input.seed;
  for (size_t i = 0; i < count; ++i) {
    signal[i].re = random_unit(&state) - 0.5 + 0.25 * sin(TWO_PI * 3 * (double)i / (double)count);
    signal[i].im = random_unit(&state) - 0.5;
  }
  memcpy(values, signal, count * sizeof *values);
  transform(values, twiddles, count, 0);
  FAULT(values[count / 3].re += 1e-3);
  double before = energy(signal, count), after = energy(values, count) / (double)count;
  check(fabs(before - after) < 1e-9 * before, "Parseval's theorem");
  for (int i = 0; i < 4; ++i) {
    size_t frequency = i ? random_below(&state, (uint32_t)count) : 3 % count;
    check(distance(values[frequency], by_definition(signal, count, frequency)) < 1e-7 * (double)count, "definition");
    printf("frequency %zu: %.4f %.4f\n", frequency, values[frequency].re + 1e-9, values[frequency].im + 1e-9);
  }
  transform(values, twiddles, count, 1);
  for (size_t i = 0; i < count; ++i)
    check(distance(values[i], signal[i]) < 1e-10, "the inverse does not return the signal");
  printf("energy %.4f\n", before);
  free(signal);
  free(values);
  free(twiddles);
  return 0;
}
