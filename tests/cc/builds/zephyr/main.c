#include <stdio.h>
#include <string.h>
#include "kernel.h"
int run(const char *, const char *);
extern int ready, ticks;
extern struct state counters;
extern void (*const isr_table[8])(void);
int table_size(void);
int main(void) {
  FOREACH(device, it) printf("%s %d\n", it->name, it->open(ready));
  printf("%d %d %d\n", run("count", "banana"), run("hash", "banana"), run("none", ""));
  for (int i = 0; i < table_size(); i++) if (isr_table[i]) isr_table[i]();
  printf("ready %d ticks %d count %d\n", ready, ticks, counters.count);
  return 0;
}
