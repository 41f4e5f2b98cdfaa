/* A cache that forgets what was least recently used, with a Bloom filter before it and a count-min sketch beside it. */
#include "kernel.h"

enum { ROWS = 4, HASHES = 5, NONE = -1, HOT = 8 };

struct entry {
  uint32_t key, value;
  int newer, older, next; /* in order of use, and in the chain of its bucket */
};

struct cache {
  struct entry *entries;
  int *buckets, room, used, newest, oldest;
  uint32_t mask;
};

struct bloom {
  uint64_t *words;
  uint32_t bits;
};

struct sketch {
  uint32_t *counts, width;
};

static uint32_t hash(uint32_t key, uint32_t seed) {
  uint64_t product = (key ^ seed * 0x9e3779b9u) * 0xff51afd7ed558ccdu;
  product ^= product >> 32;
  product *= 0xc4ceb9fe1a85ec53u;
  return (uint32_t)(product >> 32);
}

static uint32_t expensive(uint32_t key) { /* what the cache saves: the length of Collatz's walk */
  uint32_t steps = 0;
  for (uint64_t n = key + 1; n != 1; ++steps)
    n = n % 2 ? 3 * n + 1 : n / 2;
  return steps;
}

static struct cache make_cache(int room) {
  uint32_t buckets = 1;
  while (buckets < (uint32_t)room)
    buckets *= 2;
  struct cache cache = {
      allocate((size_t)room, sizeof(struct entry)), allocate(buckets, sizeof(int)), room, 0, NONE, NONE, buckets - 1};
  memset(cache.buckets, 0xff, buckets * sizeof(int));
  return cache;
}

static void detach(struct cache *c, int at) {
  struct entry *e = &c->entries[at];
  *(e->newer == NONE ? &c->newest : &c->entries[e->newer].older) = e->older;
  *(e->older == NONE ? &c->oldest : &c->entries[e->older].newer) = e->newer;
}

static void make_newest(struct cache *c, int at) {
  c->entries[at].newer = NONE;
  c->entries[at].older = c->newest;
  *(c->newest == NONE ? &c->oldest : &c->entries[c->newest].newer) = at;
  c->newest = at;
}

static int find(const struct cache *c, uint32_t key) {
  int at = c->buckets[hash(key, 0) & c->mask];
  while (at != NONE && c->entries[at].key != key)
    at = c->entries[at].next;
  return at;
}

static int forget_oldest(struct cache *c) {
  int at = c->oldest, *link = &c->buckets[hash(c->entries[at].key, 0) & c->mask];
  detach(c, at);
  while (*link != at)
    link = &c->entries[*link].next;
  *link = c->entries[at].next;
  return at;
}

/* Return the value of a key; `hit` says whether the cache had it. */
static uint32_t look_up(struct cache *c, uint32_t key, int *hit) {
  int at = find(c, key);
  *hit = at != NONE;
  if (*hit) {
    detach(c, at);
  } else {
    int *bucket = &c->buckets[hash(key, 0) & c->mask];
    at = c->used < c->room ? c->used++ : forget_oldest(c);
    c->entries[at] = (struct entry){key, expensive(key), NONE, NONE, *bucket};
    *bucket = at;
  }
  make_newest(c, at);
  return c->entries[at].value;
}

/* Say whether the key may have been added before, and add it. */
static int bloom_add(struct bloom *b, uint32_t key) {
  int was_there = 1;
  for (uint32_t i = 1; i <= HASHES; ++i) {
    uint32_t bit = hash(key, i) % b->bits;
    was_there &= (int)(b->words[bit / 64] >> bit % 64 & 1);
    b->words[bit / 64] |= (uint64_t)1 << bit % 64;
  }
  return was_there;
}

static uint32_t sketch_add(struct sketch *s, uint32_t key) {
  uint32_t least = UINT32_MAX;
  for (uint32_t row = 0; row < ROWS; ++row) {
    uint32_t count = ++s->counts[row * s->width + hash(key, 16 + row) % s->width];
    least = count < least ? count : least;
  }
  return least;
}

/* Few keys are frequent: the least of several draws. */
static uint32_t skewed_key(uint32_t keys, uint64_t *state) {
  uint32_t key = random_below(state, keys);
  for (int i = 0; i < 3; ++i) {
    uint32_t other = random_below(state, keys);
    key = other < key ? other : key;
  }
  return key;
}

/* The reference: when each key was used last. It is in the cache if fewer than `room` others were used since. */
static void check_order(const struct cache *c, const uint32_t *last_use) {
  int count = 0;
  uint32_t before = UINT32_MAX;
  for (int at = c->newest; at != NONE; at = c->entries[at].older, ++count) {
    check(last_use[c->entries[at].key] < before, "the cache is not in order of use");
    before = last_use[c->entries[at].key];
  }
  check(count == c->used, "entries were lost");
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 200, 1u << 27);
  uint32_t keys = input.size / 8 + 16, different = 0, false_positives = 0;
  uint64_t state = input.seed, hits = 0, sum = FNV_START, excess = 0;
  struct cache cache = make_cache((int)(keys / 6) + 1);
  struct bloom bloom = {NULL, keys * 8};
  bloom.words = allocate(bloom.bits / 64 + 1, sizeof(uint64_t));
  struct sketch sketch = {NULL, keys};
  sketch.counts = allocate((size_t)ROWS * sketch.width, sizeof(uint32_t));
  uint32_t *uses = allocate(keys, sizeof *uses), *last_use = allocate(keys, sizeof *last_use);
  for (uint32_t step = 1; step <= input.size; ++step) {
    uint32_t key = skewed_key(keys, &state);
    int hit, seen = bloom_add(&bloom, key);
    check(seen || uses[key] == 0, "the filter forgot a key");
    different += uses[key] == 0;
    false_positives += seen && uses[key] == 0;
    uint32_t value = look_up(&cache, key, &hit), estimate = sketch_add(&sketch, key);
    check(!hit || uses[key] > 0, "the cache knows a key that was never used");
    check(hit || value == expensive(key), "a wrong value");
    last_use[key] = step;
    check(estimate >= ++uses[key], "the sketch counts too little");
    excess += estimate - uses[key];
    hits += (uint64_t)hit;
    sum = mix(sum, value);
  }
  FAULT(last_use[cache.entries[cache.newest].key] = 0);
  check_order(&cache, last_use);
  check(false_positives < different / 10 + 10, "the filter is wrong too often");
  printf("%u keys in %d entries: %llu hits, %u false positives, %llu counted too much\n", different, cache.used,
         (unsigned long long)hits, false_positives, (unsigned long long)excess);
  print_checksum(sum);
  free(cache.entries);
  free(cache.buckets);
  free(bloom.words);
  free(sketch.counts);
  free(uses);
  free(last_use);
  return 0;
}
