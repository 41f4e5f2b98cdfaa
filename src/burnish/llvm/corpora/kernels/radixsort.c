/* Radix sorts: 64-bit integers and doubles from the last byte, strings from the first. */
#include "kernel.h"

enum { DIGITS = 256, KEY_BYTES = 8, TEXT_BYTES = 12, FEW = 12 };

struct text {
  char bytes[TEXT_BYTES];
};

static void sort_by_bytes(uint64_t *keys, uint64_t *spare, size_t count) {
  static size_t histogram[KEY_BYTES][DIGITS];
  memset(histogram, 0, sizeof histogram);
  for (size_t i = 0; i < count; ++i)
    for (int byte = 0; byte < KEY_BYTES; ++byte)
      ++histogram[byte][keys[i] >> 8 * byte & 255];
  for (int byte = 0; byte < KEY_BYTES; ++byte) {
    size_t *starts = histogram[byte], total = 0;
    if (starts[keys[0] >> 8 * byte & 255] == count)
      continue; /* all have the same byte here */
    for (int digit = 0; digit < DIGITS; ++digit) {
      size_t here = starts[digit];
      starts[digit] = total;
      total += here;
    }
    for (size_t i = 0; i < count; ++i)
      spare[starts[keys[i] >> 8 * byte & 255]++] = keys[i];
    memcpy(keys, spare, count * sizeof *keys);
  }
}

/* Bits whose order as integers is that of the doubles. */
static uint64_t to_key(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static double from_key(uint64_t key) {
  uint64_t bits = key >> 63 ? key & ~((uint64_t)1 << 63) : ~key;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void insertion_sort(struct text *texts, size_t count, int depth) {
  for (size_t i = 1; i < count; ++i) {
    struct text text = texts[i];
    size_t at = i;
    for (; at > 0 && strcmp(texts[at - 1].bytes + depth, text.bytes + depth) > 0; --at)
      texts[at] = texts[at - 1];
    texts[at] = text;
  }
}

/* American flag sort: count, then permute in place, then each of the groups by its next byte. */
static void sort_texts(struct text *texts, size_t count, int depth) {
  if (count <= FEW) {
    insertion_sort(texts, count, depth);
    return;
  }
  size_t next[DIGITS], ends[DIGITS], counts[DIGITS] = {0};
  for (size_t i = 0; i < count; ++i)
    ++counts[(unsigned char)texts[i].bytes[depth]];
  size_t total = 0;
  for (int digit = 0; digit < DIGITS; ++digit) {
    next[digit] = total;
    total += counts[digit];
    ends[digit] = total;
  }
  for (int digit = 0; digit < DIGITS; ++digit)
    while (next[digit] < ends[digit]) {
      struct text *text = &texts[next[digit]];
      unsigned char belongs = (unsigned char)text->bytes[depth];
      if (belongs == digit) {
        ++next[digit];
      } else {
        struct text held = texts[next[belongs]];
        texts[next[belongs]++] = *text;
        *text = held;
      }
    }
  for (int digit = 1; digit < DIGITS; ++digit)
    if (counts[digit] > 1)
      sort_texts(texts + ends[digit] - counts[digit], counts[digit], depth + 1);
}

static void integers(size_t count, uint64_t *state) {
  uint64_t *keys = allocate(count, sizeof *keys), *spare = allocate(count, sizeof *spare), before = 0, after = 0;
  for (size_t i = 0; i < count; ++i)
    before += keys[i] = random_number(state);
  sort_by_bytes(keys, spare, count);
  FAULT(keys[count / 2] ^= 1);
  uint64_t sum = FNV_START;
  for (size_t i = 0; i < count; ++i) {
    check(i == 0 || keys[i - 1] <= keys[i], "integers are not in order");
    after += keys[i];
    sum = mix(sum, keys[i]);
  }
  check(before == after, "integers were lost");
  print_checksum(sum);
  free(keys);
  free(spare);
}

static void doubles(size_t count, uint64_t *state) {
  uint64_t *keys = allocate(count, sizeof *keys), *spare = allocate(count, sizeof *spare);
  for (size_t i = 0; i < count; ++i) {
    double scale = 1 + random_below(state, 1000);
    keys[i] = to_key((random_unit(state) - 0.5) * scale);
  }
  sort_by_bytes(keys, spare, count);
  for (size_t i = 1; i < count; ++i)
    check(from_key(keys[i - 1]) <= from_key(keys[i]), "doubles are not in order");
  printf("least %.3f, median %.6f, greatest %.3f\n", from_key(keys[0]), from_key(keys[count / 2]),
         from_key(keys[count - 1]));
  free(keys);
  free(spare);
}

static void strings(size_t count, uint64_t *state) {
  struct text *texts = allocate(count, sizeof *texts);
  uint64_t before = 0, after = 0, sum = FNV_START;
  for (size_t i = 0; i < count; ++i) {
    uint32_t length = random_below(state, TEXT_BYTES);
    for (uint32_t j = 0; j < length; ++j)
      texts[i].bytes[j] = (char)('a' + random_below(state, j < 3 ? 3 : 26));
    before += mix_bytes(FNV_START, texts[i].bytes, TEXT_BYTES);
  }
  sort_texts(texts, count, 0);
  for (size_t i = 0; i < count; ++i) {
    check(i == 0 || strcmp(texts[i - 1].bytes, texts[i].bytes) <= 0, "strings are not in order");
    after += mix_bytes(FNV_START, texts[i].bytes, TEXT_BYTES);
    sum = mix_bytes(sum, texts[i].bytes, TEXT_BYTES);
  }
  check(before == after, "strings were lost");
  printf("median \"%s\"\n", texts[count / 2].bytes);
  print_checksum(sum);
  free(texts);
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 24);
  uint64_t state = input.seed;
  integers(input.size, &state);
  doubles(input.size, &state);
  strings(input.size, &state);
  return 0;
}
