/* All words of a dictionary in one pass: a trie with failure links, made into an automaton without failures. */
#include "kernel.h"

enum { LETTERS = 4, LONGEST = 12, CHECKED = 400 };

struct trie {
  uint32_t count, room;
  uint32_t (*next)[LETTERS];         /* 0, the root, also means: none yet */
  uint32_t *failure, *suffix, *word; /* suffix: the longest proper suffix that is a word, or 0 */
  unsigned char *length;             /* of the word that ends here, or 0 */
};

static struct trie make_trie(uint32_t room) {
  struct trie trie = {1, room, allocate(room, sizeof *trie.next), NULL, NULL, NULL, NULL};
  trie.failure = allocate(room, sizeof(uint32_t));
  trie.suffix = allocate(room, sizeof(uint32_t));
  trie.word = allocate(room, sizeof(uint32_t));
  trie.length = allocate(room, 1);
  return trie;
}

/* Say whether the word is new. */
static int insert(struct trie *trie, const char *word, uint32_t number) {
  uint32_t at = 0;
  int length = 0;
  for (; word[length]; ++length) {
    uint32_t *next = &trie->next[at][word[length] - 'a'];
    if (!*next) {
      check(trie->count < trie->room, "the trie is full");
      *next = trie->count++;
    }
    at = *next;
  }
  if (trie->length[at])
    return 0;
  trie->length[at] = (unsigned char)length;
  trie->word[at] = number;
  return 1;
}

/* Breadth first, so that the failure link of each state is complete when it is needed. */
static void link_failures(struct trie *trie) {
  uint32_t *queue = allocate(trie->count, sizeof *queue), head = 0, tail = 0;
  for (int i = 0; i < LETTERS; ++i)
    if (trie->next[0][i])
      queue[tail++] = trie->next[0][i];
  while (head < tail) {
    uint32_t at = queue[head++], failure = trie->failure[at];
    trie->suffix[at] = trie->length[failure] ? failure : trie->suffix[failure];
    for (int i = 0; i < LETTERS; ++i) {
      uint32_t child = trie->next[at][i];
      if (child) {
        trie->failure[child] = trie->next[failure][i];
        queue[tail++] = child;
      } else {
        trie->next[at][i] = trie->next[failure][i];
      }
    }
  }
  free(queue);
}

/* Count how often each word occurs; return the sum over all occurrences of where they end. */
static uint64_t scan(const struct trie *trie, const char *text, size_t size, uint32_t *counts) {
  uint64_t ends = 0;
  uint32_t at = 0;
  for (size_t i = 0; i < size; ++i) {
    at = trie->next[at][text[i] - 'a'];
    for (uint32_t hit = trie->length[at] ? at : trie->suffix[at]; hit; hit = trie->suffix[hit]) {
      ++counts[trie->word[hit]];
      ends += i;
    }
  }
  return ends;
}

static uint32_t count_slowly(const char *text, const char *word) {
  uint32_t count = 0;
  for (const char *at = text; (at = strstr(at, word)) != NULL; ++at)
    ++count;
  return count;
}

static char skewed_letter(uint64_t *state) { return "aaaaaabbbbcccd"[random_below(state, 14)]; }

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 100, 1u << 26);
  uint32_t words = input.size / 20 + 1;
  uint64_t state = input.seed, sum = FNV_START, total = 0;
  struct trie trie = make_trie(words * LONGEST + 1);
  char *text = allocate(input.size + 1, 1), (*word)[LONGEST + 1] = allocate(words, sizeof *word);
  uint32_t *counts = allocate(words, sizeof *counts), known = 0;
  for (uint32_t tries = 0; known < words && tries < 3 * words; ++tries) {
    uint32_t length = 3 + random_below(&state, LONGEST - 2);
    memset(word[known], 0, sizeof *word);
    for (uint32_t i = 0; i < length; ++i)
      word[known][i] = skewed_letter(&state);
    known += (uint32_t)insert(&trie, word[known], known);
  }
  link_failures(&trie);
  for (uint32_t i = 0; i < input.size; ++i)
    text[i] = skewed_letter(&state);
  uint64_t ends = scan(&trie, text, input.size, counts);
  FAULT(++counts[0]);
  for (uint32_t i = 0; i < known; ++i) {
    if (i % (1 + known / CHECKED) == 0 && (i < CHECKED || input.size < 1000000))
      check(count_slowly(text, word[i]) == counts[i], "a word was not counted right");
    total += counts[i];
    sum = mix(sum, counts[i]);
  }
  printf("%u words, %u states, %u letters: %llu occurrences, ends %llu\n", known, trie.count, input.size,
         (unsigned long long)total, (unsigned long long)ends);
  print_checksum(sum);
  free(trie.next);
  free(trie.failure);
  free(trie.suffix);
  free(trie.word);
  free(trie.length);
  free(text);
  free(word);
  free(counts);
  return 0;
}
