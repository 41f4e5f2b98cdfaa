/* Shortest paths in a random road network by Dijkstra's algorithm with a binary heap, checked edge by edge. */
#include "kernel.h"

enum { DEGREE = 5 };
#define UNREACHED UINT64_MAX

struct edge {
  uint32_t target, length;
};

struct graph {
  uint32_t nodes;
  uint32_t *first; /* edges of node i are first[i] up to first[i + 1] */
  struct edge *edges;
};

struct entry {
  uint64_t distance;
  uint32_t node;
};

struct heap {
  struct entry *entries;
  size_t size, room;
};

static void push(struct heap *heap, uint64_t distance, uint32_t node) {
  check(heap->size < heap->room, "the heap is full");
  size_t at = heap->size++;
  while (at > 0 && heap->entries[(at - 1) / 2].distance > distance) {
    heap->entries[at] = heap->entries[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap->entries[at].distance = distance;
  heap->entries[at].node = node;
}

static struct entry pop(struct heap *heap) {
  struct entry least = heap->entries[0], last = heap->entries[--heap->size];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < heap->size; at = child) {
    if (child + 1 < heap->size && heap->entries[child + 1].distance < heap->entries[child].distance)
      ++child;
    if (heap->entries[child].distance >= last.distance)
      break;
    heap->entries[at] = heap->entries[child];
  }
  heap->entries[at] = last;
  return least;
}

/* A ring, so that all can be reached, with random chords of random lengths. */
static struct graph make_graph(uint32_t nodes, uint64_t *state) {
  struct graph graph = {nodes, allocate(nodes + 1, sizeof(uint32_t)), NULL};
  graph.edges = allocate((size_t)nodes * DEGREE, sizeof *graph.edges);
  for (uint32_t node = 0, count = 0; node < nodes; ++node) {
    graph.first[node] = count;
    for (int i = 0; i < DEGREE; ++i, ++count) {
      graph.edges[count].target = i ? random_below(state, nodes) : (node + 1) % nodes;
      graph.edges[count].length = 1 + random_below(state, i ? 100000 : 1000);
    }
  }
  graph.first[nodes] = nodes * DEGREE;
  return graph;
}

static size_t shortest_paths(const struct graph *graph, uint32_t source, uint64_t *distance, struct heap *heap) {
  size_t settled = 0;
  for (uint32_t i = 0; i < graph->nodes; ++i)
    distance[i] = UNREACHED;
  distance[source] = 0;
  push(heap, 0, source);
  while (heap->size) {
    struct entry entry = pop(heap);
    if (entry.distance > distance[entry.node])
      continue; /* a shorter way was found meanwhile */
    ++settled;
    for (uint32_t i = graph->first[entry.node]; i < graph->first[entry.node + 1]; ++i) {
      struct edge edge = graph->edges[i];
      uint64_t through = entry.distance + edge.length;
      if (through < distance[edge.target]) {
        distance[edge.target] = through;
        push(heap, through, edge.target);
      }
    }
  }
  return settled;
}

/* No edge is a short cut, and every node but the source has an edge that explains its distance. */
static void check_distances(const struct graph *graph, uint32_t source, const uint64_t *distance) {
  unsigned char *explained = allocate(graph->nodes, 1);
  explained[source] = distance[source] == 0;
  for (uint32_t node = 0; node < graph->nodes; ++node)
    for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; ++i) {
      uint64_t through = distance[node] + graph->edges[i].length;
      check(distance[graph->edges[i].target] <= through, "an edge is a short cut");
      explained[graph->edges[i].target] |= distance[graph->edges[i].target] == through;
    }
  for (uint32_t node = 0; node < graph->nodes; ++node)
    check(explained[node], "no path has this length");
  free(explained);
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 2, 1u << 22);
  uint64_t state = input.seed, sum = FNV_START;
  struct graph graph = make_graph(input.size, &state);
  struct heap heap = {NULL, 0, (size_t)graph.nodes * DEGREE + 1};
  heap.entries = allocate(heap.room, sizeof *heap.entries);
  uint64_t *distance = allocate(graph.nodes, sizeof *distance);
  for (int i = 0; i < 4; ++i) {
    uint32_t source = random_below(&state, graph.nodes), farthest = 0;
    size_t settled = shortest_paths(&graph, source, distance, &heap);
    FAULT(distance[(source + 1) % graph.nodes] -= 1);
    check_distances(&graph, source, distance);
    for (uint32_t node = 0; node < graph.nodes; ++node) {
      sum = mix(sum, distance[node]);
      farthest = distance[node] > distance[farthest] ? node : farthest;
    }
    printf("from %u: %zu settled, farthest is %u at %llu\n", source, settled, farthest,
           (unsigned long long)distance[farthest]);
  }
  print_checksum(sum);
  free(graph.first);
  free(graph.edges);
  free(heap.entries);
  free(distance);
  return 0;
}
