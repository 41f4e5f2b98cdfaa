/* Generators with known outputs (MT19937, PCG32, xoshiro256**), tests of their bits, and Monte Carlo estimates. */
#include "kernel.h"
#include <math.h>

enum { TWISTER_WORDS = 624, TWISTER_MIDDLE = 397, GENERATORS = 3, BINS = 64 };

struct twister {
  uint32_t words[TWISTER_WORDS];
  int at;
};

struct pcg {
  uint64_t state, increment;
};

struct xoshiro {
  uint64_t s[4];
};

struct sources {
  struct twister twister;
  struct pcg pcg;
  struct xoshiro xoshiro;
};

static void seed_twister(struct twister *t, uint32_t seed) {
  t->words[0] = seed;
  for (uint32_t i = 1; i < TWISTER_WORDS; ++i)
    t->words[i] = 1812433253u * (t->words[i - 1] ^ t->words[i - 1] >> 30) + i;
  t->at = TWISTER_WORDS;
}

static void twist(struct twister *t) {
  for (int i = 0; i < TWISTER_WORDS; ++i) {
    uint32_t y = (t->words[i] & 0x80000000u) | (t->words[(i + 1) % TWISTER_WORDS] & 0x7fffffffu);
    t->words[i] = t->words[(i + TWISTER_MIDDLE) % TWISTER_WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
  }
  t->at = 0;
}

static uint32_t next_twister(struct twister *t) {
  if (t->at == TWISTER_WORDS)
    twist(t);
  uint32_t y = t->words[t->at++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}

static uint32_t next_pcg(struct pcg *p) {
  uint64_t old = p->state;
  p->state = old * 6364136223846793005u + p->increment;
  uint32_t word = (uint32_t)((old >> 18 ^ old) >> 27), turn = (uint32_t)(old >> 59);
  return word >> turn | word << (32 - turn) % 32;
}

static void seed_pcg(struct pcg *p, uint64_t seed, uint64_t sequence) {
  p->state = 0;
  p->increment = sequence << 1 | 1;
  next_pcg(p);
  p->state += seed;
  next_pcg(p);
}

static uint64_t next_xoshiro(struct xoshiro *x) {
  uint64_t *s = x->s, five = s[1] * 5, result = (five << 7 | five >> 57) * 9, shifted = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= shifted;
  s[3] = s[3] << 45 | s[3] >> 19;
  return result;
}

static void check_outputs(void) {
  static const uint32_t pcg_outputs[] = {0xa15c02b7, 0x7b47f409, 0xba1d3330};
  struct sources s;
  seed_twister(&s.twister, 5489);
  for (int i = 1; i < 10000; ++i)
    next_twister(&s.twister);
  check(next_twister(&s.twister) == 4123659995u, "MT19937's 10,000th number");
  seed_pcg(&s.pcg, 42, 54);
  for (int i = 0; i < 3; ++i)
    check(next_pcg(&s.pcg) == pcg_outputs[i], "the first numbers of PCG32");
  for (uint64_t i = 0; i < 4; ++i)
    s.xoshiro.s[i] = i + 1;
  check(next_xoshiro(&s.xoshiro) == 11520 && next_xoshiro(&s.xoshiro) == 0, "the first numbers of xoshiro256**");
}

static uint32_t draw(struct sources *s, int generator) {
  switch (generator) {
  case 0:
    return next_twister(&s->twister);
  case 1:
    return next_pcg(&s->pcg);
  default:
    return (uint32_t)(next_xoshiro(&s->xoshiro) >> 32);
  }
}

static double draw_unit(struct sources *s, int generator) { return draw(s, generator) * 0x1p-32; }

/* The sum of squared deviations of the bins from what is expected, over that: about BINS - 1. */
static double chi_square(struct sources *s, int generator, uint32_t count) {
  uint32_t bins[BINS] = {0};
  double expected = (double)count / BINS, sum = 0;
  for (uint32_t i = 0; i < count; ++i)
    ++bins[draw(s, generator) / (UINT32_MAX / BINS + 1)];
  for (int i = 0; i < BINS; ++i)
    sum += (bins[i] - expected) * (bins[i] - expected) / expected;
  return sum;
}

static double estimate_pi(struct sources *s, int generator, uint32_t count) {
  uint32_t inside = 0;
  for (uint32_t i = 0; i < count; ++i) {
    double x = draw_unit(s, generator), y = draw_unit(s, generator);
    inside += x * x + y * y < 1;
  }
  return 4.0 * inside / count;
}

/* The volume under a Gaussian by Marsaglia's polar method: the variance of its numbers. */
static double estimate_variance(struct sources *s, int generator, uint32_t count) {
  double sum = 0, squares = 0;
  for (uint32_t i = 0; i < count;) {
    double u = 2 * draw_unit(s, generator) - 1, v = 2 * draw_unit(s, generator) - 1, radius = u * u + v * v;
    if (radius >= 1 || radius < 1e-20)
      continue;
    double scale = sqrt(-2 * log(radius) / radius);
    sum += scale * (u + v);
    squares += scale * scale * radius;
    i += 2;
  }
  return (squares - sum * sum / count) / count;
}

/* How far a walk of so many steps gets: on average the root of their number. */
static double walk(struct sources *s, int generator, uint32_t walks, int steps) {
  double squares = 0;
  for (uint32_t i = 0; i < walks; ++i) {
    int x = 0, y = 0;
    for (int step = 0; step < steps; ++step) {
      uint32_t way = draw(s, generator) >> 30;
      x += way == 0 ? 1 : way == 1 ? -1 : 0;
      y += way == 2 ? 1 : way == 3 ? -1 : 0;
    }
    squares += x * x + y * y;
  }
  return squares / walks / steps;
}

int main(int argc, char **argv) {
  static const char *const names[GENERATORS] = {"mt19937", "pcg32", "xoshiro256**"};
  struct input input = read_input(argc, argv, 1000, 1u << 28);
  uint64_t state = input.seed;
  struct sources s;
  check_outputs();
  seed_twister(&s.twister, (uint32_t)input.seed);
  seed_pcg(&s.pcg, input.seed, 1);
  for (int i = 0; i < 4; ++i)
    s.xoshiro.s[i] = next_random(&state);
  double tolerance = 6 / sqrt(input.size);
  for (int generator = 0; generator < GENERATORS; ++generator) {
    double chi = chi_square(&s, generator, input.size), pi = estimate_pi(&s, generator, input.size);
    double variance = estimate_variance(&s, generator, input.size), walked = walk(&s, generator, input.size / 100, 100);
    FAULT(pi += 2 * tolerance);
    check(chi > BINS / 3.0 && chi < 2 * BINS, "the bins are not even");
    check(fabs(pi - 3.141592653589793) < tolerance, "pi is far off");
    check(fabs(variance - 1) < tolerance && fabs(walked - 1) < 10 * tolerance, "a variance is far off");
    printf("%s: chi^2 %.3f, pi %.5f, variance %.5f, walked %.4f\n", names[generator], chi, pi, variance, walked);
  }
  return 0;
}
