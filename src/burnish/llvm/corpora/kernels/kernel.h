/* What every kernel shares: its two arguments, a seeded generator, a checksum, and failure.
 *
 * A kernel is called as `kernel SIZE SEED`. It computes something, checks its own result, and prints a text that
 * depends on nothing but the two arguments; where the check fails, it says so and exits with 1.
 */
#ifndef KERNEL_H
#define KERNEL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With -DINJECT_FAULT a kernel spoils its own result before it checks it: the check has to notice. */
#ifdef INJECT_FAULT
#define FAULT(statement) statement
#else
#define FAULT(statement) (void)0
#endif

#define FNV_START 0xcbf29ce484222325u

struct input {
  uint32_t size;
  uint64_t seed;
};

_Noreturn static inline void fail(const char *what) {
  fprintf(stderr, "FAILED: %s\n", what);
  exit(1);
}

static inline void check(int holds, const char *what) {
  if (!holds)
    fail(what);
}

static inline void *allocate(size_t count, size_t bytes) {
  void *memory = calloc(count ? count : 1, bytes);
  if (!memory)
    fail("out of memory");
  return memory;
}

static inline uint64_t read_number(const char *text, uint64_t least, uint64_t most) {
  char *end;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (end == text || *end || errno || value < least || value > most)
    fail("usage: kernel SIZE SEED: a number is malformed or out of range");
  return value;
}

static inline struct input read_input(int argc, char **argv, uint32_t least, uint32_t most) {
  if (argc != 3)
    fail("usage: kernel SIZE SEED");
  struct input input = {(uint32_t)read_number(argv[1], least, most), read_number(argv[2], 0, UINT32_MAX)};
  return input;
}

/* splitmix64 */
static inline uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* 0 <= result < bound, for bounds up to 2^32 */
static inline uint32_t random_below(uint64_t *state, uint32_t bound) {
  return (uint32_t)((next_random(state) >> 32) * bound >> 32);
}

/* A number of 1 to 64 bits, each length as likely: many are small. Two draws are never in one expression, as C
 * leaves open which is made first. */
static inline uint64_t random_number(uint64_t *state) {
  uint32_t shift = random_below(state, 64);
  return next_random(state) >> shift;
}

/* 0 <= result < 1, a multiple of 2^-53 */
static inline double random_unit(uint64_t *state) { return (double)(next_random(state) >> 11) * 0x1p-53; }

/* One step of a checksum over 64-bit values; begin with FNV_START. */
static inline uint64_t mix(uint64_t sum, uint64_t value) {
  sum = (sum ^ value) * 0x100000001b3u;
  return sum ^ (sum >> 29);
}

static inline uint64_t mix_bytes(uint64_t sum, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; ++i)
    sum = (sum ^ bytes[i]) * 0x100000001b3u;
  return sum;
}

static inline void print_checksum(uint64_t sum) { printf("checksum %016llx\n", (unsigned long long)sum); }

#endif
