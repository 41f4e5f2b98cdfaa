#include <stdio.h>
#include <string.h>

#include "tomcrypt.h"

static void show(const char *name, const unsigned char *bytes, int count) {
  printf("%s ", name);
  for (int i = 0; i < count; i++) printf("%02x", bytes[i]);
  puts("");
}

static void digest(const struct ltc_hash_descriptor *hash) {
  unsigned char text[3000], out[MAXBLOCKSIZE];
  hash_state state;
  for (unsigned i = 0; i < sizeof text; i++) text[i] = i * 7 + (i >> 5);
  hash->init(&state);
  hash->process(&state, text, sizeof text);
  hash->done(&state, out);
  show(hash->name, out, hash->hashsize);
}

static void encipher(const struct ltc_cipher_descriptor *cipher) {
  unsigned char key[16], block[MAXBLOCKSIZE], again[MAXBLOCKSIZE];
  symmetric_key schedule;
  for (int i = 0; i < 16; i++) key[i] = i * 17 + 3;
  memset(block, 0x5a, sizeof block);
  if (cipher->setup(key, sizeof key, 0, &schedule) != CRYPT_OK) return;
  for (int i = 0; i < 100; i++) cipher->ecb_encrypt(block, block, &schedule);
  memcpy(again, block, sizeof again);
  for (int i = 0; i < 100; i++) cipher->ecb_decrypt(again, again, &schedule);
  show(cipher->name, block, cipher->block_length);
  printf("%d\n", again[0]);
}

int main(void) {
  digest(&md5_desc);
  digest(&sha1_desc);
  digest(&sha256_desc);
  digest(&sha512_desc);
  digest(&rmd160_desc);
  digest(&tiger_desc);
  digest(&whirlpool_desc);
  encipher(&aes_desc);
  encipher(&blowfish_desc);
  encipher(&cast5_desc);
  encipher(&camellia_desc);
  encipher(&xtea_desc);
  return 0;
}
