/* Maximum flow by Dinic's algorithm in a random network, checked by a cut of the same capacity. */
#include "kernel.h"

enum { DEGREE = 5 };
#define UNSEEN UINT32_MAX
#define NO_EDGE UINT32_MAX

struct edge {
  uint32_t target, next, capacity, room; /* room: what may still flow; the reverse edge is the number ^ 1 */
};

struct network {
  uint32_t nodes, edges;
  struct edge *edge;
  uint32_t *first, *level, *current, *queue;
};

static void add_edge(struct network *net, uint32_t from, uint32_t to, uint32_t capacity) {
  struct edge forward = {to, net->first[from], capacity, capacity}, backward = {from, net->first[to], 0, 0};
  if (from == to)
    return;
  net->edge[net->edges] = forward;
  net->first[from] = net->edges++;
  net->edge[net->edges] = backward;
  net->first[to] = net->edges++;
}

static struct network make_network(uint32_t nodes, uint64_t *state) {
  struct network net = {nodes, 0,   allocate((size_t)nodes * DEGREE * 2 + 128, sizeof(struct edge)), NULL, NULL,
                        NULL,  NULL};
  net.first = allocate(nodes, sizeof(uint32_t));
  net.level = allocate(nodes, sizeof(uint32_t));
  net.current = allocate(nodes, sizeof(uint32_t));
  net.queue = allocate(nodes, sizeof(uint32_t));
  memset(net.first, 0xff, nodes * sizeof(uint32_t));
  for (uint32_t node = 0; node < nodes; ++node)
    for (int i = 0; i < DEGREE; ++i) {
      uint32_t ahead = node + random_below(state, nodes / 20 + 2);
      uint32_t to = ahead < nodes ? ahead : random_below(state, nodes);
      add_edge(&net, node, to, 1 + random_below(state, 1000));
    }
  for (uint32_t i = 0; i < 16; ++i) { /* more ways out of the source and into the sink */
    uint32_t to = random_below(state, nodes), from = random_below(state, nodes);
    add_edge(&net, 0, to, 500 + 50 * i);
    add_edge(&net, from, nodes - 1, 500 + 50 * i);
  }
  return net;
}

/* Set the distance from the source in the residual network; say whether the sink is reached. */
static int find_levels(struct network *net, uint32_t source, uint32_t sink) {
  uint32_t head = 0, tail = 0;
  memset(net->level, 0xff, net->nodes * sizeof(uint32_t));
  net->level[source] = 0;
  net->queue[tail++] = source;
  while (head < tail) {
    uint32_t node = net->queue[head++];
    for (uint32_t i = net->first[node]; i != NO_EDGE; i = net->edge[i].next)
      if (net->edge[i].room && net->level[net->edge[i].target] == UNSEEN) {
        net->level[net->edge[i].target] = net->level[node] + 1;
        net->queue[tail++] = net->edge[i].target;
      }
  }
  return net->level[sink] != UNSEEN;
}

static uint32_t push_flow(struct network *net, uint32_t node, uint32_t sink, uint32_t most) {
  if (node == sink)
    return most;
  uint32_t pushed = 0;
  for (uint32_t *i = &net->current[node]; *i != NO_EDGE; *i = net->edge[*i].next) {
    struct edge *edge = &net->edge[*i];
    if (edge->room && net->level[edge->target] == net->level[node] + 1) {
      uint32_t left = most - pushed, flow = push_flow(net, edge->target, sink, edge->room < left ? edge->room : left);
      edge->room -= flow;
      net->edge[*i ^ 1].room += flow;
      pushed += flow;
      if (pushed == most)
        return pushed;
    }
  }
  return pushed;
}

static uint64_t maximum_flow(struct network *net, uint32_t source, uint32_t sink, uint32_t *phases) {
  uint64_t total = 0;
  for (*phases = 0; find_levels(net, source, sink); ++*phases) {
    memcpy(net->current, net->first, net->nodes * sizeof(uint32_t));
    total += push_flow(net, source, sink, UINT32_MAX);
  }
  return total;
}

/* What flows in flows out; and the edges from what the source still reaches to the rest are full. */
static void check_flow(const struct network *net, uint32_t source, uint32_t sink, uint64_t total) {
  int64_t *excess = allocate(net->nodes, sizeof *excess);
  uint64_t cut = 0;
  for (uint32_t i = 0; i < net->edges; i += 2) {
    uint32_t from = net->edge[i + 1].target, to = net->edge[i].target;
    check(net->edge[i].room <= net->edge[i].capacity, "an edge carries more than it can");
    int64_t flow = (int64_t)net->edge[i].capacity - net->edge[i].room;
    excess[from] -= flow;
    excess[to] += flow;
    if (net->level[from] != UNSEEN && net->level[to] == UNSEEN)
      cut += net->edge[i].capacity;
  }
  for (uint32_t node = 0; node < net->nodes; ++node)
    check(excess[node] == 0 || node == source || node == sink, "a node keeps or makes flow");
  check(excess[sink] == (int64_t)total && excess[source] == -(int64_t)total, "the flow is not what arrives");
  check(cut == total, "no cut has the capacity of the flow");
  free(excess);
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 8, 1u << 20);
  uint64_t state = input.seed;
  struct network net = make_network(input.size, &state);
  uint32_t phases, source = 0, sink = net.nodes - 1;
  uint64_t total = maximum_flow(&net, source, sink, &phases);
  FAULT(net.edge[0].room ^= 1);
  check_flow(&net, source, sink, total);
  printf("%u nodes, %u edges: flow %llu in %u phases\n", net.nodes, net.edges / 2, (unsigned long long)total, phases);
  free(net.edge);
  free(net.first);
  free(net.level);
  free(net.current);
  free(net.queue);
  return 0;
}
