/* Conway's game of life on a torus, 64 cells a word by bitwise adders, checked against counting neighbours. */
#include "kernel.h"

struct world {
  int words, height; /* 64 * words cells wide */
  uint64_t *cells, *next;
};

static uint64_t *row_of(const struct world *world, int y) {
  return world->cells + (size_t)((y + world->height) % world->height) * world->words;
}

static int is_alive(const struct world *world, int x, int y) {
  int width = 64 * world->words;
  x = (x + width) % width;
  return (int)(row_of(world, y)[x / 64] >> x % 64 & 1);
}

/* The words of a row moved by one cell to either side. */
static uint64_t from_left(const uint64_t *row, int i, int words) {
  return row[i] << 1 | row[(i + words - 1) % words] >> 63;
}
static uint64_t from_right(const uint64_t *row, int i, int words) { return row[i] >> 1 | row[(i + 1) % words] << 63; }

/* Add one bit to each of 64 counters of three bits; a fourth neighbour too many stays visible in `fours`. */
static void count_in(uint64_t bit, uint64_t *ones, uint64_t *twos, uint64_t *fours) {
  uint64_t carry = *ones & bit;
  *ones ^= bit;
  uint64_t carry2 = *twos & carry;
  *twos ^= carry;
  *fours |= carry2;
}

static uint64_t next_word(const uint64_t *above, const uint64_t *row, const uint64_t *below, int i, int words) {
  uint64_t ones = 0, twos = 0, fours = 0;
  count_in(from_left(above, i, words), &ones, &twos, &fours);
  count_in(above[i], &ones, &twos, &fours);
  count_in(from_right(above, i, words), &ones, &twos, &fours);
  count_in(from_left(row, i, words), &ones, &twos, &fours);
  count_in(from_right(row, i, words), &ones, &twos, &fours);
  count_in(from_left(below, i, words), &ones, &twos, &fours);
  count_in(below[i], &ones, &twos, &fours);
  count_in(from_right(below, i, words), &ones, &twos, &fours);
  return twos & ~fours & (ones | row[i]); /* three neighbours, or two and alive */
}

static void step(struct world *world) {
  for (int y = 0; y < world->height; ++y)
    for (int i = 0; i < world->words; ++i)
      world->next[(size_t)y * world->words + i] =
          next_word(row_of(world, y - 1), row_of(world, y), row_of(world, y + 1), i, world->words);
  uint64_t *held = world->cells;
  world->cells = world->next;
  world->next = held;
}

/* `before` and `after` are one generation apart: check some rows cell by cell. */
static void check_step(const struct world *before, const struct world *after, int every) {
  for (int y = 0; y < before->height; y += every)
    for (int x = 0; x < 64 * before->words; ++x) {
      int around = -is_alive(before, x, y);
      for (int j = -1; j <= 1; ++j)
        for (int i = -1; i <= 1; ++i)
          around += is_alive(before, x + i, y + j);
      int lives = around == 3 || (around == 2 && is_alive(before, x, y));
      check(lives == is_alive(after, x, y), "a cell is wrong");
    }
}

static uint64_t population(const struct world *world) {
  uint64_t count = 0;
  for (size_t i = 0; i < (size_t)world->words * world->height; ++i)
    for (uint64_t word = world->cells[i]; word; word &= word - 1)
      ++count;
  return count;
}

static void clear(struct world *world) {
  memset(world->cells, 0, (size_t)world->words * world->height * sizeof *world->cells);
}

/* A glider moves by one cell a side in four generations. */
static void check_glider(struct world *world) {
  static const unsigned char glider[3] = {2, 4, 7};
  clear(world);
  for (int y = 0; y < 3; ++y)
    row_of(world, y)[0] = glider[y];
  for (int i = 0; i < 4 * 16; ++i)
    step(world);
  FAULT(*row_of(world, 16) ^= 1);
  for (int y = 0; y < 3; ++y)
    check(row_of(world, 16 + y)[0] == (uint64_t)glider[y] << 16, "the glider is not where it should be");
  check(population(world) == 5, "the glider is not alone");
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 512);
  int words = (int)input.size, height = 48 * words;
  size_t count = (size_t)words * height;
  uint64_t state = input.seed, sum = FNV_START;
  struct world world = {words, height, allocate(count, sizeof(uint64_t)), allocate(count, sizeof(uint64_t))};
  check_glider(&world);
  for (size_t i = 0; i < count; ++i) {
    uint64_t some = next_random(&state);
    world.cells[i] = some & next_random(&state);
  }
  printf("%d x %d: population %llu", 64 * words, height, (unsigned long long)population(&world));
  for (int generation = 0; generation < 100; ++generation) {
    step(&world);
    if (generation % 25 == 0) {
      struct world before = {words, height, world.next, NULL};
      check_step(&before, &world, 8);
      printf(", %llu", (unsigned long long)population(&world));
    }
  }
  for (size_t i = 0; i < count; ++i)
    sum = mix(sum, world.cells[i]);
  printf(", %llu\n", (unsigned long long)population(&world));
  print_checksum(sum);
  free(world.cells);
  free(world.next);
  return 0;
}
