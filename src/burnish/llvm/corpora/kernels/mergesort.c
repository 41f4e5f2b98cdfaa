/* Stable merge sorts of records: bottom-up in an array, and by relinking a list; both must agree. */
#include "kernel.h"

enum { RUN_LENGTH = 8 };

struct record {
  uint32_t key, serial; /* the serial number is the place in the input: it shows stability */
  struct record *next;
};

static int is_before(const struct record *a, const struct record *b) { return a->key < b->key; }

static void sort_runs(struct record *records, size_t count) {
  for (size_t start = 0; start < count; start += RUN_LENGTH) {
    size_t end = start + RUN_LENGTH < count ? start + RUN_LENGTH : count;
    for (size_t i = start + 1; i < end; ++i) {
      struct record record = records[i];
      size_t at = i;
      for (; at > start && is_before(&record, &records[at - 1]); --at)
        records[at] = records[at - 1];
      records[at] = record;
    }
  }
}

static void merge(struct record *to, const struct record *left, size_t left_count, const struct record *right,
                  size_t right_count) {
  const struct record *left_end = left + left_count, *right_end = right + right_count;
  while (left < left_end && right < right_end)
    *to++ = is_before(right, left) ? *right++ : *left++;
  while (left < left_end)
    *to++ = *left++;
  while (right < right_end)
    *to++ = *right++;
}

/* Sort `records` with the help of `spare`; the result is in the one that is returned. */
static struct record *sort_array(struct record *records, struct record *spare, size_t count) {
  sort_runs(records, count);
  for (size_t width = RUN_LENGTH; width < count; width *= 2) {
    for (size_t start = 0; start < count; start += 2 * width) {
      size_t middle = start + width < count ? start + width : count;
      size_t end = middle + width < count ? middle + width : count;
      merge(spare + start, records + start, middle - start, records + middle, end - middle);
    }
    struct record *held = records;
    records = spare;
    spare = held;
  }
  return records;
}

static struct record *merge_lists(struct record *left, struct record *right) {
  struct record *first = NULL, **end = &first;
  while (left && right) {
    struct record **from = is_before(right, left) ? &right : &left;
    *end = *from;
    end = &(*end)->next;
    *from = *end;
  }
  *end = left ? left : right;
  return first;
}

/* bins[i] holds a sorted list of 2^i records, or nothing, as the digits of a binary counter */
static struct record *sort_list(struct record *list) {
  struct record *bins[40] = {NULL}, *sorted = NULL;
  while (list) {
    struct record *carry = list;
    list = list->next;
    carry->next = NULL;
    int i = 0;
    for (; bins[i]; ++i) {
      carry = merge_lists(bins[i], carry);
      bins[i] = NULL;
    }
    bins[i] = carry;
  }
  for (int i = 0; i < 40; ++i)
    sorted = merge_lists(bins[i], sorted);
  return sorted;
}

static struct record *make_records(uint32_t count, uint32_t keys, uint64_t *state) {
  struct record *records = allocate(count, sizeof *records);
  for (uint32_t i = 0; i < count; ++i) {
    records[i].key = random_below(state, keys);
    records[i].serial = i;
    records[i].next = i + 1 < count ? &records[i + 1] : NULL;
  }
  return records;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 1, 1u << 24);
  uint64_t state = input.seed;
  for (uint32_t keys = 10; keys <= 1000000; keys *= 1000) {
    uint32_t count = input.size;
    struct record *linked = make_records(count, keys, &state);
    struct record *array = allocate(count, sizeof *array), *spare = allocate(count, sizeof *spare);
    memcpy(array, linked, count * sizeof *array);
    struct record *item = sort_list(linked), *sorted = sort_array(array, spare, count);
    FAULT(sorted[count / 2].serial ^= 1);
    uint64_t sum = FNV_START, serials = 0;
    for (uint32_t i = 0; i < count; ++i, item = item->next) {
      check(item && item->key == sorted[i].key && item->serial == sorted[i].serial, "list and array differ");
      if (i)
        check(sorted[i - 1].key < sorted[i].key ||
                  (sorted[i - 1].key == sorted[i].key && sorted[i - 1].serial < sorted[i].serial),
              "not in order, or not stable");
      serials += sorted[i].serial;
      sum = mix(mix(sum, sorted[i].key), sorted[i].serial);
    }
    check(item == NULL && serials == (uint64_t)count * (count - 1) / 2, "records were lost");
    printf("%u records of %u keys: ", count, keys);
    print_checksum(sum);
    free(linked);
    free(array);
    free(spare);
  }
  return 0;
}
