/* PageRank of a random web of pages that link to popular ones, by power iteration over the incoming links. */
#include "kernel.h"
#include <math.h>

enum { LINKS = 8, MOST_ROUNDS = 200 };

static const double DAMPING = 0.85;

struct web {
  uint32_t pages;
  uint32_t *first; /* links into page i are sources[first[i]] up to sources[first[i + 1]] */
  uint32_t *sources;
  uint32_t *degree; /* links out of each page; 0: it dangles */
};

/* A page links to earlier pages, half of the time where another link goes: popular ones become more so. */
static struct web make_web(uint32_t pages, uint64_t *state) {
  struct web web = {pages, allocate(pages + 1, sizeof(uint32_t)), NULL, allocate(pages, sizeof(uint32_t))};
  uint32_t *targets = allocate((size_t)pages * LINKS, sizeof *targets), links = 0;
  uint32_t *origins = allocate((size_t)pages * LINKS, sizeof *origins);
  for (uint32_t page = 1; page < pages; ++page)
    for (uint32_t i = random_below(state, LINKS + 1); i > 0; --i, ++links) {
      uint32_t copied = links && random_below(state, 2) ? targets[random_below(state, links)] : page;
      targets[links] = copied == page ? random_below(state, pages) : copied;
      origins[links] = page;
      ++web.degree[page];
    }
  for (uint32_t i = 0; i < links; ++i)
    ++web.first[targets[i] + 1];
  for (uint32_t page = 0; page < pages; ++page)
    web.first[page + 1] += web.first[page];
  web.sources = allocate(links, sizeof *web.sources);
  uint32_t *next = allocate(pages, sizeof *next);
  memcpy(next, web.first, pages * sizeof *next);
  for (uint32_t i = 0; i < links; ++i)
    web.sources[next[targets[i]]++] = origins[i];
  free(targets);
  free(origins);
  free(next);
  return web;
}

/* One round; return by how much the ranks changed in all. */
static double iterate(const struct web *web, const double *rank, double *share, double *result) {
  double dangling = 0, change = 0;
  for (uint32_t page = 0; page < web->pages; ++page) {
    if (web->degree[page])
      share[page] = rank[page] / web->degree[page];
    else
      dangling += rank[page];
  }
  double base = (1 - DAMPING + DAMPING * dangling) / web->pages;
  for (uint32_t page = 0; page < web->pages; ++page) {
    double incoming = 0;
    for (uint32_t i = web->first[page]; i < web->first[page + 1]; ++i)
      incoming += share[web->sources[i]];
    result[page] = base + DAMPING * incoming;
    change += fabs(result[page] - rank[page]);
  }
  return change;
}

static uint32_t greatest(const double *rank, uint32_t pages) {
  uint32_t best = 0;
  for (uint32_t page = 1; page < pages; ++page)
    if (rank[page] > rank[best])
      best = page;
  return best;
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 2, 1u << 22);
  uint64_t state = input.seed;
  struct web web = make_web(input.size, &state);
  double *rank = allocate(web.pages, sizeof *rank), *next = allocate(web.pages, sizeof *next);
  double *share = allocate(web.pages, sizeof *share), sum = 0;
  for (uint32_t page = 0; page < web.pages; ++page)
    rank[page] = 1.0 / web.pages;
  int rounds = 0;
  for (double change = 1; change > 1e-12; ++rounds) {
    check(rounds < MOST_ROUNDS, "it does not converge");
    change = iterate(&web, rank, share, next);
    double *held = rank;
    rank = next;
    next = held;
  }
  FAULT(rank[web.pages / 2] *= 1.001);
  for (uint32_t page = 0; page < web.pages; ++page)
    sum += rank[page];
  check(fabs(sum - 1) < 1e-9, "the ranks do not sum to 1");
  check(iterate(&web, rank, share, next) < 1e-11, "the ranks are not a fixed point");
  printf("%u pages, %u links, about %d rounds\n", web.pages, web.first[web.pages], rounds / 10 * 10);
  for (int i = 0; i < 3; ++i) {
    uint32_t page = greatest(rank, web.pages);
    printf("page %u: %.5f %% of all, %u links in\n", page, 100 * rank[page], web.first[page + 1] - web.first[page]);
    rank[page] = 0;
  }
  free(web.first);
  free(web.sources);
  free(web.degree);
  free(rank);
  free(next);
  free(share);
  return 0;
}
