/* A small program to try burnish on: a string-keyed counter with open addressing. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CAPACITY 1024

struct entry {
  char key[24];
  uint32_t count;
};

static struct entry table[CAPACITY];

static uint32_t hash(const char *text) {
  uint32_t value = 2166136261u;
  for (; *text; text++)
    value = (value ^ (uint8_t)*text) * 16777619u;
  return value;
}

static struct entry *find(const char *key) {
  for (uint32_t slot = hash(key);; slot++) {
    struct entry *entry = &table[slot % CAPACITY];
    if (entry->count == 0 || strcmp(entry->key, key) == 0)
      return entry;
  }
}

static void count(const char *word) {
  struct entry *entry = find(word);
  if (entry->count == 0)
    strncpy(entry->key, word, sizeof entry->key - 1);
  entry->count++;
}

static uint32_t fold_lower(char *word) {
  uint32_t letters = 0;
  for (; *word; word++) {
    if (*word >= 'A' && *word <= 'Z')
      *word += 'a' - 'A';
    letters += *word >= 'a' && *word <= 'z';
  }
  return letters;
}

int main(int argc, char **argv) {
  uint32_t letters = 0, most = 0;
  for (int i = 1; i < argc; i++) {
    letters += fold_lower(argv[i]);
    count(argv[i]);
  }
  for (int i = 0; i < CAPACITY; i++)
    if (table[i].count > table[most].count)
      most = i;
  printf("%u letters; most often: %s (%u)\n", letters, table[most].key, table[most].count);
  return 0;
}
