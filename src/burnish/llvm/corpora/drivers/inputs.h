/* Seeded inputs and digests for the drivers: the same on every machine and with every compiler. */
#ifndef INPUTS_H
#define INPUTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, RUNS, RECORDS, NOISE, KINDS };

static const char *const kind_names[KINDS] = {"text", "runs", "records", "noise"};

/* splitmix64 */
static inline uint64_t next_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* 64 bits of FNV-1a */
static inline uint64_t digest(const void *data, size_t size) {
  const unsigned char *bytes = data;
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < size; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash;
}

static inline void fail(const char *what) {
  printf("FAILED: %s\n", what);
  exit(1);
}

/* A number that is an argument. */
static inline size_t read_size(const char *text) {
  char *end;
  unsigned long value = strtoul(text, &end, 10);
  if (end == text || *end || value > 1u << 28)
    fail("an argument is not a number, or too large");
  return value;
}

static inline void *allocate(size_t size) {
  void *memory = calloc(size ? size : 1, 1);
  if (!memory)
    fail("out of memory");
  return memory;
}

static inline size_t put_word(unsigned char *to, size_t room, uint64_t *state) {
  static const char *const words[] = {"the ",  "loop ",  "unrolls ", "and ",    "inlines ", "a ",     "function ", "of ",
                                      "two ",  "blocks ", "before ",  "vector ", "code ",    "sinks ", "into ",     "it.\n"};
  const char *word = words[next_random(state) % 16];
  size_t length = strlen(word) < room ? strlen(word) : room;
  memcpy(to, word, length);
  return length;
}

static inline size_t put_run(unsigned char *to, size_t room, uint64_t *state) {
  size_t length = 1 + next_random(state) % 300;
  length = length < room ? length : room;
  memset(to, (int)(next_random(state) % 7), length);
  return length;
}

static inline size_t put_record(unsigned char *to, size_t room, uint64_t *state, size_t number) {
  char line[64];
  unsigned value = (unsigned)(next_random(state) % 10000); /* before the next: arguments have no order */
  const char *is_ok = next_random(state) % 2 ? "true" : "false";
  int length = snprintf(line, sizeof line, "{\"id\": %zu, \"size\": %u, \"ok\": %s}\n", number, value, is_ok);
  size_t used = (size_t)length < room ? (size_t)length : room;
  memcpy(to, line, used);
  return used;
}

/* Return `size` new bytes of a kind; the caller frees them. */
static inline unsigned char *make_input(enum kind kind, size_t size, uint64_t seed) {
  unsigned char *bytes = allocate(size);
  uint64_t state = seed * 31 + (uint64_t)kind;
  for (size_t at = 0; at < size;) {
    if (kind == TEXT)
      at += put_word(bytes + at, size - at, &state);
    else if (kind == RUNS)
      at += put_run(bytes + at, size - at, &state);
    else if (kind == RECORDS)
      at += put_record(bytes + at, size - at, &state, at);
    else
      bytes[at++] = (unsigned char)next_random(&state);
  }
  return bytes;
}

#endif
