/* mbedTLS's own tests of its algorithms; each prints its name and 0. */
#include <stdio.h>

#include MBEDTLS_CONFIG_FILE
#include "mbedtls/aes.h"
#include "mbedtls/arc4.h"
#include "mbedtls/base64.h"
#include "mbedtls/bignum.h"
#include "mbedtls/camellia.h"
#include "mbedtls/ccm.h"
#include "mbedtls/chacha20.h"
#include "mbedtls/chachapoly.h"
#include "mbedtls/des.h"
#include "mbedtls/ecp.h"
#include "mbedtls/gcm.h"
#include "mbedtls/hmac_drbg.h"
#include "mbedtls/md5.h"
#include "mbedtls/poly1305.h"
#include "mbedtls/ripemd160.h"
#include "mbedtls/rsa.h"
#include "mbedtls/sha1.h"
#include "mbedtls/sha256.h"
#include "mbedtls/sha512.h"
#include "mbedtls/x509_crt.h"

#define TEST(name) printf("%s %d\n", #name, mbedtls_##name##_self_test(0))

int main(void) {
  mbedtls_x509_crt certificate;
  TEST(aes);
  TEST(gcm);
  TEST(ccm);
  TEST(sha1);
  TEST(sha256);
  TEST(sha512);
  TEST(md5);
  TEST(ripemd160);
  TEST(base64);
  TEST(mpi);
  TEST(ecp);
  TEST(chacha20);
  TEST(poly1305);
  TEST(chachapoly);
  TEST(des);
  TEST(arc4);
  TEST(camellia);
  TEST(hmac_drbg);
  TEST(rsa);
  mbedtls_x509_crt_init(&certificate);
  printf("x509 %d\n", mbedtls_x509_crt_parse(&certificate, (const unsigned char *)"abc", 4));
  return 0;
}
