/* Nearest neighbours by a k-d tree that is built by selection, and clusters by Lloyd's iteration with it. */
#include "kernel.h"
#include <float.h>
#include <math.h>

enum { DIMENSIONS = 3, NEIGHBOURS = 5, CLUSTERS = 24, MOST_ROUNDS = 12, LEAF = 8 };

struct point {
  double at[DIMENSIONS];
  uint32_t number;
};

struct found {
  double square[NEIGHBOURS];
  uint32_t number[NEIGHBOURS];
};

static double squared_distance(const struct point *a, const struct point *b) {
  double sum = 0;
  for (int i = 0; i < DIMENSIONS; ++i)
    sum += (a->at[i] - b->at[i]) * (a->at[i] - b->at[i]);
  return sum;
}

static void swap(struct point *a, struct point *b) {
  struct point held = *a;
  *a = *b;
  *b = held;
}

/* Put the middle point, along an axis, where it would be if all were sorted. */
static void select_middle(struct point *points, int count, int axis) {
  int low = 0, high = count - 1, middle = count / 2;
  while (low < high) {
    double pivot = points[(low + high) / 2].at[axis];
    int i = low, j = high;
    while (i <= j) {
      while (points[i].at[axis] < pivot)
        ++i;
      while (points[j].at[axis] > pivot)
        --j;
      if (i <= j)
        swap(&points[i++], &points[j--]);
    }
    if (middle <= j)
      high = j;
    else if (middle >= i)
      low = i;
    else
      return;
  }
}

/* The tree is the order of the points: the middle one divides the rest, axis by axis. */
static void build(struct point *points, int count, int axis) {
  if (count <= LEAF)
    return;
  select_middle(points, count, axis);
  build(points, count / 2, (axis + 1) % DIMENSIONS);
  build(points + count / 2 + 1, count - count / 2 - 1, (axis + 1) % DIMENSIONS);
}

/* Keep the nearest in order; ties go to the lesser number, so that the answer is unique. */
static void offer(struct found *found, double square, uint32_t number) {
  int at = NEIGHBOURS - 1;
  if (square > found->square[at] || (square == found->square[at] && number > found->number[at]))
    return;
  for (; at > 0 &&
         (found->square[at - 1] > square || (found->square[at - 1] == square && found->number[at - 1] > number));
       --at) {
    found->square[at] = found->square[at - 1];
    found->number[at] = found->number[at - 1];
  }
  found->square[at] = square;
  found->number[at] = number;
}

static void search(const struct point *points, int count, int axis, const struct point *query, struct found *found) {
  if (count <= LEAF) {
    for (int i = 0; i < count; ++i)
      offer(found, squared_distance(&points[i], query), points[i].number);
    return;
  }
  int middle = count / 2, next = (axis + 1) % DIMENSIONS;
  double side = query->at[axis] - points[middle].at[axis];
  offer(found, squared_distance(&points[middle], query), points[middle].number);
  for (int pass = 0; pass < 2; ++pass) { /* the query's side first; the other only if it is near enough */
    int left = (side < 0) == (pass == 0);
    if (pass == 1 && side * side > found->square[NEIGHBOURS - 1])
      return;
    if (left)
      search(points, middle, next, query, found);
    else
      search(points + middle + 1, count - middle - 1, next, query, found);
  }
}

static struct found nobody(void) {
  struct found found;
  for (int i = 0; i < NEIGHBOURS; ++i) {
    found.square[i] = DBL_MAX;
    found.number[i] = UINT32_MAX;
  }
  return found;
}

static int nearest_centre(const struct point *centres, const struct point *point) {
  int best = 0;
  for (int i = 1; i < CLUSTERS; ++i)
    if (squared_distance(&centres[i], point) < squared_distance(&centres[best], point))
      best = i;
  return best;
}

/* One round of Lloyd's: assign, then move each centre to the mean. Return the sum of squared distances. */
static double move_centres(const struct point *points, int count, struct point *centres) {
  struct point sums[CLUSTERS];
  double total = 0;
  memset(sums, 0, sizeof sums);
  for (int i = 0; i < count; ++i) {
    int centre = nearest_centre(centres, &points[i]);
    total += squared_distance(&centres[centre], &points[i]);
    ++sums[centre].number;
    for (int j = 0; j < DIMENSIONS; ++j)
      sums[centre].at[j] += points[i].at[j];
  }
  for (int i = 0; i < CLUSTERS; ++i)
    for (int j = 0; j < DIMENSIONS && sums[i].number; ++j)
      centres[i].at[j] = sums[i].at[j] / sums[i].number;
  return total;
}

static void random_point(struct point *point, uint32_t number, uint64_t *state) {
  double group = random_below(state, 2 * CLUSTERS);
  point->number = number;
  for (int i = 0; i < DIMENSIONS; ++i) {
    double spread = random_unit(state);
    point->at[i] = fmod(group * (7 + i) * 0.317, 4) + spread * random_unit(state);
  }
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 50, 1u << 22);
  int count = (int)input.size;
  uint64_t state = input.seed, sum = FNV_START;
  struct point *points = allocate(input.size, sizeof *points), centres[CLUSTERS], query;
  double nearest = 0, before = DBL_MAX;
  for (uint32_t i = 0; i < input.size; ++i)
    random_point(&points[i], i, &state);
  for (int i = 0; i < CLUSTERS; ++i)
    random_point(&centres[i], 0, &state);
  build(points, count, 0);
  for (int i = 0; i < count; ++i) {
    struct found found = nobody(), slow = nobody();
    random_point(&query, 0, &state);
    search(points, count, 0, &query, &found);
    if (i < 100) {
      FAULT(found.number[1] = found.number[0]);
      for (int j = 0; j < count; ++j)
        offer(&slow, squared_distance(&points[j], &query), points[j].number);
      check(memcmp(slow.number, found.number, sizeof slow.number) == 0, "others are nearer");
    }
    nearest += sqrt(found.square[0]);
    sum = mix(mix(sum, found.number[0]), found.number[NEIGHBOURS - 1]);
  }
  for (int round = 0; round < MOST_ROUNDS; ++round) {
    double total = move_centres(points, count, centres);
    check(total <= before * (1 + 1e-12), "a round made the clusters worse");
    before = total;
  }
  printf("%d points: nearest %.5f on average, clusters %.3f\n", count, nearest / count, before);
  print_checksum(sum);
  free(points);
  return 0;
}
