/* Comma-separated values: a table is written with quotes, read by a state machine, grouped and summed. */
#include "kernel.h"

enum { COLUMNS = 4, GROUPS = 24, MOST_FIELD = 64 };
enum state { FIELD_START, UNQUOTED, QUOTED, AFTER_QUOTE };

struct row {
  uint32_t group;
  int64_t cents;
  uint32_t year;
  char note[MOST_FIELD];
};

struct group {
  uint64_t rows, quotes;
  int64_t sum, least, greatest;
};

struct reader {
  const char *at, *end;
  char field[MOST_FIELD];
  size_t length;
  int ends_row;
};

static char *put_field(char *to, const char *field) {
  int quoted = strpbrk(field, ",\"\n") != NULL;
  if (quoted)
    *to++ = '"';
  for (; *field; ++field) {
    if (*field == '"')
      *to++ = '"';
    *to++ = *field;
  }
  if (quoted)
    *to++ = '"';
  return to;
}

static char *put_row(char *to, const struct row *row) {
  char cents[32], group[32];
  int64_t size = row->cents < 0 ? -row->cents : row->cents;
  snprintf(cents, sizeof cents, "%s%lld.%02d", row->cents < 0 ? "-" : "", (long long)(size / 100), (int)(size % 100));
  snprintf(group, sizeof group, "group, %u", row->group);
  to = put_field(to, group);
  *to++ = ',';
  to = put_field(to, cents);
  to += sprintf(to, ",%u,", row->year);
  to = put_field(to, row->note);
  *to++ = '\n';
  return to;
}

static void keep(struct reader *in, char byte) {
  check(in->length + 1 < MOST_FIELD, "a field is too long");
  in->field[in->length++] = byte;
}

/* Read the next field into in->field; 0 at the end of the text. */
static int next_field(struct reader *in) {
  enum state state = FIELD_START;
  if (in->at == in->end)
    return 0;
  in->length = 0;
  for (; in->at < in->end; ++in->at) {
    char byte = *in->at;
    if (state == QUOTED) {
      if (byte == '"')
        state = AFTER_QUOTE;
      else
        keep(in, byte);
    } else if (byte == ',' || byte == '\n') {
      in->field[in->length] = 0;
      in->ends_row = byte == '\n';
      ++in->at;
      return 1;
    } else if (byte == '"') {
      check(state != UNQUOTED, "a quote within an unquoted field");
      if (state == AFTER_QUOTE)
        keep(in, byte);
      state = QUOTED;
    } else {
      check(state != AFTER_QUOTE, "something follows a quote");
      keep(in, byte);
      state = UNQUOTED;
    }
  }
  fail("the last row does not end");
}

static int64_t parse_cents(const char *text) {
  int negative = *text == '-';
  int64_t value = 0;
  int decimals = -1;
  for (text += negative; *text; ++text) {
    if (*text == '.' && decimals < 0) {
      decimals = 0;
      continue;
    }
    check(*text >= '0' && *text <= '9', "an amount is malformed");
    value = 10 * value + (*text - '0');
    decimals += decimals >= 0;
  }
  check(decimals == 2, "an amount has not two decimals");
  return negative ? -value : value;
}

static uint32_t parse_unsigned(const char *text) {
  uint32_t value = 0;
  check(*text != 0, "a number is empty");
  for (; *text; ++text) {
    check(*text >= '0' && *text <= '9', "a number is malformed");
    value = 10 * value + (uint32_t)(*text - '0');
  }
  return value;
}

static void read_row(struct reader *in, struct row *row) {
  for (int column = 0; column < COLUMNS; ++column) {
    check(column == 0 || next_field(in), "a row is too short");
    check(in->ends_row == (column == COLUMNS - 1), "a row has another number of fields");
    if (column == 0) {
      check(strncmp(in->field, "group, ", 7) == 0, "the first field is no group");
      row->group = parse_unsigned(in->field + 7);
    } else if (column == 1) {
      row->cents = parse_cents(in->field);
    } else if (column == 2) {
      row->year = parse_unsigned(in->field);
    } else {
      memcpy(row->note, in->field, in->length + 1);
    }
  }
}

static void random_row(struct row *row, uint64_t *state) {
  static const char letters[] = "abcdefghij klmnop \"\",\n";
  uint32_t length = random_below(state, 30);
  row->group = random_below(state, GROUPS);
  row->cents = (int64_t)random_below(state, 20000000) - 5000000;
  row->year = 1970 + random_below(state, 80);
  for (uint32_t i = 0; i < length; ++i)
    row->note[i] = letters[random_below(state, sizeof letters - 1)];
  row->note[length] = 0;
}

static void add_row(struct group *groups, const struct row *row) {
  check(row->group < GROUPS, "there is no such group");
  struct group *group = &groups[row->group];
  if (!group->rows || row->cents < group->least)
    group->least = row->cents;
  if (!group->rows || row->cents > group->greatest)
    group->greatest = row->cents;
  group->sum += row->cents * (row->year >= 2000 ? 1 : -1);
  for (const char *at = row->note; *at; ++at)
    group->quotes += *at == '"';
  ++group->rows;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 24);
  uint64_t state = input.seed, sum = FNV_START, rows = 0;
  struct group written[GROUPS] = {{0, 0, 0, 0, 0}}, read[GROUPS] = {{0, 0, 0, 0, 0}};
  struct row row;
  char *text = allocate(input.size, 128), *end = text;
  for (uint32_t i = 0; i < input.size; ++i) {
    random_row(&row, &state);
    add_row(written, &row);
    end = put_row(end, &row);
  }
  FAULT(*strchr(text, '.') = '0');
  struct reader reader = {text, end, "", 0, 0};
  for (; next_field(&reader); ++rows) {
    read_row(&reader, &row);
    add_row(read, &row);
  }
  check(rows == input.size, "rows were lost");
  for (int i = 0; i < GROUPS; ++i) {
    check(memcmp(&written[i], &read[i], sizeof *read) == 0, "a group differs");
    sum = mix(mix(mix(sum, read[i].rows), (uint64_t)read[i].sum), read[i].quotes);
  }
  printf("%u rows, %zu bytes; group 0 has %llu rows, sum %lld, %lld to %lld\n", input.size, (size_t)(end - text),
         (unsigned long long)read[0].rows, (long long)read[0].sum, (long long)read[0].least,
         (long long)read[0].greatest);
  print_checksum(sum);
  free(text);
  return 0;
}
