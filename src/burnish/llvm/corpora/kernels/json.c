/* JSON: random documents are written, parsed into trees, written again, and queried. */
#include "kernel.h"

enum kind { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
enum { DEEPEST = 8 };

struct value {
  enum kind kind;
  int64_t number;
  char *text;          /* of a string */
  char *key;           /* in an object */
  struct value *first; /* of an array's or an object's values */
  struct value *next;  /* in the array or object that this is in */
};

struct buffer {
  char *data;
  size_t size, room;
};

struct parser {
  const char *at;
  int depth;
};

static void put(struct buffer *out, char byte) {
  if (out->size == out->room) {
    out->room = out->room ? 2 * out->room : 256;
    out->data = realloc(out->data, out->room);
    check(out->data != NULL, "out of memory");
  }
  out->data[out->size++] = byte;
}

static void put_text(struct buffer *out, const char *text) {
  while (*text)
    put(out, *text++);
}

static void put_string(struct buffer *out, const char *text) {
  put(out, '"');
  for (; *text; ++text) {
    char escape[8];
    if (*text == '"' || *text == '\\') {
      put(out, '\\');
      put(out, *text);
    } else if (*text == '\n') {
      put_text(out, "\\n");
    } else if ((unsigned char)*text < 0x20) {
      snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)*text);
      put_text(out, escape);
    } else {
      put(out, *text);
    }
  }
  put(out, '"');
}

static void write_value(struct buffer *out, const struct value *value) {
  char digits[24];
  switch (value->kind) {
  case JSON_NULL:
    put_text(out, "null");
    break;
  case JSON_FALSE:
    put_text(out, "false");
    break;
  case JSON_TRUE:
    put_text(out, "true");
    break;
  case JSON_NUMBER:
    snprintf(digits, sizeof digits, "%lld", (long long)value->number);
    put_text(out, digits);
    break;
  case JSON_STRING:
    put_string(out, value->text);
    break;
  case JSON_ARRAY:
  case JSON_OBJECT:
    put(out, value->kind == JSON_ARRAY ? '[' : '{');
    for (const struct value *item = value->first; item; item = item->next) {
      if (value->kind == JSON_OBJECT) {
        put_string(out, item->key);
        put(out, ':');
      }
      write_value(out, item);
      if (item->next)
        put(out, ',');
    }
    put(out, value->kind == JSON_ARRAY ? ']' : '}');
    break;
  }
}

static void destroy(struct value *value) {
  while (value) {
    struct value *next = value->next;
    destroy(value->first);
    free(value->text);
    free(value->key);
    free(value);
    value = next;
  }
}

static void skip_space(struct parser *in) {
  while (*in->at == ' ' || *in->at == '\n' || *in->at == '\t' || *in->at == '\r')
    ++in->at;
}

static void expect(struct parser *in, const char *word) {
  size_t length = strlen(word);
  check(strncmp(in->at, word, length) == 0, "the document is malformed");
  in->at += length;
}

static char parse_escape(struct parser *in) {
  switch (*in->at++) {
  case 'n':
    return '\n';
  case 'u': {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      char digit = *in->at++;
      check((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f'), "a bad \\u escape");
      code = 16 * code + (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return (char)code;
  }
  default:
    return in->at[-1];
  }
}

static char *parse_string(struct parser *in) {
  struct buffer text = {NULL, 0, 0};
  expect(in, "\"");
  while (*in->at != '"') {
    check(*in->at != 0, "a string does not end");
    if (*in->at == '\\') {
      ++in->at;
      put(&text, parse_escape(in));
    } else {
      put(&text, *in->at++);
    }
  }
  ++in->at;
  put(&text, 0);
  return text.data;
}

static int64_t parse_number(struct parser *in) {
  int negative = *in->at == '-';
  in->at += negative;
  check(*in->at >= '0' && *in->at <= '9', "a value is malformed");
  int64_t number = 0;
  while (*in->at >= '0' && *in->at <= '9')
    number = 10 * number + (*in->at++ - '0');
  return negative ? -number : number;
}

static struct value *parse_value(struct parser *in);

static void parse_items(struct parser *in, struct value *container) {
  char close = container->kind == JSON_ARRAY ? ']' : '}';
  struct value **end = &container->first;
  check(++in->depth < 2 * DEEPEST, "nested too deeply");
  ++in->at;
  skip_space(in);
  while (*in->at != close) {
    if (container->first)
      expect(in, ",");
    skip_space(in);
    char *key = NULL;
    if (close == '}') {
      key = parse_string(in);
      skip_space(in);
      expect(in, ":");
    }
    struct value *item = parse_value(in);
    item->key = key;
    *end = item;
    end = &item->next;
    skip_space(in);
  }
  ++in->at;
  --in->depth;
}

static struct value *parse_value(struct parser *in) {
  struct value *value = allocate(1, sizeof *value);
  skip_space(in);
  if (*in->at == '{' || *in->at == '[') {
    value->kind = *in->at == '[' ? JSON_ARRAY : JSON_OBJECT;
    parse_items(in, value);
  } else if (*in->at == '"') {
    value->kind = JSON_STRING;
    value->text = parse_string(in);
  } else if (*in->at == 'n') {
    expect(in, "null");
  } else if (*in->at == 't') {
    value->kind = JSON_TRUE;
    expect(in, "true");
  } else if (*in->at == 'f') {
    value->kind = JSON_FALSE;
    expect(in, "false");
  } else {
    value->kind = JSON_NUMBER;
    value->number = parse_number(in);
  }
  return value;
}

static char *random_text(uint64_t *state) {
  static const char letters[] = "abcdefghijklmnop \"\\\n\x01xyz";
  size_t length = random_below(state, 12);
  char *text = allocate(length + 1, 1);
  for (size_t i = 0; i < length; ++i)
    text[i] = letters[random_below(state, sizeof letters - 1)];
  return text;
}

static struct value *random_value(uint64_t *state, int depth) {
  struct value *value = allocate(1, sizeof *value);
  value->kind = (enum kind)random_below(state, depth < DEEPEST ? 7 : 5);
  if (depth == 0)
    value->kind = JSON_OBJECT;
  if (value->kind == JSON_NUMBER)
    value->number = (int64_t)(random_number(state) >> 2) - 1000;
  if (value->kind == JSON_STRING)
    value->text = random_text(state);
  if (value->kind >= JSON_ARRAY)
    for (uint32_t items = 1 + random_below(state, 7); items > 0; --items) {
      struct value *item = random_value(state, depth + 1);
      if (value->kind == JSON_OBJECT)
        item->key = random_text(state);
      item->next = value->first;
      value->first = item;
    }
  return value;
}

struct figures {
  uint64_t values, by_kind[7], deepest, total;
};

static void survey(const struct value *value, uint64_t depth, struct figures *figures) {
  for (; value; value = value->next) {
    ++figures->values;
    ++figures->by_kind[value->kind];
    figures->deepest = depth > figures->deepest ? depth : figures->deepest;
    figures->total += (uint64_t)value->number;
    survey(value->first, depth + 1, figures);
  }
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 20);
  uint64_t state = input.seed, sum = FNV_START, bytes = 0;
  struct figures figures = {0, {0}, 0, 0}, parsed = {0, {0}, 0, 0};
  for (uint32_t i = 0; i < input.size; ++i) {
    struct buffer first = {NULL, 0, 0}, second = {NULL, 0, 0};
    struct value *made = random_value(&state, 0);
    write_value(&first, made);
    put(&first, 0);
    struct parser parser = {first.data, 0};
    struct value *read = parse_value(&parser);
    FAULT(read->first->kind = JSON_NULL; read->kind = JSON_ARRAY);
    check(*parser.at == 0, "something follows the document");
    write_value(&second, read);
    put(&second, 0);
    check(first.size == second.size && memcmp(first.data, second.data, first.size) == 0, "written differently");
    survey(made, 1, &figures);
    survey(read, 1, &parsed);
    sum = mix_bytes(sum, second.data, second.size);
    bytes += first.size;
    destroy(made);
    destroy(read);
    free(first.data);
    free(second.data);
  }
  check(memcmp(&figures, &parsed, sizeof figures) == 0, "the trees differ");
  printf("%u documents, %llu bytes, %llu values, %llu objects, depth %llu\n", input.size, (unsigned long long)bytes,
         (unsigned long long)figures.values, (unsigned long long)figures.by_kind[JSON_OBJECT],
         (unsigned long long)figures.deepest);
  printf("sum of the numbers %llu\n", (unsigned long long)figures.total);
  print_checksum(sum);
  return 0;
}
