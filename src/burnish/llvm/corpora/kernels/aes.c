/* AES-128 by bytes, with tables that are computed: FIPS 197's vectors, then counter mode and its inverse by blocks. */
#include "kernel.h"

enum { BLOCK = 16, ROUNDS = 10, KEYS = BLOCK * (ROUNDS + 1) };

struct tables {
  unsigned char box[256], inverse[256];
};

struct cipher {
  unsigned char keys[KEYS];
  const struct tables *tables;
};

/* Multiplication in the field of 256 elements, modulo x^8 + x^4 + x^3 + x + 1. */
static unsigned char times(unsigned char a, unsigned char b) {
  unsigned product = 0;
  for (unsigned x = a; b; b >>= 1, x = x << 1 ^ (x & 0x80 ? 0x11b : 0))
    if (b & 1)
      product ^= x;
  return (unsigned char)product;
}

static unsigned char rotate(unsigned char byte, int by) { return (unsigned char)(byte << by | byte >> (8 - by)); }

/* The S-box: the inverse in the field, then an affine map. 3 generates all elements but zero. */
static void make_tables(struct tables *t) {
  unsigned char power = 1, inverse = 1;
  do {
    power = times(power, 3);
    inverse = times(inverse, 0xf6); /* the inverse of 3 */
    unsigned char byte = (unsigned char)(inverse ^ rotate(inverse, 1) ^ rotate(inverse, 2) ^ rotate(inverse, 3) ^
                                         rotate(inverse, 4) ^ 0x63);
    t->box[power] = byte;
  } while (power != 1);
  t->box[0] = 0x63;
  for (int i = 0; i < 256; ++i)
    t->inverse[t->box[i]] = (unsigned char)i;
}

static void expand_key(struct cipher *c, const unsigned char *key) {
  unsigned char constant = 1;
  memcpy(c->keys, key, BLOCK);
  for (int i = BLOCK; i < KEYS; i += 4) {
    unsigned char word[4];
    memcpy(word, c->keys + i - 4, 4);
    if (i % BLOCK == 0) {
      unsigned char first = word[0];
      for (int j = 0; j < 4; ++j)
        word[j] = c->tables->box[j < 3 ? word[j + 1] : first];
      word[0] ^= constant;
      constant = times(constant, 2);
    }
    for (int j = 0; j < 4; ++j)
      c->keys[i + j] = c->keys[i + j - BLOCK] ^ word[j];
  }
}

static void add_key(unsigned char *s, const unsigned char *key) {
  for (int i = 0; i < BLOCK; ++i)
    s[i] ^= key[i];
}

/* Substitute, and move row r by r columns: to the left, or back to the right. */
static void substitute_and_shift(unsigned char *s, const unsigned char *box, int direction) {
  unsigned char old[BLOCK];
  memcpy(old, s, BLOCK);
  for (int column = 0; column < 4; ++column)
    for (int row = 0; row < 4; ++row)
      s[4 * column + row] = box[old[4 * ((column + direction * row) & 3) + row]];
}

static unsigned char twice(unsigned char byte) { return (unsigned char)(byte << 1 ^ (byte >> 7) * 0x1b); }

static void mix_columns(unsigned char *s) {
  for (unsigned char *c = s; c < s + BLOCK; c += 4) {
    unsigned char all = c[0] ^ c[1] ^ c[2] ^ c[3], first = c[0];
    for (int i = 0; i < 4; ++i)
      c[i] ^= all ^ twice(c[i] ^ (i < 3 ? c[i + 1] : first));
  }
}

static void unmix_columns(unsigned char *s) {
  for (unsigned char *c = s; c < s + BLOCK; c += 4) {
    unsigned char even = twice(twice(c[0] ^ c[2])), odd = twice(twice(c[1] ^ c[3]));
    for (int i = 0; i < 4; ++i)
      c[i] ^= i % 2 ? odd : even;
  }
  mix_columns(s);
}

static void encrypt_block(const struct cipher *c, unsigned char *s) {
  add_key(s, c->keys);
  for (int round = 1; round <= ROUNDS; ++round) {
    substitute_and_shift(s, c->tables->box, 1);
    if (round < ROUNDS)
      mix_columns(s);
    add_key(s, c->keys + BLOCK * round);
  }
}

static void decrypt_block(const struct cipher *c, unsigned char *s) {
  for (int round = ROUNDS; round > 0; --round) {
    add_key(s, c->keys + BLOCK * round);
    if (round < ROUNDS)
      unmix_columns(s);
    substitute_and_shift(s, c->tables->inverse, -1);
  }
  add_key(s, c->keys);
}

static void count_mode(const struct cipher *c, uint64_t nonce, unsigned char *data, size_t size) {
  for (size_t at = 0; at < size; at += BLOCK) {
    unsigned char pad[BLOCK];
    for (int i = 0; i < 8; ++i) {
      pad[i] = (unsigned char)(nonce >> (56 - 8 * i));
      pad[8 + i] = (unsigned char)((uint64_t)(at / BLOCK) >> (56 - 8 * i));
    }
    encrypt_block(c, pad);
    for (size_t i = 0; i < BLOCK && at + i < size; ++i)
      data[at + i] ^= pad[i];
  }
}

/* FIPS 197, appendix C.1 */
static void check_vectors(struct cipher *cipher) {
  static const unsigned char expected[BLOCK] = {0x69, 0xc4, 0xe0, 0xd8, 0x6a, 0x7b, 0x04, 0x30,
                                                0xd8, 0xcd, 0xb7, 0x80, 0x70, 0xb4, 0xc5, 0x5a};
  unsigned char key[BLOCK], block[BLOCK];
  check(cipher->tables->box[0x53] == 0xed && cipher->tables->inverse[0xed] == 0x53, "the S-box of FIPS 197");
  for (int i = 0; i < BLOCK; ++i) {
    key[i] = (unsigned char)i;
    block[i] = (unsigned char)(0x11 * i);
  }
  expand_key(cipher, key);
  encrypt_block(cipher, block);
  FAULT(block[7] ^= 1);
  check(memcmp(block, expected, BLOCK) == 0, "the ciphertext of FIPS 197");
  decrypt_block(cipher, block);
  for (int i = 0; i < BLOCK; ++i)
    check(block[i] == 0x11 * i, "the plaintext of FIPS 197");
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, BLOCK, 1u << 26);
  size_t size = input.size / BLOCK * BLOCK;
  struct tables *tables = allocate(1, sizeof *tables);
  struct cipher *cipher = allocate(1, sizeof *cipher);
  unsigned char *data = allocate(size, 1), *blocks = allocate(size, 1), key[BLOCK];
  uint64_t state = input.seed;
  make_tables(tables);
  cipher->tables = tables;
  check_vectors(cipher);
  for (int i = 0; i < BLOCK; ++i)
    key[i] = (unsigned char)next_random(&state);
  expand_key(cipher, key);
  uint64_t nonce = next_random(&state), sum = FNV_START;
  count_mode(cipher, nonce, data, size); /* of zeros: the key stream itself */
  memcpy(blocks, data, size);
  for (size_t at = 0; at < size; at += BLOCK) {
    decrypt_block(cipher, blocks + at);
    uint64_t counter = 0;
    for (int i = 8; i < BLOCK; ++i)
      counter = counter << 8 | blocks[at + (size_t)i];
    check(counter == at / BLOCK, "decryption is not the inverse");
  }
  sum = mix_bytes(sum, data, size);
  printf("%zu bytes, nonce %016llx\n", size, (unsigned long long)nonce);
  print_checksum(sum);
  free(tables);
  free(cipher);
  free(data);
  free(blocks);
  return 0;
}
