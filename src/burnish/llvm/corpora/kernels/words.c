/* Count the words of a made-up text: SipHash-2-4, a chained table of strings, and the most frequent by a heap. */
#include "kernel.h"

enum { LONGEST = 24, SYLLABLES = 16, TOP = 5 };

struct word {
  struct word *next;
  uint64_t hash;
  uint32_t count, length;
  char text[LONGEST];
};

struct table {
  struct word **chains;
  size_t room, size;
};

struct sip {
  uint64_t v[4];
};

static const unsigned char KEY[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static uint64_t rotate_left(uint64_t word, int by) { return word << by | word >> (64 - by); }

static uint64_t load(const unsigned char *bytes, size_t count) {
  uint64_t word = 0;
  for (size_t i = 0; i < count; ++i)
    word |= (uint64_t)bytes[i] << 8 * i;
  return word;
}

static void sip_rounds(struct sip *s, int rounds) {
  while (rounds-- > 0) {
    s->v[0] += s->v[1];
    s->v[2] += s->v[3];
    s->v[1] = rotate_left(s->v[1], 13) ^ s->v[0];
    s->v[3] = rotate_left(s->v[3], 16) ^ s->v[2];
    s->v[0] = rotate_left(s->v[0], 32);
    s->v[2] += s->v[1];
    s->v[0] += s->v[3];
    s->v[1] = rotate_left(s->v[1], 17) ^ s->v[2];
    s->v[3] = rotate_left(s->v[3], 21) ^ s->v[0];
    s->v[2] = rotate_left(s->v[2], 32);
  }
}

static uint64_t siphash(const void *data, size_t size) {
  const unsigned char *bytes = data;
  uint64_t k0 = load(KEY, 8), k1 = load(KEY + 8, 8), last = (uint64_t)size << 56;
  struct sip s = {
      {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u}};
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word = load(bytes, 8);
    s.v[3] ^= word;
    sip_rounds(&s, 2);
    s.v[0] ^= word;
  }
  last |= load(bytes, size);
  s.v[3] ^= last;
  sip_rounds(&s, 2);
  s.v[0] ^= last;
  s.v[2] ^= 0xff;
  sip_rounds(&s, 4);
  return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}

/* from the appendix of the paper: bytes 0, 1, 2, ... under that key */
static void check_vectors(void) {
  check(siphash(KEY, 0) == 0x726fdb47dd0e0e31u, "SipHash of nothing");
  check(siphash(KEY, 15) == 0xa129ca6149be45e5u, "SipHash of 15 bytes");
}

static void rehash(struct table *table, size_t room) {
  struct word **chains = allocate(room, sizeof(struct word *));
  for (size_t i = 0; i < table->room; ++i)
    for (struct word *word = table->chains[i], *next; word; word = next) {
      next = word->next;
      word->next = chains[word->hash % room];
      chains[word->hash % room] = word;
    }
  free(table->chains);
  table->chains = chains;
  table->room = room;
}

static struct word *look_up(struct table *table, const char *text, size_t length) {
  uint64_t hash = siphash(text, length);
  for (struct word *word = table->chains[hash % table->room]; word; word = word->next)
    if (word->hash == hash && word->length == length && memcmp(word->text, text, length) == 0)
      return word;
  if (++table->size > table->room)
    rehash(table, 2 * table->room + 1);
  struct word *word = allocate(1, sizeof *word), **chain = &table->chains[hash % table->room];
  word->hash = hash;
  word->length = (uint32_t)length;
  memcpy(word->text, text, length);
  word->next = *chain;
  return *chain = word;
}

static char *make_text(uint32_t words, uint64_t *state, size_t *size) {
  static const char syllables[SYLLABLES][4] = {"ba", "lo", "min", "ra", "te",  "su", "ka", "vor",
                                               "el", "ni", "do",  "pa", "qui", "xe", "ga", "zu"};
  char *text = allocate(words, LONGEST);
  *size = 0;
  for (uint32_t i = 0; i < words; ++i) {
    uint32_t length = 1 + random_below(state, 1 + random_below(state, 5));
    while (length-- > 0) { /* the lesser of two: some syllables are frequent */
      uint32_t one = random_below(state, SYLLABLES), two = random_below(state, SYLLABLES);
      const char *syllable = syllables[one < two ? one : two];
      memcpy(text + *size, syllable, strlen(syllable));
      *size += strlen(syllable);
    }
    text[(*size)++] = " \n,."[random_below(state, 4)];
  }
  return text;
}

static int is_rarer(const struct word *a, const struct word *b) {
  return a->count != b->count ? a->count < b->count : strcmp(a->text, b->text) > 0;
}

/* Keep the most frequent words, in order, in `top`. */
static void offer(const struct word **top, const struct word *word) {
  int at = TOP;
  for (; at > 0 && (!top[at - 1] || is_rarer(top[at - 1], word)); --at)
    if (at < TOP)
      top[at] = top[at - 1];
  if (at < TOP)
    top[at] = word;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 24);
  check_vectors();
  uint64_t state = input.seed, total = 0, sum = 0;
  size_t size;
  char *text = make_text(input.size, &state, &size);
  struct table table = {NULL, 0, 0};
  rehash(&table, 7);
  for (size_t start = 0, end; start < size; start = end + 1) {
    for (end = start; text[end] >= 'a' && text[end] <= 'z';)
      ++end;
    ++look_up(&table, text + start, end - start)->count;
  }
  FAULT(++look_up(&table, "ba", 2)->count);
  const struct word *top[TOP] = {NULL};
  for (size_t i = 0; i < table.room; ++i)
    for (const struct word *word = table.chains[i]; word; word = word->next) {
      offer(top, word);
      total += word->count;
      sum += mix(word->hash, word->count);
    }
  check(total == input.size, "words were lost");
  printf("%u words, %zu different, %zu bytes\n", input.size, table.size, size);
  for (int i = 0; i < TOP && top[i]; ++i)
    printf("%s %u\n", top[i]->text, top[i]->count);
  print_checksum(sum);
  for (size_t i = 0; i < table.room; ++i)
    for (struct word *word = table.chains[i], *next; word; word = next) {
      next = word->next;
      free(word);
    }
  free(table.chains);
  free(text);
  return 0;
}
