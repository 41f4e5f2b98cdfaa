#include "table.h"

const struct row ROWS[] = {{1, "one"}, {3, "three"}, {7, "seven"}, {0, 0}};
int calls;

static int clamp(int value) { return value < 0 ? 0 : value; }

int find(int key, int from, int flags) {
  ++calls;
  for (int i = clamp(from); ROWS[i].name; ++i)
    if (ROWS[i].key == key && !(flags & 1))
      return i;
  return flags & 2 ? clamp(key) : -1;
}
