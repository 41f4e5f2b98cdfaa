/* Dynamic programs: a knapsack with its choice, coins, matrix chains and the longest increasing subsequence. */
#include "kernel.h"

enum { ITEMS = 120 };

struct item {
  uint32_t weight, value;
};

/* The best value within each capacity; taken[i * (room + 1) + w] says whether item i is in the best for w. */
static uint64_t fill_knapsack(const struct item *items, int count, uint32_t room, unsigned char *taken) {
  uint64_t *best = allocate(room + 1, sizeof *best);
  for (int i = 0; i < count; ++i)
    for (uint32_t w = room; w >= items[i].weight; --w) {
      uint64_t with = best[w - items[i].weight] + items[i].value;
      if (with > best[w]) {
        best[w] = with;
        taken[(size_t)i * (room + 1) + w] = 1;
      }
    }
  uint64_t value = best[room];
  free(best);
  return value;
}

static uint64_t check_choice(const struct item *items, int count, uint32_t room, const unsigned char *taken,
                             uint64_t value) {
  uint64_t found = 0, choice = FNV_START;
  uint32_t left = room;
  for (int i = count; i-- > 0;)
    if (taken[(size_t)i * (room + 1) + left]) {
      check(items[i].weight <= left, "the choice is too heavy");
      left -= items[i].weight;
      found += items[i].value;
      choice = mix(choice, (uint64_t)i);
    }
  check(found == value, "the choice has another value");
  return choice;
}

/* What is left of the best value by density, which no choice can exceed, must not be beaten. */
static void check_bound(const struct item *items, int count, uint32_t room, uint64_t value) {
  struct item sorted[ITEMS];
  double bound = 0;
  memcpy(sorted, items, (size_t)count * sizeof *sorted);
  for (int i = 1; i < count; ++i)
    for (int j = i; j > 0; --j) {
      struct item *a = &sorted[j - 1], *b = &sorted[j], held = *a;
      if ((uint64_t)b->value * a->weight <= (uint64_t)a->value * b->weight)
        break;
      *a = *b;
      *b = held;
    }
  for (int i = 0; i < count && room > 0; ++i) {
    uint32_t part = sorted[i].weight < room ? sorted[i].weight : room;
    bound += (double)sorted[i].value * part / sorted[i].weight;
    room -= part;
  }
  check((double)value <= bound + 1e-6 && (double)value >= 0.9 * bound, "better than any choice, or a poor one");
}

/* How many ways there are to pay each amount; modulo 2^64. */
static uint64_t ways_to_pay(uint32_t amount) {
  static const uint32_t coins[] = {1, 2, 5, 10, 20, 50, 100, 200};
  uint64_t *ways = allocate(amount + 1, sizeof *ways);
  ways[0] = 1;
  for (size_t i = 0; i < sizeof coins / sizeof *coins; ++i)
    for (uint32_t a = coins[i]; a <= amount; ++a)
      ways[a] += ways[a - coins[i]];
  uint64_t result = ways[amount];
  free(ways);
  return result;
}

/* The fewest multiplications that a chain of matrices takes: cost[i * n + j] of matrices i to j. */
static uint64_t chain_cost(const uint32_t *sizes, int n, uint64_t *cost) {
  for (int length = 1; length < n; ++length)
    for (int i = 0; i + length < n; ++i) {
      int j = i + length;
      uint64_t best = UINT64_MAX;
      for (int k = i; k < j; ++k) {
        uint64_t product = (uint64_t)sizes[i] * sizes[k + 1] * sizes[j + 1];
        uint64_t sum = cost[i * n + k] + cost[(k + 1) * n + j] + product;
        best = sum < best ? sum : best;
      }
      cost[i * n + j] = best;
    }
  return cost[n - 1];
}

/* The length by patience sorting, and by definition for the first 300. */
static uint32_t longest_increasing(const uint32_t *values, uint32_t count, uint32_t *tails) {
  uint32_t length = 0;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t low = 0, high = length;
    while (low < high) {
      uint32_t middle = (low + high) / 2;
      if (tails[middle] < values[i])
        low = middle + 1;
      else
        high = middle;
    }
    tails[low] = values[i];
    length += low == length;
  }
  return length;
}

static uint32_t longest_by_definition(const uint32_t *values, uint32_t count) {
  uint32_t lengths[300], best = 0;
  for (uint32_t i = 0; i < count; ++i) {
    lengths[i] = 1;
    for (uint32_t j = 0; j < i; ++j)
      if (values[j] < values[i] && lengths[j] >= lengths[i])
        lengths[i] = lengths[j] + 1;
    best = lengths[i] > best ? lengths[i] : best;
  }
  return best;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 200, 1u << 20);
  uint32_t room = input.size, count = 4 * room;
  int chain = 20 + (int)(room / 300);
  uint64_t state = input.seed;
  struct item items[ITEMS];
  for (int i = 0; i < ITEMS; ++i) {
    items[i].weight = 1 + random_below(&state, room / 20);
    items[i].value = 1 + items[i].weight / 2 + random_below(&state, room / 20);
  }
  unsigned char *taken = allocate((size_t)ITEMS * (room + 1), 1);
  uint64_t value = fill_knapsack(items, ITEMS, room, taken);
  FAULT(value += 1);
  uint64_t choice = check_choice(items, ITEMS, room, taken, value);
  check_bound(items, ITEMS, room, value);
  check(ways_to_pay(200) == 73682, "two pounds can be paid in 73,682 ways");
  printf("knapsack of %u: value %llu\n", room, (unsigned long long)value);
  print_checksum(choice);
  uint32_t *sizes = allocate((size_t)chain + 1, sizeof *sizes), *values = allocate(count, sizeof *values);
  uint32_t *tails = allocate(count, sizeof *tails);
  uint64_t *cost = allocate((size_t)chain * chain, sizeof *cost);
  for (int i = 0; i <= chain; ++i)
    sizes[i] = 1 + random_below(&state, 100);
  for (uint32_t i = 0; i < count; ++i)
    values[i] = random_below(&state, 1u << 30);
  uint32_t first = count < 300 ? count : 300;
  check(longest_increasing(values, first, tails) == longest_by_definition(values, first), "increasing subsequence");
  printf("%llu ways to pay, %d matrices in %llu multiplications, increasing %u of %u\n",
         (unsigned long long)ways_to_pay(10 * room), chain, (unsigned long long)chain_cost(sizes, chain, cost),
         longest_increasing(values, count, tails), count);
  free(taken);
  free(sizes);
  free(values);
  free(tails);
  free(cost);
  return 0;
}
