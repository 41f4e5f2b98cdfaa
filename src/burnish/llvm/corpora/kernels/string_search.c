/* Substring search: Knuth-Morris-Pratt, Boyer-Moore-Horspool, Rabin-Karp and shift-and find the same places. */
#include "kernel.h"

enum { MOST_PATTERN = 64, ALGORITHMS = 4 };

struct found {
  uint64_t count, places; /* how often, and a checksum over where */
};

static void note(struct found *found, size_t place) {
  ++found->count;
  found->places = mix(found->places, place);
}

/* border[i]: the longest proper border of the first i letters */
static void find_borders(const char *pattern, int length, int *border) {
  border[0] = -1;
  for (int i = 0, k = -1; i < length; border[++i] = ++k)
    while (k >= 0 && pattern[i] != pattern[k])
      k = border[k];
}

static void knuth_morris_pratt(const char *text, size_t size, const char *pattern, int length, struct found *found) {
  int border[MOST_PATTERN + 1], matched = 0;
  find_borders(pattern, length, border);
  for (size_t i = 0; i < size; ++i) {
    while (matched >= 0 && text[i] != pattern[matched])
      matched = border[matched];
    if (++matched == length) {
      note(found, i + 1 - (size_t)length);
      matched = border[matched];
    }
  }
}

static void horspool(const char *text, size_t size, const char *pattern, int length, struct found *found) {
  size_t shift[256], last = (size_t)length - 1;
  for (int i = 0; i < 256; ++i)
    shift[i] = (size_t)length;
  for (size_t i = 0; i < last; ++i)
    shift[(unsigned char)pattern[i]] = last - i;
  for (size_t at = 0; at + last < size; at += shift[(unsigned char)text[at + last]]) {
    size_t i = last;
    while (text[at + i] == pattern[i] && i > 0)
      --i;
    if (i == 0 && text[at] == pattern[0])
      note(found, at);
  }
}

static void rabin_karp(const char *text, size_t size, const char *pattern, int length, struct found *found) {
  const uint64_t base = 257, prime = 1000000007;
  uint64_t wanted = 0, rolling = 0, leading = 1;
  for (int i = 0; i < length; ++i) {
    wanted = (wanted * base + (unsigned char)pattern[i]) % prime;
    if (i)
      leading = leading * base % prime;
  }
  for (size_t i = 0; i < size; ++i) {
    size_t start = i + 1 - (size_t)length;
    if (i >= (size_t)length)
      rolling = (rolling + prime - (unsigned char)text[i - (size_t)length] * leading % prime) % prime;
    rolling = (rolling * base + (unsigned char)text[i]) % prime;
    if (i + 1 >= (size_t)length && rolling == wanted && memcmp(text + start, pattern, (size_t)length) == 0)
      note(found, start);
  }
}

static void shift_and(const char *text, size_t size, const char *pattern, int length, struct found *found) {
  uint64_t masks[256] = {0}, active = 0, accept = (uint64_t)1 << (length - 1);
  for (int i = 0; i < length; ++i)
    masks[(unsigned char)pattern[i]] |= (uint64_t)1 << i;
  for (size_t i = 0; i < size; ++i) {
    active = (active << 1 | 1) & masks[(unsigned char)text[i]];
    if (active & accept)
      note(found, i + 1 - (size_t)length);
  }
}

static uint64_t count_slowly(const char *text, size_t size, const char *pattern, size_t length) {
  uint64_t count = 0;
  for (size_t at = 0; at + length <= size; ++at)
    count += memcmp(text + at, pattern, length) == 0;
  return count;
}

static void make_text(char *text, size_t size, uint32_t letters, uint64_t *state) {
  for (size_t i = 0; i < size; ++i) {
    uint32_t luck = random_below(state, 16);
    text[i] = i > 100 && luck < 12 ? text[i - 97] : (char)('a' + random_below(state, letters));
  }
}

int main(int argc, char **argv) {
  static void (*const algorithms[ALGORITHMS])(const char *, size_t, const char *, int,
                                              struct found *) = {knuth_morris_pratt, horspool, rabin_karp, shift_and};
  struct input input = read_input(argc, argv, 200, 1u << 26);
  uint64_t state = input.seed, sum = FNV_START, total = 0;
  char *text = allocate(input.size, 1), pattern[MOST_PATTERN];
  for (uint32_t letters = 2; letters <= 26; letters += 12) {
    make_text(text, input.size, letters, &state);
    for (int length = 1; length <= MOST_PATTERN; length *= 4) {
      memcpy(pattern, text + random_below(&state, input.size - MOST_PATTERN), (size_t)length);
      struct found first = {0, FNV_START};
      algorithms[0](text, input.size, pattern, length, &first);
      FAULT(++first.count);
      for (int i = 1; i < ALGORITHMS; ++i) {
        struct found found = {0, FNV_START};
        algorithms[i](text, input.size, pattern, length, &found);
        check(found.count == first.count && found.places == first.places, "two algorithms disagree");
      }
      check(first.count > 0, "what was taken from the text is not in it");
      if (length == 4)
        check(count_slowly(text, input.size, pattern, 4) == first.count, "the places are wrong");
      sum = mix(sum, first.places);
      total += first.count;
    }
  }
  printf("%u letters, %llu places\n", input.size, (unsigned long long)total);
  print_checksum(sum);
  free(text);
  return 0;
}
