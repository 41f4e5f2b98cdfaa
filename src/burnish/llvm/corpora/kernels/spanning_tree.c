/* Minimum spanning trees by Kruskal's algorithm (heapsort, union-find) and by Prim's (indexed heap). */
#include "kernel.h"

enum { DEGREE = 6 };

struct edge {
  uint32_t weight, a, b;
};

struct heap {
  uint32_t *nodes, *place, *key; /* place[node] is where it is in nodes, plus one; 0: nowhere */
  uint32_t size;
};

static int is_heavier(const struct edge *a, const struct edge *b) { return a->weight > b->weight; }

static void sift(struct edge *edges, size_t at, size_t count) {
  struct edge moving = edges[at];
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && is_heavier(&edges[child + 1], &edges[child]))
      ++child;
    if (!is_heavier(&edges[child], &moving))
      break;
    edges[at] = edges[child];
  }
  edges[at] = moving;
}

static void sort_edges(struct edge *edges, size_t count) {
  for (size_t i = count / 2; i-- > 0;)
    sift(edges, i, count);
  for (size_t end = count; end-- > 1;) {
    struct edge held = edges[0];
    edges[0] = edges[end];
    edges[end] = held;
    sift(edges, 0, end);
  }
}

static uint32_t find_root(uint32_t *parent, uint32_t node) {
  uint32_t root = node;
  while (parent[root] != root)
    root = parent[root];
  while (parent[node] != root) {
    uint32_t next = parent[node];
    parent[node] = root;
    node = next;
  }
  return root;
}

static uint64_t kruskal(const struct edge *edges, size_t count, uint32_t nodes, uint32_t *taken) {
  uint32_t *parent = allocate(nodes, sizeof *parent);
  uint64_t total = 0;
  for (uint32_t i = 0; i < nodes; ++i)
    parent[i] = i;
  struct edge *sorted = allocate(count, sizeof *sorted);
  memcpy(sorted, edges, count * sizeof *sorted);
  sort_edges(sorted, count);
  *taken = 0;
  for (size_t i = 0; i < count; ++i) {
    check(i == 0 || sorted[i - 1].weight <= sorted[i].weight, "the edges are not in order");
    uint32_t a = find_root(parent, sorted[i].a), b = find_root(parent, sorted[i].b);
    if (a == b)
      continue;
    parent[a] = b;
    total += sorted[i].weight;
    ++*taken;
  }
  free(parent);
  free(sorted);
  return total;
}

static void set_place(struct heap *heap, uint32_t at, uint32_t node) {
  heap->nodes[at] = node;
  heap->place[node] = at + 1;
}

static void move_up(struct heap *heap, uint32_t at) {
  uint32_t node = heap->nodes[at];
  for (; at > 0 && heap->key[heap->nodes[(at - 1) / 2]] > heap->key[node]; at = (at - 1) / 2)
    set_place(heap, at, heap->nodes[(at - 1) / 2]);
  set_place(heap, at, node);
}

static uint32_t take_least(struct heap *heap) {
  uint32_t least = heap->nodes[0], moving = heap->nodes[--heap->size], at = 0;
  for (uint32_t child; (child = 2 * at + 1) < heap->size; at = child) {
    if (child + 1 < heap->size && heap->key[heap->nodes[child + 1]] < heap->key[heap->nodes[child]])
      ++child;
    if (heap->key[heap->nodes[child]] >= heap->key[moving])
      break;
    set_place(heap, at, heap->nodes[child]);
  }
  set_place(heap, at, moving);
  heap->place[least] = 0;
  return least;
}

/* The edges of node i are numbers incident[first[i]] up to incident[first[i + 1]]. */
static uint64_t prim(const struct edge *edges, const uint32_t *first, const uint32_t *incident, uint32_t nodes,
                     uint32_t *taken) {
  struct heap heap = {allocate(nodes, sizeof(uint32_t)), allocate(nodes, sizeof(uint32_t)),
                      allocate(nodes, sizeof(uint32_t)), 1};
  unsigned char *is_done = allocate(nodes, 1);
  uint64_t total = 0;
  for (uint32_t i = 0; i < nodes; ++i)
    heap.key[i] = UINT32_MAX;
  heap.key[0] = 0;
  set_place(&heap, 0, 0);
  for (*taken = 0; heap.size > 0; ++*taken) {
    uint32_t node = take_least(&heap);
    is_done[node] = 1;
    total += heap.key[node];
    for (uint32_t i = first[node]; i < first[node + 1]; ++i) {
      const struct edge *edge = &edges[incident[i]];
      uint32_t other = edge->a == node ? edge->b : edge->a;
      if (is_done[other] || edge->weight >= heap.key[other])
        continue;
      heap.key[other] = edge->weight;
      if (!heap.place[other])
        set_place(&heap, heap.size++, other);
      move_up(&heap, heap.place[other] - 1);
    }
  }
  --*taken; /* the first node needed no edge */
  free(heap.nodes);
  free(heap.place);
  free(heap.key);
  free(is_done);
  return total;
}

static void index_edges(const struct edge *edges, size_t count, uint32_t nodes, uint32_t *first, uint32_t *incident) {
  for (size_t i = 0; i < count; ++i) {
    ++first[edges[i].a + 1];
    ++first[edges[i].b + 1];
  }
  for (uint32_t i = 0; i < nodes; ++i)
    first[i + 1] += first[i];
  uint32_t *next = allocate(nodes, sizeof *next);
  memcpy(next, first, nodes * sizeof *next);
  for (size_t i = 0; i < count; ++i) {
    incident[next[edges[i].a]++] = (uint32_t)i;
    incident[next[edges[i].b]++] = (uint32_t)i;
  }
  free(next);
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 2, 1u << 22);
  uint32_t nodes = input.size, by_kruskal, by_prim;
  size_t count = (size_t)nodes * DEGREE;
  uint64_t state = input.seed;
  struct edge *edges = allocate(count, sizeof *edges);
  uint32_t *first = allocate(nodes + 1, sizeof *first), *incident = allocate(2 * count, sizeof *incident);
  for (size_t i = 0; i < count; ++i) {
    edges[i].a = (uint32_t)(i % nodes);
    edges[i].b = i < nodes ? (uint32_t)((i + 1) % nodes) : random_below(&state, nodes);
    edges[i].weight = random_below(&state, 1u << 20);
  }
  index_edges(edges, count, nodes, first, incident);
  uint64_t weight = kruskal(edges, count, nodes, &by_kruskal);
  FAULT(weight += 1);
  check(prim(edges, first, incident, nodes, &by_prim) == weight, "the two algorithms find different weights");
  check(by_kruskal == nodes - 1 && by_prim == nodes - 1, "not a tree");
  printf("%u nodes, %zu edges: weight %llu\n", nodes, count, (unsigned long long)weight);
  free(edges);
  free(first);
  free(incident);
  return 0;
}
