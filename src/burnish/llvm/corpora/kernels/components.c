/* Breadth-first search in a maze, and its connected regions by search and by union-find. */
#include "kernel.h"

#define UNSEEN UINT32_MAX

struct maze {
  uint32_t width, height;
  unsigned char *is_wall;
};

static struct maze make_maze(uint32_t side, uint64_t *state) {
  struct maze maze = {side, side, allocate((size_t)side * side, 1)};
  for (size_t i = 0; i < (size_t)side * side; ++i)
    maze.is_wall[i] = random_below(state, 100) < 38;
  return maze;
}

static int neighbours(const struct maze *maze, uint32_t cell, uint32_t *found) {
  uint32_t x = cell % maze->width, y = cell / maze->width;
  int count = 0;
  if (x > 0 && !maze->is_wall[cell - 1])
    found[count++] = cell - 1;
  if (x + 1 < maze->width && !maze->is_wall[cell + 1])
    found[count++] = cell + 1;
  if (y > 0 && !maze->is_wall[cell - maze->width])
    found[count++] = cell - maze->width;
  if (y + 1 < maze->height && !maze->is_wall[cell + maze->width])
    found[count++] = cell + maze->width;
  return count;
}

/* Set the distances from `start` of all that can be reached; return how many cells that is. */
static uint32_t search(const struct maze *maze, uint32_t start, uint32_t *distance, uint32_t *queue) {
  uint32_t head = 0, tail = 0, near[4];
  distance[start] = 0;
  queue[tail++] = start;
  while (head < tail) {
    uint32_t cell = queue[head++];
    for (int i = neighbours(maze, cell, near); i-- > 0;)
      if (distance[near[i]] == UNSEEN) {
        distance[near[i]] = distance[cell] + 1;
        queue[tail++] = near[i];
      }
  }
  return tail;
}

static uint32_t find_root(uint32_t *parent, uint32_t cell) {
  while (parent[cell] != cell) {
    parent[cell] = parent[parent[cell]];
    cell = parent[cell];
  }
  return cell;
}

static void unite(uint32_t *parent, uint32_t *size, uint32_t a, uint32_t b) {
  a = find_root(parent, a);
  b = find_root(parent, b);
  if (a == b)
    return;
  if (size[a] < size[b]) {
    uint32_t held = a;
    a = b;
    b = held;
  }
  parent[b] = a;
  size[a] += size[b];
}

/* Unite every cell with those left of it and above it. */
static void unite_all(const struct maze *maze, uint32_t *parent, uint32_t *size) {
  for (uint32_t cell = 0; cell < maze->width * maze->height; ++cell) {
    parent[cell] = cell;
    size[cell] = 1;
    if (maze->is_wall[cell])
      continue;
    if (cell % maze->width && !maze->is_wall[cell - 1])
      unite(parent, size, cell, cell - 1);
    if (cell >= maze->width && !maze->is_wall[cell - maze->width])
      unite(parent, size, cell, cell - maze->width);
  }
}

/* Neighbours' distances differ by one at most, and each but the start's has a neighbour that is nearer. */
static void check_distances(const struct maze *maze, const uint32_t *distance) {
  uint32_t near[4];
  for (uint32_t cell = 0; cell < maze->width * maze->height; ++cell) {
    if (maze->is_wall[cell])
      continue;
    int has_nearer = distance[cell] == 0;
    for (int i = neighbours(maze, cell, near); i-- > 0;) {
      check(distance[near[i]] + 1 >= distance[cell], "a neighbour is much nearer");
      has_nearer |= distance[near[i]] + 1 == distance[cell];
    }
    check(has_nearer, "no neighbour is nearer");
  }
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 2, 1u << 13);
  uint64_t state = input.seed, sum = FNV_START;
  struct maze maze = make_maze(input.size, &state);
  size_t cells = (size_t)maze.width * maze.height;
  uint32_t *distance = allocate(cells, sizeof *distance), *queue = allocate(cells, sizeof *queue);
  uint32_t *parent = allocate(cells, sizeof *parent), *size = allocate(cells, sizeof *size);
  uint32_t regions = 0, largest = 0, farthest = 0;
  memset(distance, 0xff, cells * sizeof *distance);
  unite_all(&maze, parent, size);
  FAULT(++size[find_root(parent, (uint32_t)cells / 2)]);
  for (uint32_t cell = 0; cell < cells; ++cell) {
    if (maze.is_wall[cell] ? size[cell] == 1 : distance[cell] != UNSEEN)
      continue;
    uint32_t reached = search(&maze, cell, distance, queue);
    check(reached == size[find_root(parent, cell)], "search and union-find disagree on a region's size");
    ++regions;
    largest = reached > largest ? reached : largest;
    farthest = distance[queue[reached - 1]] > farthest ? distance[queue[reached - 1]] : farthest;
    sum = mix(sum, (uint64_t)reached << 32 | distance[queue[reached - 1]]);
  }
  check_distances(&maze, distance);
  printf("%u x %u: %u regions, the largest of %u cells, the longest way %u\n", maze.width, maze.height, regions,
         largest, farthest);
  print_checksum(sum);
  free(maze.is_wall);
  free(distance);
  free(queue);
  free(parent);
  free(size);
  return 0;
}
