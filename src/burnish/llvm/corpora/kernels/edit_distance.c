/* Edit distances: by rows, by Hirschberg's alignment in linear space, and by Myers' bit vectors; and LCS lengths. */
#include "kernel.h"

enum { LETTERS = 4 };

struct pair {
  const char *a, *b;
  int a_size, b_size;
};

static int least(int a, int b) { return a < b ? a : b; }
static int greatest(int a, int b) { return a > b ? a : b; }

/* row[j]: the distance of all of `a` from the first j of `b`; both are read from the end if `step` is -1. */
static void last_row(const char *a, int a_size, const char *b, int b_size, int step, int *row) {
  for (int j = 0; j <= b_size; ++j)
    row[j] = j;
  for (int i = 1; i <= a_size; ++i, a += step) {
    const char *at = b;
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= b_size; ++j, at += step) {
      int above = row[j];
      row[j] = least(least(above, row[j - 1]) + 1, diagonal + (*a != *at));
      diagonal = above;
    }
  }
}

/* Write an optimal script: '=' keep, 'x' replace, '-' delete, '+' insert; `space` holds 2 (b_size + 1) numbers. */
static char *align(struct pair p, int *space, char *script) {
  if (p.a_size == 0 || p.b_size == 0) {
    memset(script, p.a_size ? '-' : '+', (size_t)(p.a_size + p.b_size));
    return script + p.a_size + p.b_size;
  }
  if (p.a_size == 1) {
    const char *kept = memchr(p.b, *p.a, (size_t)p.b_size);
    memset(script, '+', (size_t)p.b_size);
    script[kept ? kept - p.b : 0] = kept ? '=' : 'x';
    return script + p.b_size;
  }
  int half = p.a_size / 2, best = 0, *forward = space, *backward = space + p.b_size + 1;
  last_row(p.a, half, p.b, p.b_size, 1, forward);
  last_row(p.a + p.a_size - 1, p.a_size - half, p.b + p.b_size - 1, p.b_size, -1, backward);
  for (int j = 1; j <= p.b_size; ++j)
    if (forward[j] + backward[p.b_size - j] < forward[best] + backward[p.b_size - best])
      best = j;
  struct pair first = {p.a, p.b, half, best}, second = {p.a + half, p.b + best, p.a_size - half, p.b_size - best};
  return align(second, space, align(first, space, script));
}

/* Apply a script to `a`: it must give `b`. Return what it costs. */
static int check_script(struct pair p, const char *script, const char *end) {
  int i = 0, j = 0, cost = 0;
  for (; script < end; ++script) {
    check(*script != '=' || (i < p.a_size && j < p.b_size && p.a[i] == p.b[j]), "it keeps what differs");
    i += *script != '+';
    j += *script != '-';
    cost += *script != '=';
  }
  check(i == p.a_size && j == p.b_size, "the script does not lead from one to the other");
  return cost;
}

/* Myers and Hyyro: differences down a column as bits, in blocks of 64 letters of `a`. */
static int by_bits(struct pair p) {
  int blocks = (p.a_size + 63) / 64, distance = p.a_size;
  uint64_t *matches = allocate((size_t)blocks * LETTERS, sizeof *matches);
  uint64_t *plus = allocate((size_t)blocks, sizeof *plus), *minus = allocate((size_t)blocks, sizeof *minus);
  uint64_t last = (uint64_t)1 << (p.a_size - 1) % 64;
  for (int i = 0; i < p.a_size; ++i)
    matches[(p.a[i] - 'a') * blocks + i / 64] |= (uint64_t)1 << i % 64;
  memset(plus, 0xff, (size_t)blocks * sizeof *plus);
  for (int j = 0; j < p.b_size; ++j) {
    uint64_t plus_in = 1, minus_in = 0; /* the row above the first grows by one each column */
    for (int k = 0; k < blocks; ++k) {
      uint64_t equal = matches[(p.b[j] - 'a') * blocks + k], vertical = equal | minus[k];
      equal |= minus_in;
      uint64_t horizontal = (((equal & plus[k]) + plus[k]) ^ plus[k]) | equal;
      uint64_t up = minus[k] | ~(horizontal | plus[k]), down = plus[k] & horizontal;
      if (k == blocks - 1)
        distance += (up & last ? 1 : 0) - (down & last ? 1 : 0);
      uint64_t up_in = up << 1 | plus_in, down_in = down << 1 | minus_in;
      plus_in = up >> 63;
      minus_in = down >> 63;
      plus[k] = down_in | ~(vertical | up_in);
      minus[k] = up_in & vertical;
    }
  }
  free(matches);
  free(plus);
  free(minus);
  return distance;
}

static int common_subsequence(struct pair p, int *row) {
  memset(row, 0, (size_t)(p.b_size + 1) * sizeof *row);
  for (int i = 0; i < p.a_size; ++i)
    for (int j = 1, diagonal = 0; j <= p.b_size; ++j) {
      int above = row[j];
      row[j] = p.a[i] == p.b[j - 1] ? diagonal + 1 : greatest(above, row[j - 1]);
      diagonal = above;
    }
  return row[p.b_size];
}

/* A copy of `from` with some letters replaced, removed and added. */
static int mutate(const char *from, int size, char *to, uint64_t *state) {
  int made = 0;
  for (int i = 0; i < size; ++i) {
    uint32_t luck = random_below(state, 20);
    if (luck != 0)
      to[made++] = luck == 1 ? (char)('a' + random_below(state, LETTERS)) : from[i];
    if (luck == 2)
      to[made++] = (char)('a' + random_below(state, LETTERS));
  }
  return made;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 2, 1u << 16);
  int size = (int)input.size;
  uint64_t state = input.seed;
  char *a = allocate(input.size, 1), *b = allocate(2 * input.size, 1), *script = allocate(3 * input.size, 1);
  for (int i = 0; i < size; ++i)
    a[i] = (char)('a' + random_below(&state, LETTERS));
  struct pair p = {a, b, size, 0};
  p.b_size = mutate(a, size, b, &state);
  int *space = allocate(2 * (size_t)(p.b_size + 1), sizeof *space);
  last_row(p.a, p.a_size, p.b, p.b_size, 1, space);
  int distance = space[p.b_size];
  FAULT(distance += 1);
  char *end = align(p, space, script);
  check(check_script(p, script, end) == distance, "Hirschberg's script has another cost");
  check(by_bits(p) == distance, "Myers' distance is another");
  int common = common_subsequence(p, space);
  check(2 * common >= p.a_size + p.b_size - 2 * distance, "a longer common subsequence exists");
  printf("%d and %d letters: distance %d, common subsequence %d\n", p.a_size, p.b_size, distance, common);
  print_checksum(mix_bytes(FNV_START, script, (size_t)(end - script)));
  free(a);
  free(b);
  free(script);
  free(space);
  return 0;
}
