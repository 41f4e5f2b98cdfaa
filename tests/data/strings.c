/* Scanning text: length, search, numbers, words. */
#include <stddef.h>

size_t text_length(const char *text) {
  size_t length = 0;
  while (text[length])
    ++length;
  return length;
}

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

const char *text_find(const char *text, const char *pattern) {
  for (; *text; ++text) {
    size_t i = 0;
    while (pattern[i] && text[i] == pattern[i])
      ++i;
    if (!pattern[i])
      return text;
  }
  return *pattern ? NULL : text;
}

long text_number(const char *text, int base) {
  long value = 0;
  int negative = 0;
  while (is_space(*text))
    ++text;
  if (*text == '-' || *text == '+')
    negative = *text++ == '-';
  for (;; ++text) {
    int digit;
    if (*text >= '0' && *text <= '9')
      digit = *text - '0';
    else if (*text >= 'a' && *text <= 'z')
      digit = *text - 'a' + 10;
    else
      break;
    if (digit >= base)
      break;
    value = value * base + digit;
  }
  return negative ? -value : value;
}

int count_words(const char *text) {
  int words = 0, inside = 0;
  for (; *text; ++text) {
    if (is_space(*text))
      inside = 0;
    else if (!inside) {
      inside = 1;
      ++words;
    }
  }
  return words;
}
