#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int part(int number);
int asked(void);
int chosen(void);
int absent(void) __attribute__((weak));
extern int table[];

/* A script keeps this section; nothing refers to what is in it. */
__attribute__((section(".vectors"))) int (*const vectors[])(int) = {part};

/* The compiler's own code may call it. */
void *memset(void *to, int value, size_t count) {
  char *bytes = to;
  for (size_t i = 0; i < count; i++) bytes[i] = value;
  return to;
}

int main(int count, char **words) {
  char text[300];
  int sum = 0;
  (void)count;
  memset(text, 'x', sizeof text);
  text[299] = 0;
  for (int i = 0; i < atoi(words[1]); i++) sum += part(i) + table[i % 4];
  printf("%d %d %d %zu %s\n", sum, asked(), chosen(), strlen(text), absent ? "there" : "absent");
  return 0;
}
