/* A hash table with open addressing: insert, look up, remove, resize. */
#include <stddef.h>

void *malloc(size_t size);
void free(void *memory);

struct slot {
  unsigned key;
  int value;
  unsigned char used;
};

struct table {
  struct slot *slots;
  size_t capacity, count;
};

static unsigned mix(unsigned key) {
  key ^= key >> 16;
  key *= 0x7feb352du;
  key ^= key >> 15;
  return key;
}

static struct slot *find_slot(const struct table *table, unsigned key) {
  size_t mask = table->capacity - 1;
  for (size_t i = mix(key) & mask;; i = (i + 1) & mask) {
    struct slot *slot = &table->slots[i];
    if (!slot->used || slot->key == key)
      return slot;
  }
}

int table_insert(struct table *table, unsigned key, int value);

static int resize(struct table *table) {
  struct table larger = {NULL, table->capacity ? table->capacity * 2 : 8, 0};
  larger.slots = malloc(larger.capacity * sizeof *larger.slots);
  if (!larger.slots)
    return -1;
  for (size_t i = 0; i < larger.capacity; ++i)
    larger.slots[i].used = 0;
  for (size_t i = 0; i < table->capacity; ++i)
    if (table->slots[i].used)
      table_insert(&larger, table->slots[i].key, table->slots[i].value);
  free(table->slots);
  *table = larger;
  return 0;
}

int table_insert(struct table *table, unsigned key, int value) {
  if (table->count * 4 >= table->capacity * 3 && resize(table))
    return -1;
  struct slot *slot = find_slot(table, key);
  if (!slot->used) {
    slot->used = 1;
    slot->key = key;
    ++table->count;
  }
  slot->value = value;
  return 0;
}

int table_get(const struct table *table, unsigned key, int otherwise) {
  if (!table->count)
    return otherwise;
  const struct slot *slot = find_slot(table, key);
  return slot->used ? slot->value : otherwise;
}

void table_remove(struct table *table, unsigned key) {
  if (!table->count)
    return;
  struct slot *slot = find_slot(table, key);
  size_t mask = table->capacity - 1, hole = (size_t)(slot - table->slots);
  if (!slot->used)
    return;
  slot->used = 0;
  --table->count;
  for (size_t i = (hole + 1) & mask; table->slots[i].used; i = (i + 1) & mask) {
    struct slot moved = table->slots[i];
    table->slots[i].used = 0;
    --table->count;
    table_insert(table, moved.key, moved.value);
  }
}
