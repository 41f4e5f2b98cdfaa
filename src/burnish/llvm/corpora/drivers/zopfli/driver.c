/* Compress seeded inputs in every format, inflate what was made, and compare; one line each. */
#include "inputs.h"
#include "zopfli.h"

enum { LONGEST_CODE = 15, LITERALS = 288, DISTANCES = 30, ITERATIONS = 5 };

struct reader {
  const unsigned char *bytes;
  size_t size, at, bit;
};

/* Symbols in the order of their codes, and how many codes there are of each length. */
struct code {
  uint16_t symbols[LITERALS], counts[LONGEST_CODE + 1];
};

static unsigned read_bits(struct reader *in, int count) {
  unsigned value = 0;
  for (int i = 0; i < count; ++i, ++in->bit) {
    size_t at = in->at + in->bit / 8;
    if (at >= in->size)
      fail("the stream ends too early");
    value |= (unsigned)(in->bytes[at] >> in->bit % 8 & 1) << i;
  }
  return value;
}

static void make_code(struct code *code, const unsigned char *lengths, int count) {
  int made = 0;
  memset(code, 0, sizeof *code);
  for (int length = 1; length <= LONGEST_CODE; ++length)
    for (int symbol = 0; symbol < count; ++symbol)
      if (lengths[symbol] == length) {
        code->symbols[made++] = (uint16_t)symbol;
        ++code->counts[length];
      }
}

static int read_symbol(struct reader *in, const struct code *code) {
  int bits = 0, first = 0, index = 0;
  for (int length = 1; length <= LONGEST_CODE; ++length) {
    bits |= (int)read_bits(in, 1);
    if (bits - first < code->counts[length])
      return code->symbols[index + bits - first];
    index += code->counts[length];
    first = (first + code->counts[length]) << 1;
    bits <<= 1;
  }
  fail("no code begins like this");
  return 0;
}

/* RFC 1951, section 3.2.7: the lengths of the codes are coded themselves. */
static void read_codes(struct reader *in, struct code *literals, struct code *distances) {
  static const unsigned char order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  int literal_count = 257 + (int)read_bits(in, 5), distance_count = 1 + (int)read_bits(in, 5);
  int used = 4 + (int)read_bits(in, 4), count = literal_count + distance_count, at = 0;
  unsigned char lengths[LITERALS + 32] = {0};
  struct code code;
  for (int i = 0; i < used; ++i)
    lengths[order[i]] = (unsigned char)read_bits(in, 3);
  make_code(&code, lengths, 19);
  memset(lengths, 0, sizeof lengths);
  while (at < count) {
    int symbol = read_symbol(in, &code), repeat = 1;
    unsigned char length = (unsigned char)symbol;
    if (symbol >= 16) {
      length = symbol == 16 && at > 0 ? lengths[at - 1] : 0;
      repeat = symbol == 16   ? 3 + (int)read_bits(in, 2)
               : symbol == 17 ? 3 + (int)read_bits(in, 3)
                              : 11 + (int)read_bits(in, 7);
    }
    if (at + repeat > count)
      fail("too many codes");
    while (repeat-- > 0)
      lengths[at++] = length;
  }
  make_code(literals, lengths, literal_count);
  make_code(distances, lengths + literal_count, distance_count);
}

static void fixed_codes(struct code *literals, struct code *distances) {
  unsigned char lengths[LITERALS];
  for (int i = 0; i < LITERALS; ++i)
    lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  make_code(literals, lengths, LITERALS);
  memset(lengths, 5, DISTANCES);
  make_code(distances, lengths, DISTANCES);
}

static size_t copy_match(struct reader *in, int symbol, const struct code *distances, unsigned char *to, size_t made,
                         size_t room) {
  int step = symbol - 257, bits = step < 8 || step == 28 ? 0 : step / 4 - 1;
  size_t length = step == 28 ? 258
                  : step < 8 ? 3 + (size_t)step
                             : 3 + ((size_t)(4 + step % 4) << bits) + read_bits(in, bits);
  int far = read_symbol(in, distances), more = far < 4 ? 0 : far / 2 - 1;
  size_t distance = far < 4 ? 1 + (size_t)far : 1 + ((size_t)(2 + far % 2) << more) + read_bits(in, more);
  if (distance > made || length > room - made)
    fail("a match is out of bounds");
  for (size_t i = 0; i < length; ++i, ++made)
    to[made] = to[made - distance];
  return made;
}

static size_t inflate(struct reader *in, unsigned char *to, size_t room) {
  size_t made = 0;
  for (unsigned last = 0; !last;) {
    struct code literals, distances;
    last = read_bits(in, 1);
    unsigned kind = read_bits(in, 2);
    if (kind == 0) {
      in->bit = (in->bit + 7) / 8 * 8;
      size_t length = read_bits(in, 16);
      if (length != (~read_bits(in, 16) & 0xffff) || length > room - made)
        fail("a stored block has a wrong length");
      while (length-- > 0)
        to[made++] = (unsigned char)read_bits(in, 8);
      continue;
    }
    if (kind == 1)
      fixed_codes(&literals, &distances);
    else
      read_codes(in, &literals, &distances);
    for (int symbol; (symbol = read_symbol(in, &literals)) != 256;) {
      if (symbol > 256)
        made = copy_match(in, symbol, &distances, to, made, room);
      else if (made < room)
        to[made++] = (unsigned char)symbol;
      else
        fail("more comes back than went in");
    }
  }
  return made;
}

static void check_inflates(ZopfliFormat format, const unsigned char *packed, size_t size, const unsigned char *input,
                           size_t input_size) {
  static const size_t headers[] = {10, 2, 0}; /* in the order of ZopfliFormat */
  unsigned char *output = allocate(input_size);
  struct reader reader = {packed, size, headers[format], 0};
  if (inflate(&reader, output, input_size) != input_size || memcmp(input, output, input_size))
    fail("something else comes back");
  free(output);
}

static void compress(enum kind kind, size_t size, int iterations) {
  static const char *const names[] = {"gzip", "zlib", "deflate"}; /* in the order of ZopfliFormat */
  unsigned char *input = make_input(kind, size, 3);
  for (int format = ZOPFLI_FORMAT_GZIP; format <= ZOPFLI_FORMAT_DEFLATE; ++format) {
    ZopfliOptions options;
    ZopfliInitOptions(&options);
    options.numiterations = iterations;
    options.blocksplitting = iterations > 1;
    unsigned char *packed = NULL;
    size_t packed_size = 0;
    ZopfliCompress(&options, (ZopfliFormat)format, input, size, &packed, &packed_size);
    check_inflates((ZopfliFormat)format, packed, packed_size, input, size);
    printf("%-7s %d %-7s %6zu -> %6zu  %016llx\n", kind_names[kind], iterations, names[format], size, packed_size,
           (unsigned long long)digest(packed, packed_size));
    free(packed);
  }
  free(input);
}

/* zopfli SIZE... */
int main(int argc, char **argv) {
  for (int kind = 0; kind < KINDS; ++kind)
    for (int i = 1; i < argc; ++i)
      for (int iterations = 1; iterations <= ITERATIONS; iterations += ITERATIONS - 1)
        compress((enum kind)kind, read_size(argv[i]), iterations);
  puts("every stream was inflated to its input");
  return 0;
}
