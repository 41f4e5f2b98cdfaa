/* Burrows-Wheeler transform by prefix doubling, move to front and run lengths; then all of it backwards. */
#include "kernel.h"

enum { ALPHABET = 256 };

struct sorter {
  uint32_t count, *order, *rank, *next_rank, *counts, *by_second;
};

static struct sorter make_sorter(uint32_t count) {
  uint32_t room = (count > ALPHABET ? count : ALPHABET) + 1;
  struct sorter s = {count, NULL, NULL, NULL, NULL, NULL};
  s.order = allocate(room, sizeof(uint32_t));
  s.rank = allocate(room, sizeof(uint32_t));
  s.next_rank = allocate(room, sizeof(uint32_t));
  s.counts = allocate(room, sizeof(uint32_t));
  s.by_second = allocate(room, sizeof(uint32_t));
  return s;
}

static void free_sorter(struct sorter *s) {
  free(s->order);
  free(s->rank);
  free(s->next_rank);
  free(s->counts);
  free(s->by_second);
}

/* Sort s->by_second stably by rank, into s->order. */
static void counting_sort(struct sorter *s, uint32_t ranks) {
  memset(s->counts, 0, (ranks + 1) * sizeof *s->counts);
  for (uint32_t i = 0; i < s->count; ++i)
    ++s->counts[s->rank[i] + 1];
  for (uint32_t i = 1; i <= ranks; ++i)
    s->counts[i] += s->counts[i - 1];
  for (uint32_t i = 0; i < s->count; ++i)
    s->order[s->counts[s->rank[s->by_second[i]]]++] = s->by_second[i];
}

/* Order all rotations of the data. */
static void sort_rotations(struct sorter *s, const unsigned char *data) {
  uint32_t ranks = ALPHABET;
  for (uint32_t i = 0; i < s->count; ++i) {
    s->rank[i] = data[i];
    s->by_second[i] = i;
  }
  counting_sort(s, ranks);
  for (uint32_t length = 1; length < 2 * s->count; length *= 2) {
    uint32_t shift = (length / 2) % s->count;
    ranks = 0;
    for (uint32_t i = 0; i < s->count; ++i) {
      uint32_t here = s->order[i], before = i ? s->order[i - 1] : here;
      int differs = s->rank[here] != s->rank[before] ||
                    (length > 1 && s->rank[(here + shift) % s->count] != s->rank[(before + shift) % s->count]);
      s->next_rank[here] = ranks += differs;
    }
    uint32_t *held = s->rank;
    s->rank = s->next_rank;
    s->next_rank = held;
    if (++ranks == s->count)
      return;
    for (uint32_t i = 0; i < s->count; ++i) /* they are in order of what follows them by `length` */
      s->by_second[i] = (s->order[i] + s->count - length % s->count) % s->count;
    counting_sort(s, ranks);
  }
}

static uint32_t transform(const unsigned char *data, uint32_t count, unsigned char *to) {
  struct sorter sorter = make_sorter(count);
  uint32_t start = 0;
  sort_rotations(&sorter, data);
  for (uint32_t i = 0; i < count; ++i) {
    to[i] = data[(sorter.order[i] + count - 1) % count];
    if (sorter.order[i] == 0)
      start = i;
  }
  free_sorter(&sorter);
  return start;
}

static void transform_back(const unsigned char *last, uint32_t count, uint32_t start, unsigned char *to) {
  uint32_t starts[ALPHABET + 1] = {0}, *next = allocate(count, sizeof *next);
  for (uint32_t i = 0; i < count; ++i)
    ++starts[last[i] + 1];
  for (int i = 0; i < ALPHABET; ++i)
    starts[i + 1] += starts[i];
  for (uint32_t i = 0; i < count; ++i)
    next[starts[last[i]]++] = i;
  for (uint32_t i = 0, at = next[start]; i < count; ++i, at = next[at])
    to[i] = last[at];
  free(next);
}

static void move_to_front(unsigned char *data, uint32_t count, int back) {
  unsigned char list[ALPHABET];
  for (int i = 0; i < ALPHABET; ++i)
    list[i] = (unsigned char)i;
  for (uint32_t i = 0; i < count; ++i) {
    int at = data[i];
    if (!back)
      for (at = 0; list[at] != data[i];)
        ++at;
    unsigned char symbol = list[at];
    memmove(list + 1, list, (size_t)at);
    list[0] = symbol;
    data[i] = back ? symbol : (unsigned char)at;
  }
}

/* Zeros become a zero and their number less one; all else stands for itself. */
static size_t squeeze(const unsigned char *data, uint32_t count, unsigned char *to) {
  size_t made = 0;
  for (uint32_t i = 0; i < count; ++made) {
    to[made] = data[i++];
    if (to[made])
      continue;
    unsigned more = 0;
    for (; i < count && data[i] == 0 && more < 255; ++i)
      ++more;
    to[++made] = (unsigned char)more;
  }
  return made;
}

static uint32_t expand(const unsigned char *data, size_t size, unsigned char *to, uint32_t room) {
  uint32_t made = 0;
  for (size_t i = 0; i < size; ++i) {
    uint32_t zeros = data[i] ? 0 : data[i + 1];
    check(made + zeros < room, "it expands to more than it was");
    to[made++] = data[i];
    memset(to + made, 0, zeros);
    made += zeros;
    i += data[i] == 0;
  }
  return made;
}

int main(int argc, char **argv) {
  static const char *const words[] = {"banana ", "bandana ", "cabana ", "ananas ", "savanna ", "a man a plan "};
  struct input input = read_input(argc, argv, 1, 1u << 24);
  uint32_t count = input.size;
  uint64_t state = input.seed;
  unsigned char *data = allocate(count, 1), *moved = allocate(count, 1), *output = allocate(count, 1);
  unsigned char *packed = allocate(2 * (size_t)count + 2, 1);
  for (uint32_t i = 0; i < count;)
    for (const char *word = words[random_below(&state, 6)]; *word && i < count; ++word)
      data[i++] = (unsigned char)(random_below(&state, 50) ? *word : '#');
  uint32_t start = transform(data, count, moved);
  move_to_front(moved, count, 0);
  size_t size = squeeze(moved, count, packed);
  FAULT(start = (start + 1) % count; packed[size - 1] ^= 1);
  check(expand(packed, size, output, count) == count, "another length came back");
  move_to_front(output, count, 1);
  transform_back(output, count, start, moved);
  check(memcmp(data, moved, count) == 0, "something else came back");
  printf("%u -> %zu bytes, rotation %u\n", count, size, start);
  print_checksum(mix_bytes(FNV_START, packed, size));
  free(data);
  free(moved);
  free(output);
  free(packed);
  return 0;
}
