/* Canonical Huffman coding with code lengths limited to 15 bits, and a decoder by table. */
#include "kernel.h"

enum { SYMBOLS = 256, LONGEST = 15, NODES = 2 * SYMBOLS };

struct node {
  uint64_t weight;
  int left, right; /* -1: a leaf */
};

struct code {
  uint16_t bits;
  uint8_t length;
};

struct entry {
  uint8_t symbol, length;
};

struct stream {
  unsigned char *bytes;
  size_t size;
  uint64_t held;
  int count;
};

/* Order the heap of node numbers by weight, then by number, so that the tree is unique. */
static int is_lighter(const struct node *nodes, int a, int b) {
  return nodes[a].weight != nodes[b].weight ? nodes[a].weight < nodes[b].weight : a < b;
}

static void sift_down(const struct node *nodes, int *heap, int count, int at) {
  for (int child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_lighter(nodes, heap[child + 1], heap[child]))
      ++child;
    if (!is_lighter(nodes, heap[child], heap[at]))
      return;
    int held = heap[at];
    heap[at] = heap[child];
    heap[child] = held;
  }
}

static int depth_of(const struct node *nodes, int at, int depth, struct code *codes) {
  if (nodes[at].left < 0) {
    codes[at].length = (uint8_t)(depth ? depth : 1);
    return depth;
  }
  int left = depth_of(nodes, nodes[at].left, depth + 1, codes);
  int right = depth_of(nodes, nodes[at].right, depth + 1, codes);
  return left > right ? left : right;
}

/* Build the tree and set the lengths of the codes; return the longest. */
static int build_lengths(const uint64_t *weights, struct code *codes) {
  struct node nodes[NODES];
  int heap[SYMBOLS], count = 0, next = SYMBOLS;
  for (int symbol = 0; symbol < SYMBOLS; ++symbol) {
    codes[symbol].length = 0;
    nodes[symbol] = (struct node){weights[symbol], -1, -1};
    if (weights[symbol])
      heap[count++] = symbol;
  }
  for (int i = count / 2; i-- > 0;)
    sift_down(nodes, heap, count, i);
  while (count > 1) {
    int first = heap[0];
    heap[0] = heap[--count];
    sift_down(nodes, heap, count, 0);
    int second = heap[0];
    nodes[next] = (struct node){nodes[first].weight + nodes[second].weight, first, second};
    heap[0] = next++;
    sift_down(nodes, heap, count, 0);
  }
  return depth_of(nodes, heap[0], 0, codes);
}

/* Flatten the weights until no code is too long. */
static void limit_lengths(uint64_t *weights, struct code *codes) {
  while (build_lengths(weights, codes) > LONGEST)
    for (int symbol = 0; symbol < SYMBOLS; ++symbol)
      if (weights[symbol])
        weights[symbol] = weights[symbol] / 2 + 1;
}

static void assign_codes(struct code *codes) {
  unsigned next = 0;
  for (int length = 1; length <= LONGEST; ++length, next <<= 1)
    for (int symbol = 0; symbol < SYMBOLS; ++symbol)
      if (codes[symbol].length == length)
        codes[symbol].bits = (uint16_t)next++;
}

static void fill_table(const struct code *codes, struct entry *table) {
  for (int symbol = 0; symbol < SYMBOLS; ++symbol) {
    int spare = LONGEST - codes[symbol].length;
    if (codes[symbol].length)
      for (unsigned i = 0; i < 1u << spare; ++i)
        table[((unsigned)codes[symbol].bits << spare) + i] = (struct entry){(uint8_t)symbol, codes[symbol].length};
  }
}

static void put_code(struct stream *out, struct code code) {
  out->held = out->held << code.length | code.bits;
  out->count += code.length;
  for (; out->count >= 8; out->count -= 8)
    out->bytes[out->size++] = (unsigned char)(out->held >> (out->count - 8));
}

static size_t encode(const unsigned char *data, size_t size, const struct code *codes, unsigned char *to) {
  struct stream out = {to, 0, 0, 0};
  for (size_t i = 0; i < size; ++i)
    put_code(&out, codes[data[i]]);
  put_code(&out, (struct code){0, 7}); /* what is left of the last byte */
  return out.size;
}

static size_t decode(const unsigned char *packed, size_t packed_size, const struct entry *table, unsigned char *to,
                     size_t size) {
  size_t at = 0;
  uint64_t held = 0;
  int count = 0;
  for (size_t i = 0; i < size; ++i) {
    for (; count < LONGEST; count += 8)
      held = held << 8 | (at < packed_size ? packed[at] : 0), ++at;
    struct entry entry = table[held >> (count - LONGEST) & ((1u << LONGEST) - 1)];
    check(entry.length > 0, "no code begins like this");
    to[i] = entry.symbol;
    count -= entry.length;
  }
  return at;
}

/* Kraft's sum of a complete code is 1; a single symbol takes half of it. */
static void check_lengths(const struct code *codes) {
  uint32_t sum = 0, used = 0;
  for (int symbol = 0; symbol < SYMBOLS; ++symbol)
    if (codes[symbol].length) {
      sum += 1u << (LONGEST - codes[symbol].length);
      ++used;
    }
  check(sum == 1u << (used > 1 ? LONGEST : LONGEST - 1), "the code is not complete");
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 26);
  size_t size = input.size;
  unsigned char *data = allocate(size, 1), *packed = allocate(2 * size + 16, 1), *output = allocate(size, 1);
  struct entry *table = allocate((size_t)1 << LONGEST, sizeof *table);
  uint64_t state = input.seed;
  for (int skew = 0; skew < 4; ++skew) {
    uint64_t weights[SYMBOLS] = {0};
    struct code codes[SYMBOLS] = {{0, 0}};
    for (size_t i = 0; i < size; ++i) {
      uint64_t bits = next_random(&state);
      for (int step = 0; step < skew; ++step)
        bits &= next_random(&state);
      ++weights[data[i] = (unsigned char)bits];
    }
    limit_lengths(weights, codes);
    assign_codes(codes);
    check_lengths(codes);
    memset(table, 0, sizeof *table << LONGEST);
    fill_table(codes, table);
    size_t packed_size = encode(data, size, codes, packed);
    FAULT(packed[packed_size / 2] ^= 16);
    check(decode(packed, packed_size, table, output, size) <= packed_size + 2, "the decoder read too far");
    check(memcmp(data, output, size) == 0, "something else came back");
    printf("skew %d: %zu -> %zu bytes, ", skew, size, packed_size);
    print_checksum(mix_bytes(FNV_START, packed, packed_size));
  }
  free(data);
  free(packed);
  free(output);
  free(table);
  return 0;
}
