/* SHA-256 of published test vectors, then of a long chain of messages. */
#include "kernel.h"

enum { BLOCK_BYTES = 64, DIGEST_BYTES = 32 };

struct sha256 {
  uint32_t state[8];
  uint64_t length;
  unsigned char block[BLOCK_BYTES];
};

static const uint32_t ROUND_KEYS[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate_right(uint32_t word, int by) { return word >> by | word << (32 - by); }

static uint32_t load_big_endian(const unsigned char *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void expand(uint32_t schedule[64], const unsigned char *block) {
  for (int i = 0; i < 16; ++i)
    schedule[i] = load_big_endian(block + 4 * i);
  for (int i = 16; i < 64; ++i) {
    uint32_t x = schedule[i - 15], y = schedule[i - 2];
    uint32_t small0 = rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3;
    uint32_t small1 = rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10;
    schedule[i] = schedule[i - 16] + small0 + schedule[i - 7] + small1;
  }
}

static void compress(uint32_t state[8], const unsigned char *block) {
  uint32_t schedule[64], v[8];
  expand(schedule, block);
  memcpy(v, state, sizeof v);
  for (int i = 0; i < 64; ++i) {
    uint32_t big1 = rotate_right(v[4], 6) ^ rotate_right(v[4], 11) ^ rotate_right(v[4], 25);
    uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t one = v[7] + big1 + choice + ROUND_KEYS[i] + schedule[i];
    uint32_t big0 = rotate_right(v[0], 2) ^ rotate_right(v[0], 13) ^ rotate_right(v[0], 22);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    for (int j = 7; j > 0; --j)
      v[j] = v[j - 1];
    v[4] += one;
    v[0] = one + big0 + majority;
  }
  for (int i = 0; i < 8; ++i)
    state[i] += v[i];
}

static void begin(struct sha256 *hash) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memcpy(hash->state, start, sizeof start);
  hash->length = 0;
}

static void absorb(struct sha256 *hash, const void *data, size_t size) {
  const unsigned char *bytes = data;
  while (size > 0) {
    size_t used = hash->length % BLOCK_BYTES;
    size_t part = BLOCK_BYTES - used < size ? BLOCK_BYTES - used : size;
    memcpy(hash->block + used, bytes, part);
    hash->length += part;
    bytes += part;
    size -= part;
    if (hash->length % BLOCK_BYTES == 0)
      compress(hash->state, hash->block);
  }
}

static void finish(struct sha256 *hash, unsigned char digest[DIGEST_BYTES]) {
  static const unsigned char padding[BLOCK_BYTES] = {0x80};
  unsigned char bits[8];
  for (int i = 0; i < 8; ++i)
    bits[i] = (unsigned char)(hash->length * 8 >> (56 - 8 * i));
  absorb(hash, padding, 1 + (119 - hash->length % BLOCK_BYTES) % BLOCK_BYTES);
  absorb(hash, bits, sizeof bits);
  for (int i = 0; i < DIGEST_BYTES; ++i)
    digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

static void hash_all(const void *data, size_t size, unsigned char digest[DIGEST_BYTES]) {
  struct sha256 hash;
  begin(&hash);
  absorb(&hash, data, size);
  finish(&hash, digest);
}

static void to_hexadecimal(const unsigned char digest[DIGEST_BYTES], char text[2 * DIGEST_BYTES + 1]) {
  for (int i = 0; i < DIGEST_BYTES; ++i)
    snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

/* FIPS 180-4's examples */
static void check_vectors(void) {
  static const char *const vectors[][2] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
                                           {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
                                           {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                                            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; ++i) {
    unsigned char digest[DIGEST_BYTES];
    char text[2 * DIGEST_BYTES + 1];
    hash_all(vectors[i][0], strlen(vectors[i][0]), digest);
    FAULT(digest[31] ^= 1);
    to_hexadecimal(digest, text);
    check(strcmp(text, vectors[i][1]) == 0, "a published test vector");
  }
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 24);
  check_vectors();
  unsigned char message[1000], digest[DIGEST_BYTES];
  uint64_t state = input.seed;
  for (size_t i = 0; i < sizeof message; ++i)
    message[i] = (unsigned char)next_random(&state);
  struct sha256 hash;
  begin(&hash);
  for (uint32_t i = 0; i < input.size; ++i) { /* each digest goes into the next message */
    size_t length = (size_t)random_below(&state, sizeof message - DIGEST_BYTES);
    hash_all(message, length + DIGEST_BYTES, digest);
    memcpy(message + length, digest, DIGEST_BYTES);
    absorb(&hash, message, length);
  }
  finish(&hash, digest);
  char text[2 * DIGEST_BYTES + 1];
  to_hexadecimal(digest, text);
  printf("%u messages, %llu bytes\n%s\n", input.size, (unsigned long long)hash.length, text);
  return 0;
}
