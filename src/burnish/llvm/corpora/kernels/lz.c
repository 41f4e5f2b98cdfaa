/* An LZ77 coder with hash chains and lazy matching, a byte format of our own, and its decoder. */
#include "kernel.h"

enum { WINDOW = 1 << 15, HASH_BITS = 13, LEAST_MATCH = 4, MOST_MATCH = 258, MOST_TRIES = 32, MOST_LITERALS = 128 };

struct matcher {
  const unsigned char *data;
  size_t size;
  int64_t head[1 << HASH_BITS]; /* the last place with this hash, or -1 */
  int64_t previous[WINDOW];     /* the place before, by place modulo the window */
};

struct match {
  size_t length, distance;
};

static uint32_t hash_at(const unsigned char *at) {
  uint32_t word = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
  return word * 2654435761u >> (32 - HASH_BITS);
}

static void remember(struct matcher *m, size_t at) {
  if (at + LEAST_MATCH > m->size)
    return;
  uint32_t hash = hash_at(m->data + at);
  m->previous[at % WINDOW] = m->head[hash];
  m->head[hash] = (int64_t)at;
}

static size_t common_length(const unsigned char *a, const unsigned char *b, size_t most) {
  size_t length = 0;
  while (length < most && a[length] == b[length])
    ++length;
  return length;
}

static struct match longest_match(const struct matcher *m, size_t at) {
  struct match best = {LEAST_MATCH - 1, 0};
  if (at + LEAST_MATCH > m->size)
    return best;
  size_t most = m->size - at < MOST_MATCH ? m->size - at : MOST_MATCH;
  int64_t candidate = m->head[hash_at(m->data + at)];
  for (int tries = 0; tries < MOST_TRIES && candidate >= 0 && at - (size_t)candidate < WINDOW; ++tries) {
    size_t length = common_length(m->data + candidate, m->data + at, most);
    if (length > best.length) {
      best.length = length;
      best.distance = at - (size_t)candidate;
      if (length == most)
        break;
    }
    candidate = m->previous[(size_t)candidate % WINDOW];
  }
  return best;
}

static size_t put_literals(unsigned char *to, const unsigned char *from, size_t count) {
  size_t made = 0;
  while (count > 0) {
    size_t part = count < MOST_LITERALS ? count : MOST_LITERALS;
    to[made++] = (unsigned char)(part - 1);
    memcpy(to + made, from, part);
    made += part;
    from += part;
    count -= part;
  }
  return made;
}

/* 1xxxxxxx: a match of x + 4 bytes (x = 127: add the next byte), then its distance in two bytes */
static size_t put_match(unsigned char *to, struct match match) {
  size_t made = 0, code = match.length - LEAST_MATCH;
  to[made++] = (unsigned char)(0x80 | (code < 127 ? code : 127));
  if (code >= 127)
    to[made++] = (unsigned char)(code - 127);
  to[made++] = (unsigned char)match.distance;
  to[made++] = (unsigned char)(match.distance >> 8);
  return made;
}

static size_t compress(struct matcher *m, const unsigned char *data, size_t size, unsigned char *to) {
  m->data = data;
  m->size = size;
  memset(m->head, 0xff, sizeof m->head);
  size_t made = 0, literals = 0, at = 0;
  while (at < size) {
    struct match match = longest_match(m, at);
    remember(m, at);
    if (match.distance && match.length < 32 && longest_match(m, at + 1).length > match.length)
      match.distance = 0; /* the next byte begins a longer one */
    if (!match.distance) {
      ++at;
      ++literals;
      continue;
    }
    made += put_literals(to + made, data + at - literals, literals);
    made += put_match(to + made, match);
    literals = 0;
    for (size_t end = at + match.length; ++at < end;)
      remember(m, at);
  }
  return made + put_literals(to + made, data + at - literals, literals);
}

static size_t decompress(const unsigned char *data, size_t size, unsigned char *to, size_t room) {
  size_t at = 0, made = 0;
  while (at < size) {
    size_t code = data[at++];
    if (code < 0x80) {
      check(at + code + 1 <= size && made + code + 1 <= room, "literals are out of bounds");
      memcpy(to + made, data + at, code + 1);
      at += code + 1;
      made += code + 1;
      continue;
    }
    size_t length = (code & 0x7f) + LEAST_MATCH;
    if (code == 0xff)
      length += data[at++];
    size_t distance = (size_t)data[at] | (size_t)data[at + 1] << 8;
    at += 2;
    check(distance <= made && made + length <= room, "a match is out of bounds");
    for (size_t i = 0; i < length; ++i, ++made)
      to[made] = to[made - distance];
  }
  return made;
}

static void fill(unsigned char *data, size_t size, int kind, uint64_t *state) {
  for (size_t at = 0; at < size;) {
    size_t length = 1 + random_below(state, kind == 0 ? 1 : 40), from = at ? random_below(state, (uint32_t)at) : 0;
    int copy = kind > 0 && at > 0 && random_below(state, 10) < (kind == 1 ? 5u : 9u);
    for (; length > 0 && at < size; --length, ++at)
      data[at] = copy ? data[from++] : (unsigned char)("etaoin shrdlu"[random_below(state, 13)] + kind);
  }
}

int main(int argc, char **argv) {
  static const char *const names[] = {"letters", "some copies", "many copies"};
  struct input input = read_input(argc, argv, 1, 1u << 26);
  size_t size = input.size, room = size + size / MOST_LITERALS + 16;
  unsigned char *data = allocate(size, 1), *packed = allocate(room, 1), *output = allocate(size, 1);
  struct matcher *matcher = allocate(1, sizeof *matcher);
  uint64_t state = input.seed;
  for (int kind = 0; kind < 3; ++kind) {
    fill(data, size, kind, &state);
    size_t packed_size = compress(matcher, data, size, packed);
    check(packed_size <= room, "the result is larger than its bound");
    FAULT(packed[1] ^= 1);
    check(decompress(packed, packed_size, output, size) == size, "another length came back");
    check(memcmp(data, output, size) == 0, "something else came back");
    printf("%s: %zu -> %zu, ", names[kind], size, packed_size);
    print_checksum(mix_bytes(FNV_START, packed, packed_size));
  }
  free(data);
  free(packed);
  free(output);
  free(matcher);
  return 0;
}
