/* CRC-32 by bits, by bytes and by eight bytes at once, its combination, Adler-32, Fletcher-64, xxHash-like mixing. */
#include "kernel.h"

enum { SLICES = 8, CRC_BITS = 32 };

static const uint32_t POLYNOMIAL = 0xedb88320, ADLER_PRIME = 65521;

static void make_tables(uint32_t tables[SLICES][256]) {
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
    tables[0][byte] = crc;
  }
  for (int slice = 1; slice < SLICES; ++slice)
    for (int byte = 0; byte < 256; ++byte) {
      uint32_t before = tables[slice - 1][byte];
      tables[slice][byte] = before >> 8 ^ tables[0][before & 255];
    }
}

static uint32_t crc_by_bits(const unsigned char *data, size_t size) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (POLYNOMIAL & (0 - (crc & 1)));
  }
  return ~crc;
}

static uint32_t crc_by_bytes(uint32_t tables[SLICES][256], const unsigned char *data, size_t size) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < size; ++i)
    crc = crc >> 8 ^ tables[0][(crc ^ data[i]) & 255];
  return ~crc;
}

static uint32_t load(const unsigned char *b) {
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint32_t crc_by_slices(uint32_t tables[SLICES][256], const unsigned char *data, size_t size) {
  uint32_t crc = ~0u;
  for (; size >= SLICES; data += SLICES, size -= SLICES) {
    uint32_t low = load(data) ^ crc, high = load(data + 4);
    crc = tables[7][low & 255] ^ tables[6][low >> 8 & 255] ^ tables[5][low >> 16 & 255] ^ tables[4][low >> 24] ^
          tables[3][high & 255] ^ tables[2][high >> 8 & 255] ^ tables[1][high >> 16 & 255] ^ tables[0][high >> 24];
  }
  for (; size > 0; ++data, --size)
    crc = crc >> 8 ^ tables[0][(crc ^ *data) & 255];
  return ~crc;
}

static uint32_t apply(const uint32_t *matrix, uint32_t vector) {
  uint32_t sum = 0;
  for (; vector; vector >>= 1, ++matrix)
    if (vector & 1)
      sum ^= *matrix;
  return sum;
}

static void square(const uint32_t *matrix, uint32_t *result) {
  for (int i = 0; i < CRC_BITS; ++i)
    result[i] = apply(matrix, matrix[i]);
}

/* The checksum of two parts, one after the other: a zero byte is a linear map, applied `size` times by squaring. */
static uint32_t combine(uint32_t first, uint32_t second, size_t size) {
  uint32_t map[CRC_BITS], squared[CRC_BITS];
  map[0] = POLYNOMIAL; /* one zero bit */
  for (int i = 1; i < CRC_BITS; ++i)
    map[i] = 1u << (i - 1);
  for (int i = 0; i < 3; ++i) { /* one zero byte */
    square(map, squared);
    memcpy(map, squared, sizeof map);
  }
  for (; size; size >>= 1) {
    if (size & 1)
      first = apply(map, first);
    square(map, squared);
    memcpy(map, squared, sizeof map);
  }
  return first ^ second;
}

static uint32_t adler(const unsigned char *data, size_t size) {
  uint32_t a = 1, b = 0;
  while (size > 0) {
    size_t part = size < 5552 ? size : 5552; /* the most before b could overflow */
    for (size_t i = 0; i < part; ++i) {
      a += data[i];
      b += a;
    }
    a %= ADLER_PRIME;
    b %= ADLER_PRIME;
    data += part;
    size -= part;
  }
  return b << 16 | a;
}

/* By definition: b is the sum of what a has been. */
static uint32_t adler_slowly(const unsigned char *data, size_t size) {
  uint64_t a = 1, b = 0;
  for (size_t i = 0; i < size; ++i) {
    a = (a + data[i]) % ADLER_PRIME;
    b = (b + a) % ADLER_PRIME;
  }
  return (uint32_t)(b << 16 | a);
}

static uint64_t fletcher(const unsigned char *data, size_t size) {
  uint64_t a = 0, b = 0;
  for (; size >= 4; data += 4, size -= 4) {
    a = (a + load(data)) % 0xffffffffu;
    b = (b + a) % 0xffffffffu;
  }
  return b << 32 | a;
}

static uint64_t four_lanes(const unsigned char *data, size_t size) {
  uint64_t lanes[4] = {1, 2, 3, 4};
  for (; size >= 16; data += 16, size -= 16)
    for (int i = 0; i < 4; ++i) {
      uint64_t lane = lanes[i] + load(data + 4 * i) * 0xc2b2ae3d27d4eb4fu;
      lanes[i] = (lane << 31 | lane >> 33) * 0x9e3779b185ebca87u;
    }
  return lanes[0] ^ lanes[1] << 1 ^ lanes[2] << 2 ^ lanes[3] << 3;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 28);
  static uint32_t tables[SLICES][256];
  size_t size = input.size;
  uint64_t state = input.seed;
  unsigned char *data = allocate(size, 1);
  make_tables(tables);
  const unsigned char *digits = (const unsigned char *)"123456789", *wiki = (const unsigned char *)"Wikipedia";
  check(crc_by_bits(digits, 9) == 0xcbf43926 && crc_by_slices(tables, digits, 9) == 0xcbf43926, "CRC of digits");
  check(adler(wiki, 9) == 0x11e60398, "Adler-32 of a known word");
  for (size_t i = 0; i < size; ++i)
    data[i] = (unsigned char)next_random(&state);
  uint32_t crc = crc_by_slices(tables, data, size);
  FAULT(crc ^= 1);
  check(crc == crc_by_bytes(tables, data, size), "by eight bytes and by one");
  check(size > 1000000 || crc == crc_by_bits(data, size), "by bytes and by bits");
  size_t cut = random_below(&state, input.size);
  uint32_t first = crc_by_slices(tables, data, cut), second = crc_by_slices(tables, data + cut, size - cut);
  check(combine(first, second, size - cut) == crc, "the combination of two parts");
  check(adler(data, size) == adler_slowly(data, size), "Adler-32 by definition");
  printf("%zu bytes: %08x %08x %016llx %016llx\n", size, crc, adler(data, size),
         (unsigned long long)fletcher(data, size), (unsigned long long)four_lanes(data, size));
  free(data);
  return 0;
}
