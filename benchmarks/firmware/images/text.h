/* A text that can be compressed, the same in each run. */
#include <stddef.h>

static void make_text(unsigned char *to, size_t size) {
  static const char *const words[] = {"flash ", "memory ", "sensor ", "radio ", "timer ", "of the ", "and ", "wakes. "};
  unsigned state = 12345;
  size_t at = 0;
  while (at < size) {
    state = state * 1103515245u + 12345u;
    for (const char *word = words[state >> 16 & 7]; *word && at < size; word++) to[at++] = (unsigned char)*word;
  }
}

static unsigned sum_of(const unsigned char *bytes, size_t size) {
  unsigned sum = 5381;
  while (size--) sum = sum * 33 ^ *bytes++;
  return sum;
}
