/* Does what it is told: behave WORD [ARGUMENT]. With none, it works for a while and prints a number. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static unsigned work(long rounds) {
  unsigned state = 1;
  for (long round = 0; round < rounds; round++)
    state = state * 1664525u + 1013904223u + (state >> 3);
  return state;
}

static int fill(const char *name) {
  char block[65536] = {1};
  FILE *file = fopen(name, "wb");
  for (int i = 0; i < 256; i++)
    fwrite(block, sizeof block, 1, file);
  return fclose(file);
}

int main(int count, char **words) {
  const char *word = count > 1 ? words[1] : "work";
  const char *argument = count > 2 ? words[2] : "1000";
  char buffer[4096];
  if (!strcmp(word, "work")) {
    printf("%u\n", work(atol(argument)));
  } else if (!strcmp(word, "copy")) {
    for (size_t size; (size = fread(buffer, 1, sizeof buffer, stdin)) > 0;)
      fwrite(buffer, 1, size, stdout);
  } else if (!strcmp(word, "show")) {
    FILE *file = fopen(argument, "rb");
    if (!file)
      return 2;
    fwrite(buffer, 1, fread(buffer, 1, sizeof buffer, file), stdout);
  } else if (!strcmp(word, "exit")) {
    return atoi(argument);
  } else if (!strcmp(word, "complain")) {
    fprintf(stderr, "out of ideas\n");
    abort();
  } else if (!strcmp(word, "environment")) {
    while (*environ)
      puts(*environ++);
  } else if (!strcmp(word, "hang")) {
    for (;;)
      pause();
  } else if (!strcmp(word, "spin")) {
    for (volatile int i = 0;; i++)
      ;
  } else if (!strcmp(word, "print")) {
    for (;;)
      puts("again and again");
  } else if (!strcmp(word, "fill")) {
    for (int i = 0;; i++) {
      snprintf(buffer, sizeof buffer, "%d", i);
      fill(buffer);
    }
  } else if (!strcmp(word, "eat")) {
    for (;;)
      memset(malloc(1 << 24), 1, 1 << 24);
  } else if (!strcmp(word, "leave")) { /* a child behind */
    if (!fork())
      pause();
    puts("left");
  } else if (!strcmp(word, "ignore")) { /* all that can be ignored */
    for (int number = 1; number < 32; number++)
      signal(number, SIG_IGN);
    for (;;)
      pause();
  } else if (!strcmp(word, "overflow")) {
    char *small = malloc(4);
    memset(small, 1, (size_t)atol(argument));
    printf("%d\n", small[2]);
  }
  return 0;
}
