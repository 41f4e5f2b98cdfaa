/* A memory allocator with boundary tags and segregated free lists in an arena, under a random load. */
#include "kernel.h"

enum { UNIT = 16, BINS = 24, SLOTS = 1 << 12 };

/* A block is a header, its payload, and the size again at its end; sizes are in units and count all of it. */
struct header {
  uint32_t units, is_free;
  uint32_t next, previous; /* in the free list of its bin, as offsets in units; 0: none */
};

struct arena {
  struct header *blocks; /* one unit each */
  uint32_t units, bins[BINS], live;
  uint64_t splits, merges;
};

struct slot {
  uint32_t block, bytes;
  unsigned char mark;
};

static int bin_of(uint32_t units) {
  int bin = 0;
  while (units >>= 1)
    ++bin;
  return bin;
}

static uint32_t *tail_of(const struct arena *arena, uint32_t block) {
  return &arena->blocks[block + arena->blocks[block].units - 1].units;
}

static void unlink_block(struct arena *arena, uint32_t block) {
  struct header *h = &arena->blocks[block];
  if (h->previous)
    arena->blocks[h->previous].next = h->next;
  else
    arena->bins[bin_of(h->units)] = h->next;
  if (h->next)
    arena->blocks[h->next].previous = h->previous;
  h->is_free = 0;
}

static void link_block(struct arena *arena, uint32_t block, uint32_t units) {
  uint32_t *bin = &arena->bins[bin_of(units)];
  arena->blocks[block] = (struct header){units, 1, *bin, 0};
  if (*bin)
    arena->blocks[*bin].previous = block;
  *bin = block;
  struct header *tail = &arena->blocks[block + units - 1];
  tail->units = units;
  if (units > 1) /* what the tail says besides: is the block free? */
    tail->is_free = 1;
}

static struct arena make_arena(uint32_t units) {
  struct arena arena = {allocate(units, sizeof(struct header)), units, {0}, 0, 0, 0};
  arena.blocks[0] = (struct header){1, 0, 0, 0}; /* neither the first unit nor the last is ever free */
  arena.blocks[units - 1] = (struct header){1, 0, 0, 0};
  link_block(&arena, 1, units - 2);
  return arena;
}

/* The first block that is large enough, in the bin of its size and in those above. */
static uint32_t find_block(const struct arena *arena, uint32_t units) {
  for (int bin = bin_of(units); bin < BINS; ++bin)
    for (uint32_t block = arena->bins[bin]; block; block = arena->blocks[block].next)
      if (arena->blocks[block].units >= units)
        return block;
  return 0;
}

/* Return a block, or 0 where the arena is full. */
static uint32_t take(struct arena *arena, uint32_t bytes) {
  uint32_t units = 2 + (bytes + UNIT - 1) / UNIT, block = find_block(arena, units);
  if (!block)
    return 0;
  struct header *h = &arena->blocks[block];
  unlink_block(arena, block);
  if (h->units >= units + 3) {
    link_block(arena, block + units, h->units - units);
    h->units = units;
    ++arena->splits;
  }
  struct header *tail = &arena->blocks[block + h->units - 1];
  tail->units = h->units;
  tail->is_free = 0;
  ++arena->live;
  return block;
}

static void give_back(struct arena *arena, uint32_t block) {
  struct header *before = &arena->blocks[block - 1];
  uint32_t units = arena->blocks[block].units, after = block + units;
  check(!arena->blocks[block].is_free && *tail_of(arena, block) == units, "a header was overwritten");
  if (arena->blocks[after].is_free) {
    units += arena->blocks[after].units;
    unlink_block(arena, after);
    ++arena->merges;
  }
  if (before->is_free) {
    block -= before->units;
    units += arena->blocks[block].units;
    unlink_block(arena, block);
    ++arena->merges;
  }
  link_block(arena, block, units);
  --arena->live;
}

static unsigned char *payload(const struct arena *arena, uint32_t block) {
  return (unsigned char *)&arena->blocks[block + 1];
}

/* Blocks follow one another without a gap, and no two free ones are neighbours. */
static uint32_t check_arena(const struct arena *arena) {
  uint32_t live = 0, free_units = 0, was_free = 0;
  for (uint32_t block = 1; block < arena->units - 1; block += arena->blocks[block].units) {
    const struct header *h = &arena->blocks[block];
    check(h->units >= 3 || h->units == arena->units - 2, "a block is too small");
    check(*tail_of(arena, block) == h->units, "a block's ends disagree");
    check(!(was_free && h->is_free), "two free blocks are neighbours");
    was_free = h->is_free;
    live += !h->is_free;
    free_units += h->is_free ? h->units : 0;
  }
  check(live == arena->live, "blocks were lost");
  return free_units;
}

static void check_payload(const struct arena *arena, const struct slot *slot) {
  const unsigned char *bytes = payload(arena, slot->block);
  for (uint32_t i = 0; i < slot->bytes; i += 1 + slot->bytes / 8)
    check(bytes[i] == slot->mark, "a block was overwritten");
}

static uint32_t random_size(uint64_t *state) {
  uint32_t most = 16u << random_below(state, 8);
  return 1 + random_below(state, most);
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 100, 1u << 28);
  struct arena arena = make_arena(1u << 17);
  struct slot *slots = allocate(SLOTS, sizeof *slots);
  uint64_t state = input.seed, sum = FNV_START, failures = 0, taken = 0;
  for (uint32_t step = 0; step < input.size; ++step) {
    struct slot *slot = &slots[random_below(&state, SLOTS)];
    if (slot->block) {
      check_payload(&arena, slot);
      give_back(&arena, slot->block);
      slot->block = 0;
      continue;
    }
    slot->bytes = random_size(&state);
    slot->mark = (unsigned char)step;
    slot->block = take(&arena, slot->bytes);
    if (!slot->block) {
      ++failures;
      continue;
    }
    memset(payload(&arena, slot->block), slot->mark, slot->bytes);
    taken += slot->bytes;
    sum = mix(sum, slot->block);
  }
  FAULT(*tail_of(&arena, 1) += 1);
  uint32_t free_units = check_arena(&arena);
  printf("%u live, %u units free, %llu bytes taken, %llu splits, %llu merges, %llu failures\n", arena.live, free_units,
         (unsigned long long)taken, (unsigned long long)arena.splits, (unsigned long long)arena.merges,
         (unsigned long long)failures);
  print_checksum(sum);
  for (uint32_t i = 0; i < SLOTS; ++i)
    if (slots[i].block) {
      check_payload(&arena, &slots[i]);
      give_back(&arena, slots[i].block);
    }
  check(check_arena(&arena) == arena.units - 2, "the arena does not become whole again");
  free(arena.blocks);
  free(slots);
  return 0;
}
