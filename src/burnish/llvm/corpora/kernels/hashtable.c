/* A Robin Hood hash table with backward-shift deletion, checked against a table that is indexed by the key. */
#include "kernel.h"

enum { EMPTY = 0 }; /* the length of a probe sequence, counted from 1, of a slot without an entry */

struct slot {
  uint32_t key, value, probes;
};

struct table {
  struct slot *slots;
  uint32_t mask, size;
};

static uint32_t hash(uint32_t key) {
  key = (key ^ key >> 16) * 0x7feb352du;
  key = (key ^ key >> 15) * 0x846ca68bu;
  return key ^ key >> 16;
}

static struct table make_table(uint32_t room) {
  struct table table = {allocate(room, sizeof(struct slot)), room - 1, 0};
  return table;
}

static struct slot *find(const struct table *table, uint32_t key) {
  uint32_t at = hash(key) & table->mask;
  for (uint32_t probes = 1; table->slots[at].probes >= probes; ++probes, at = (at + 1) & table->mask)
    if (table->slots[at].key == key)
      return &table->slots[at];
  return NULL;
}

/* The key must not be in the table: an entry that is nearer to its home gives way. */
static void place(struct table *table, uint32_t key, uint32_t value) {
  struct slot entry = {key, value, 1};
  for (uint32_t at = hash(key) & table->mask;; at = (at + 1) & table->mask, ++entry.probes) {
    struct slot *slot = &table->slots[at];
    if (slot->probes == EMPTY) {
      *slot = entry;
      ++table->size;
      return;
    }
    if (slot->probes < entry.probes) {
      struct slot held = *slot;
      *slot = entry;
      entry = held;
    }
  }
}

static void grow(struct table *table) {
  struct table larger = make_table(2 * (table->mask + 1));
  for (uint32_t i = 0; i <= table->mask; ++i)
    if (table->slots[i].probes != EMPTY)
      place(&larger, table->slots[i].key, table->slots[i].value);
  free(table->slots);
  *table = larger;
}

static void insert(struct table *table, uint32_t key, uint32_t value) {
  struct slot *slot = find(table, key);
  if (slot) {
    slot->value += value;
    return;
  }
  if ((uint64_t)(table->size + 1) * 8 > (uint64_t)(table->mask + 1) * 7)
    grow(table);
  place(table, key, value);
}

static int erase(struct table *table, uint32_t key) {
  struct slot *slot = find(table, key);
  if (!slot)
    return 0;
  uint32_t at = (uint32_t)(slot - table->slots), next = (at + 1) & table->mask;
  for (; table->slots[next].probes > 1; at = next, next = (next + 1) & table->mask) {
    table->slots[at] = table->slots[next];
    --table->slots[at].probes;
  }
  table->slots[at].probes = EMPTY;
  --table->size;
  return 1;
}

static uint32_t longest_probe(const struct table *table) {
  uint32_t longest = 0;
  for (uint32_t i = 0; i <= table->mask; ++i)
    longest = table->slots[i].probes > longest ? table->slots[i].probes : longest;
  return longest;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 26);
  uint64_t state = input.seed, found = 0, erased = 0, sum = FNV_START;
  uint32_t keys = input.size / 2 + 1, kept = 0;
  uint32_t *truth = allocate(keys, sizeof *truth); /* 0: not in the table */
  struct table table = make_table(16);
  for (uint32_t step = 0; step < input.size; ++step) {
    uint32_t index = random_below(&state, keys), key = index * 2654435761u, kind = random_below(&state, 8);
    if (kind < 4) {
      insert(&table, key, step % 1000 + 1);
      truth[index] += step % 1000 + 1;
    } else if (kind < 6) {
      int was_there = erase(&table, key);
      check(was_there == (truth[index] != 0), "erased what was not there, or did not find it");
      erased += (uint64_t)was_there;
      truth[index] = 0;
    } else {
      const struct slot *slot = find(&table, key);
      check((slot ? slot->value : 0) == truth[index], "a wrong value was found");
      found += slot != NULL;
    }
  }
  FAULT(insert(&table, 0, 1));
  for (uint32_t index = 0; index < keys; ++index) {
    const struct slot *slot = find(&table, index * 2654435761u);
    check((slot ? slot->value : 0) == truth[index], "the table has a wrong value in the end");
    kept += slot != NULL;
    sum = mix(sum, slot ? slot->value : 0);
  }
  check(kept == table.size, "the table counts wrongly");
  printf("%u entries in %u slots, longest probe %u; %llu found, %llu erased\n", table.size, table.mask + 1,
         longest_probe(&table), (unsigned long long)found, (unsigned long long)erased);
  print_checksum(sum);
  free(table.slots);
  free(truth);
  return 0;
}
