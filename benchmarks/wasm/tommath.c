#include <stdio.h>

#include "tommath.h"

int main(void) {
  char digits[600];
  mp_int a, b, c;
  mp_bool prime;
  if (mp_init_multi(&a, &b, &c, NULL) != MP_OKAY) return 1;
  mp_2expt(&a, 127);
  mp_decr(&a);
  mp_prime_is_prime(&a, 8, &prime);
  mp_set_u32(&b, 65537);
  mp_exptmod(&b, &a, &a, &c);
  mp_to_radix(&c, digits, sizeof digits, NULL, 10);
  printf("%d %s\n", prime, digits);
  mp_sqr(&a, &a);
  mp_sqr(&a, &b);
  mp_root_u32(&b, 3, &c);
  mp_to_radix(&c, digits, sizeof digits, NULL, 36);
  printf("%d %s\n", mp_count_bits(&b), digits);
  mp_invmod(&c, &b, &a);
  mp_to_radix(&a, digits, sizeof digits, NULL, 64);
  printf("%s\n", digits);
  mp_clear_multi(&a, &b, &c, NULL);
  return 0;
}
