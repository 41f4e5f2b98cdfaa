/* ChaCha20 and Poly1305 as RFC 8439 combines them: its test vectors, then messages sealed and opened. */
#include "kernel.h"

enum { KEY_BYTES = 32, NONCE_BYTES = 12, TAG_BYTES = 16, BLOCK_BYTES = 64 };

struct poly {
  uint32_t r[5], h[5], pad[4]; /* r and h in limbs of 26 bits */
};

static uint32_t load(const unsigned char *b) {
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void store(unsigned char *b, uint32_t word) {
  for (int i = 0; i < 4; ++i)
    b[i] = (unsigned char)(word >> 8 * i);
}

static void store_length(unsigned char *b, size_t length) {
  store(b, (uint32_t)length);
  store(b + 4, (uint32_t)((uint64_t)length >> 32));
}

static uint32_t rotate(uint32_t word, int by) { return word << by | word >> (32 - by); }

static void quarter_round(uint32_t *s, int a, int b, int c, int d) {
  s[a] += s[b];
  s[d] = rotate(s[d] ^ s[a], 16);
  s[c] += s[d];
  s[b] = rotate(s[b] ^ s[c], 12);
  s[a] += s[b];
  s[d] = rotate(s[d] ^ s[a], 8);
  s[c] += s[d];
  s[b] = rotate(s[b] ^ s[c], 7);
}

static void make_block(const unsigned char *key, uint32_t counter, const unsigned char *nonce, unsigned char *block) {
  uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, s[16];
  for (int i = 0; i < 8; ++i)
    start[4 + i] = load(key + 4 * i);
  start[12] = counter;
  for (int i = 0; i < 3; ++i)
    start[13 + i] = load(nonce + 4 * i);
  memcpy(s, start, sizeof s);
  for (int i = 0; i < 10; ++i) {
    for (int j = 0; j < 4; ++j)
      quarter_round(s, j, j + 4, j + 8, j + 12);
    for (int j = 0; j < 4; ++j)
      quarter_round(s, j, 4 + (j + 1) % 4, 8 + (j + 2) % 4, 12 + (j + 3) % 4);
  }
  for (int i = 0; i < 16; ++i)
    store(block + 4 * i, s[i] + start[i]);
}

static void encrypt(const unsigned char *key, const unsigned char *nonce, unsigned char *data, size_t size) {
  unsigned char block[BLOCK_BYTES];
  for (uint32_t counter = 1; size > 0; ++counter) {
    size_t part = size < BLOCK_BYTES ? size : BLOCK_BYTES;
    make_block(key, counter, nonce, block);
    for (size_t i = 0; i < part; ++i)
      data[i] ^= block[i];
    data += part;
    size -= part;
  }
}

static void begin(struct poly *p, const unsigned char *key) {
  static const uint32_t clamp[5] = {0x3ffffff, 0x3ffff03, 0x3ffc0ff, 0x3f03fff, 0x00fffff};
  for (int i = 0; i < 5; ++i) {
    p->r[i] = load(key + (i < 4 ? 3 * i : 12)) >> (i < 4 ? 2 * i : 8) & clamp[i];
    p->h[i] = 0;
  }
  for (int i = 0; i < 4; ++i)
    p->pad[i] = load(key + 16 + 4 * i);
}

/* h = (h + block) * r modulo 2^130 - 5 */
static void absorb_block(struct poly *p, const unsigned char *block) {
  uint64_t sums[5] = {0}, carry = 0;
  for (int i = 0; i < 5; ++i)
    p->h[i] += i < 4 ? load(block + 3 * i) >> 2 * i & 0x3ffffff : load(block + 12) >> 8 | 1u << 24;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 5; ++j)
      sums[i] += (uint64_t)p->h[j] * (j <= i ? p->r[i - j] : 5 * p->r[5 + i - j]);
  for (int i = 0; i < 5; ++i) {
    sums[i] += carry;
    p->h[i] = sums[i] & 0x3ffffff;
    carry = sums[i] >> 26;
  }
  carry = p->h[0] + 5 * carry;
  p->h[0] = carry & 0x3ffffff;
  p->h[1] += (uint32_t)(carry >> 26);
}

/* Whole blocks: what is shorter is filled up with zeros, as the construction of the RFC does. */
static void absorb(struct poly *p, const unsigned char *data, size_t size) {
  unsigned char block[16] = {0};
  for (; size >= 16; data += 16, size -= 16)
    absorb_block(p, data);
  if (size > 0) {
    memcpy(block, data, size);
    absorb_block(p, block);
  }
}

static void finish(struct poly *p, unsigned char *tag) {
  uint32_t carry = 0, minus[5];
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5; ++i) {
      p->h[i] += carry;
      carry = p->h[i] >> 26;
      p->h[i] &= 0x3ffffff;
    }
    carry *= 5;
  }
  p->h[0] += carry;
  carry = 5; /* h - p is h + 5 - 2^130 */
  for (int i = 0; i < 5; ++i) {
    minus[i] = p->h[i] + carry;
    carry = minus[i] >> 26;
    minus[i] &= 0x3ffffff;
  }
  const uint32_t *h = carry ? minus : p->h;
  uint64_t sum = 0;
  for (int i = 0; i < 4; ++i) {
    uint32_t word = h[i] >> 6 * i | h[i + 1] << (26 - 6 * i);
    sum += (uint64_t)word + p->pad[i];
    store(tag + 4 * i, (uint32_t)sum);
    sum >>= 32;
  }
}

static void authenticate(const unsigned char *key, const unsigned char *nonce, const unsigned char *more,
                         size_t more_size, const unsigned char *data, size_t size, unsigned char *tag) {
  unsigned char block[BLOCK_BYTES], lengths[16];
  struct poly poly;
  make_block(key, 0, nonce, block);
  begin(&poly, block);
  absorb(&poly, more, more_size);
  absorb(&poly, data, size);
  store_length(lengths, more_size);
  store_length(lengths + 8, size);
  absorb(&poly, lengths, sizeof lengths);
  finish(&poly, tag);
}

/* RFC 8439, section 2.8.2 */
static void check_vectors(void) {
  static const unsigned char tag[TAG_BYTES] = {0x1a, 0xe1, 0x0b, 0x59, 0x4f, 0x09, 0xe2, 0x6a,
                                               0x7e, 0x90, 0x2e, 0xcb, 0xd0, 0x60, 0x06, 0x91};
  static const unsigned char first[8] = {0xd3, 0x1a, 0x8d, 0x34, 0x64, 0x8e, 0x60, 0xdb};
  static const unsigned char more[] = {0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7};
  static const unsigned char nonce[NONCE_BYTES] = {7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47};
  char text[] = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
                "sunscreen would be it.";
  unsigned char key[KEY_BYTES], found[TAG_BYTES], *data = (unsigned char *)text;
  size_t size = sizeof text - 1;
  for (int i = 0; i < KEY_BYTES; ++i)
    key[i] = (unsigned char)(0x80 + i);
  encrypt(key, nonce, data, size);
  check(memcmp(data, first, sizeof first) == 0, "the ciphertext of the RFC");
  authenticate(key, nonce, more, sizeof more, data, size, found);
  FAULT(found[3] ^= 1);
  check(memcmp(found, tag, sizeof tag) == 0, "the tag of the RFC");
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 26);
  check_vectors();
  unsigned char key[KEY_BYTES], nonce[NONCE_BYTES], tag[TAG_BYTES], again[TAG_BYTES];
  unsigned char *data = allocate(input.size, 1), *copy = allocate(input.size, 1);
  uint64_t state = input.seed, sum = FNV_START;
  for (int message = 0; message < 4; ++message) {
    size_t size = input.size - random_below(&state, input.size), more = size < 40 ? size : 40;
    for (int i = 0; i < KEY_BYTES; ++i)
      key[i] = (unsigned char)next_random(&state);
    for (int i = 0; i < NONCE_BYTES; ++i)
      nonce[i] = (unsigned char)next_random(&state);
    for (size_t i = 0; i < size; ++i)
      data[i] = copy[i] = (unsigned char)(i * 7 + i / 251);
    encrypt(key, nonce, data, size);
    authenticate(key, nonce, copy, more, data, size, tag);
    sum = mix_bytes(mix_bytes(sum, data, size), tag, TAG_BYTES);
    data[size / 2] ^= 1;
    authenticate(key, nonce, copy, more, data, size, again);
    check(memcmp(tag, again, TAG_BYTES) != 0, "a changed message is accepted");
    data[size / 2] ^= 1;
    encrypt(key, nonce, data, size);
    check(memcmp(data, copy, size) == 0, "something else comes back");
    printf("%zu bytes, tag %02x%02x%02x%02x\n", size, tag[0], tag[1], tag[2], tag[3]);
  }
  print_checksum(sum);
  free(data);
  free(copy);
  return 0;
}
