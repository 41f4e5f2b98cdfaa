/* Known answers (FIPS 180-4, RFC 4231, 7693, 7748, 8032, 9106's libsodium form, SipHash) and seeded round trips. */
#include "inputs.h"
#include "sodium.h"

static void show(const char *name, const unsigned char *bytes, size_t size, const char *expected) {
  char *hex = allocate(2 * size + 1);
  sodium_bin2hex(hex, 2 * size + 1, bytes, size);
  printf("%-18s %s\n", name, hex);
  if (expected && strcmp(hex, expected))
    fail(name);
  free(hex);
}

static void from_hex(unsigned char *to, size_t size, const char *hex) {
  if (sodium_hex2bin(to, size, hex, strlen(hex), NULL, NULL, NULL))
    fail("hex");
}

static void hashes(void) {
  unsigned char out[64], key[20];
  const unsigned char *abc = (const unsigned char *)"abc";
  crypto_hash_sha256(out, abc, 3);
  show("sha256", out, 32, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  crypto_hash_sha512(out, abc, 3);
  show("sha512", out, 64,
       "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
       "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
  crypto_generichash(out, 64, abc, 3, NULL, 0);
  show("blake2b", out, 64,
       "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
       "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923");
  memset(key, 0x0b, sizeof key);
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, key, sizeof key);
  crypto_auth_hmacsha256_update(&state, (const unsigned char *)"Hi There", 8);
  crypto_auth_hmacsha256_final(&state, out);
  show("hmac-sha256", out, 32, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  unsigned char counting[16];
  for (unsigned char i = 0; i < 16; ++i)
    counting[i] = i;
  crypto_shorthash(out, counting, 15, counting);
  show("siphash", out, 8, "e545be4961ca29a1");
}

static void curves(void) {
  unsigned char seed[32], public_key[32], secret_key[64], out[64], point[32];
  from_hex(seed, 32, "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
  crypto_sign_seed_keypair(public_key, secret_key, seed);
  show("ed25519 key", public_key, 32, "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  crypto_sign_detached(out, NULL, NULL, 0, secret_key);
  show("ed25519 signature", out, 64,
       "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
       "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
  if (crypto_sign_verify_detached(out, NULL, 0, public_key))
    fail("ed25519: a good signature was rejected");
  out[5] ^= 1;
  if (!crypto_sign_verify_detached(out, NULL, 0, public_key))
    fail("ed25519: a bad signature was accepted");
  from_hex(seed, 32, "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
  from_hex(point, 32, "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
  if (crypto_scalarmult(out, seed, point))
    fail("x25519");
  show("x25519", out, 32, "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
  crypto_core_ristretto255_from_hash(point, secret_key);
  show("ristretto255", point, 32, NULL);
}

static void passwords(void) {
  unsigned char out[32], salt[32] = {1, 2, 3};
  if (crypto_pwhash(out, 32, "password", 8, salt, 2, 1 << 20, crypto_pwhash_ALG_ARGON2ID13))
    fail("argon2id");
  show("argon2id", out, 32, NULL);
  if (crypto_pwhash_scryptsalsa208sha256_ll((const uint8_t *)"password", 8, (const uint8_t *)"NaCl", 4, 1024, 8, 16,
                                            out, 32))
    fail("scrypt");
  show("scrypt", out, 32, "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162");
}

static void boxes(enum kind kind, size_t size) {
  unsigned char key[32] = {9}, nonce[24] = {4}, *input = make_input(kind, size, 5);
  unsigned char *sealed = allocate(size + 64), *opened = allocate(size);
  unsigned long long sealed_size, opened_size;
  crypto_secretbox_easy(sealed, input, size, nonce, key);
  if (crypto_secretbox_open_easy(opened, sealed, size + crypto_secretbox_MACBYTES, nonce, key) ||
      memcmp(input, opened, size))
    fail("secretbox");
  printf("secretbox %-7s %6zu  %016llx\n", kind_names[kind], size,
         (unsigned long long)digest(sealed, size + crypto_secretbox_MACBYTES));
  crypto_aead_xchacha20poly1305_ietf_encrypt(sealed, &sealed_size, input, size, key, 32, NULL, nonce, key);
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(opened, &opened_size, NULL, sealed, sealed_size, key, 32, nonce,
                                                 key) ||
      opened_size != size || memcmp(input, opened, size))
    fail("xchacha20poly1305");
  printf("aead      %-7s %6zu  %016llx\n", kind_names[kind], size,
         (unsigned long long)digest(sealed, (size_t)sealed_size));
  sealed[size / 2] ^= 1;
  if (!crypto_aead_xchacha20poly1305_ietf_decrypt(opened, &opened_size, NULL, sealed, sealed_size, key, 32, nonce, key))
    fail("a forgery was accepted");
  free(input);
  free(sealed);
  free(opened);
}

/* pynacl LARGEST PASSWORDS */
int main(int argc, char **argv) {
  if (argc != 3)
    fail("usage: pynacl LARGEST PASSWORDS");
  size_t largest = read_size(argv[1]);
  if (sodium_init() < 0)
    fail("sodium_init");
  hashes();
  curves();
  for (size_t i = read_size(argv[2]); i > 0; --i)
    passwords();
  for (int kind = 0; kind < KINDS; ++kind)
    for (size_t size = 1; size < largest; size = size * 7 + 3)
      boxes((enum kind)kind, size);
  return 0;
}
