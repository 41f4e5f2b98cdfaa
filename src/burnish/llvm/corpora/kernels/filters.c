/* Digital filters: a windowed FIR low pass, Butterworth sections, a moving median, resampling, Goertzel's detector. */
#include "kernel.h"
#include <math.h>

enum { TAPS = 63, SECTIONS = 3, MEDIAN_WIDTH = 9 };

static const double PI = 3.141592653589793;

struct section {
  double b0, b1, b2, a1, a2, z1, z2;
};

/* Hamming's window on the ideal low pass; the taps sum to 1. */
static void design_low_pass(double *taps, double cutoff) {
  double sum = 0;
  for (int i = 0; i < TAPS; ++i) {
    double t = i - (TAPS - 1) / 2.0, window = 0.54 - 0.46 * cos(2 * PI * i / (TAPS - 1));
    taps[i] = window * (fabs(t) < 1e-9 ? 2 * cutoff : sin(2 * PI * cutoff * t) / (PI * t));
    sum += taps[i];
  }
  for (int i = 0; i < TAPS; ++i)
    taps[i] /= sum;
}

static void convolve(const double *signal, size_t count, const double *taps, double *result) {
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    int most = i + 1 < TAPS ? (int)i + 1 : TAPS;
    for (int j = 0; j < most; ++j)
      sum += taps[j] * signal[i - (size_t)j];
    result[i] = sum;
  }
}

/* Second-order sections of Butterworth's low pass, by the bilinear transform. */
static void design_butterworth(struct section *sections, double cutoff) {
  double warped = tan(PI * cutoff);
  for (int i = 0; i < SECTIONS; ++i) {
    double q = 2 * cos(PI * (2 * i + 1) / (4 * SECTIONS)), norm = 1 + q * warped + warped * warped;
    struct section s = {warped * warped / norm,
                        2 * warped * warped / norm,
                        warped * warped / norm,
                        2 * (warped * warped - 1) / norm,
                        (1 - q * warped + warped * warped) / norm,
                        0,
                        0};
    sections[i] = s;
  }
}

static double run_section(struct section *s, double x) {
  double y = s->b0 * x + s->z1;
  s->z1 = s->b1 * x - s->a1 * y + s->z2;
  s->z2 = s->b2 * x - s->a2 * y;
  return y;
}

static void run_sections(struct section *sections, const double *signal, size_t count, double *result) {
  for (size_t i = 0; i < count; ++i) {
    double value = signal[i];
    for (int j = 0; j < SECTIONS; ++j)
      value = run_section(&sections[j], value);
    result[i] = value;
  }
}

/* The window is kept in order: the oldest value leaves it, the newest is inserted. */
static void moving_median(const double *signal, size_t count, double *result) {
  double sorted[MEDIAN_WIDTH] = {0};
  for (size_t i = 0; i < count; ++i) {
    double leaving = i < MEDIAN_WIDTH ? 0 : signal[i - MEDIAN_WIDTH], entering = signal[i];
    int at = 0;
    while (sorted[at] < leaving)
      ++at;
    for (; at + 1 < MEDIAN_WIDTH && sorted[at + 1] < entering; ++at)
      sorted[at] = sorted[at + 1];
    for (; at > 0 && sorted[at - 1] > entering; --at)
      sorted[at] = sorted[at - 1];
    sorted[at] = entering;
    result[i] = sorted[MEDIAN_WIDTH / 2];
  }
}

/* The amplitude of one frequency, in cycles a sample. */
static double goertzel(const double *signal, size_t count, double frequency) {
  double factor = 2 * cos(2 * PI * frequency), s1 = 0, s2 = 0;
  for (size_t i = 0; i < count; ++i) {
    double s0 = signal[i] + factor * s1 - s2;
    s2 = s1;
    s1 = s0;
  }
  return 2 * sqrt(fmax(0, s1 * s1 + s2 * s2 - factor * s1 * s2)) / (double)count;
}

static void check_medians(const double *signal, const double *medians, size_t count) {
  for (size_t i = MEDIAN_WIDTH; i < count; i += 7) {
    int less = 0, greater = 0;
    for (size_t j = 0; j < MEDIAN_WIDTH; ++j) {
      less += signal[i - j] < medians[i];
      greater += signal[i - j] > medians[i];
    }
    check(less <= MEDIAN_WIDTH / 2 && greater <= MEDIAN_WIDTH / 2, "not the median");
  }
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 2000, 1u << 24);
  size_t count = input.size / 1000 * 1000; /* whole periods of both tones */
  uint64_t state = input.seed;
  double *signal = allocate(count, sizeof *signal), *fir = allocate(count, sizeof *fir);
  double *iir = allocate(count, sizeof *iir), *medians = allocate(count, sizeof *medians), taps[TAPS];
  double low = 0.02, high = 0.31, energy = 0;
  struct section sections[SECTIONS];
  for (size_t i = 0; i < count; ++i)
    signal[i] = sin(2 * PI * low * (double)i) + sin(2 * PI * high * (double)i) + 0.1 * (random_unit(&state) - 0.5);
  design_low_pass(taps, 0.1);
  convolve(signal, count, taps, fir);
  design_butterworth(sections, 0.1);
  run_sections(sections, signal, count, iir);
  moving_median(signal, count, medians);
  FAULT(medians[MEDIAN_WIDTH + 14] += 10);
  check_medians(signal, medians, count);
  const double *outputs[] = {fir, iir};
  for (int i = 0; i < 2; ++i) {
    double kept = goertzel(outputs[i], count, low), removed = goertzel(outputs[i], count, high);
    check(kept > 0.9 && kept < 1.1, "the low tone is lost");
    check(removed < 0.05, "the high tone is kept");
    printf("%s: low %.4f, high %.4f\n", i ? "iir" : "fir", kept, removed);
  }
  for (size_t i = 0; i < count; ++i)
    energy += medians[i] * medians[i];
  printf("medians: %.4f\n", energy / (double)count);
  free(signal);
  free(fir);
  free(iir);
  free(medians);
  return 0;
}
