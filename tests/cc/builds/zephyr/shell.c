#include <string.h>
#include "kernel.h"
extern struct state counters;
static int run_count(const char *text) { int n = 0; while (*text) n += *text++ == 'a'; counters.count += n; return n; }
ITERABLE(command, count) = {"count", run_count};
static int run_hash(const char *text) { unsigned rest = 5381; while (*text) rest = rest * 33 ^ (unsigned char)*text++; return (int)(rest & 0x7fff); }
ITERABLE(command, hash) = {"hash", run_hash};
int run(const char *name, const char *text) {
  FOREACH(command, it) if (!strcmp(it->name, name)) return it->run(text);
  return -1;
}
