/* A B-tree of integers with insertion, deletion and range sums, checked against a bit map of the keys. */
#include "kernel.h"

enum { LEAST = 7, MOST = 2 * LEAST + 1 };

struct node {
  int count, is_leaf;
  uint32_t keys[MOST];
  struct node *children[MOST + 1];
};

struct tree {
  struct node *root;
  size_t size, nodes;
};

static struct node *make_node(struct tree *tree, int is_leaf) {
  struct node *node = allocate(1, sizeof *node);
  node->is_leaf = is_leaf;
  ++tree->nodes;
  return node;
}

static void drop_node(struct tree *tree, struct node *node) {
  --tree->nodes;
  free(node);
}

/* The first place whose key is not less. */
static int lower_bound(const struct node *node, uint32_t key) {
  int low = 0, high = node->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (node->keys[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int contains(const struct tree *tree, uint32_t key) {
  const struct node *node = tree->root;
  for (;;) {
    int at = lower_bound(node, key);
    if (at < node->count && node->keys[at] == key)
      return 1;
    if (node->is_leaf)
      return 0;
    node = node->children[at];
  }
}

static void insert_at(struct node *node, int at, uint32_t key, struct node *right) {
  memmove(node->keys + at + 1, node->keys + at, (size_t)(node->count - at) * sizeof *node->keys);
  memmove(node->children + at + 2, node->children + at + 1, (size_t)(node->count - at) * sizeof *node->children);
  node->keys[at] = key;
  node->children[at + 1] = right;
  ++node->count;
}

static void remove_at(struct node *node, int at) {
  --node->count;
  memmove(node->keys + at, node->keys + at + 1, (size_t)(node->count - at) * sizeof *node->keys);
  memmove(node->children + at + 1, node->children + at + 2, (size_t)(node->count - at) * sizeof *node->children);
}

/* Divide a full child: its middle key moves up. */
static void split_child(struct tree *tree, struct node *node, int at) {
  struct node *left = node->children[at], *right = make_node(tree, left->is_leaf);
  right->count = MOST - LEAST - 1;
  memcpy(right->keys, left->keys + LEAST + 1, (size_t)right->count * sizeof *right->keys);
  memcpy(right->children, left->children + LEAST + 1, (size_t)(right->count + 1) * sizeof *right->children);
  left->count = LEAST;
  insert_at(node, at, left->keys[LEAST], right);
}

static int insert(struct tree *tree, uint32_t key) {
  if (tree->root->count == MOST) {
    struct node *root = make_node(tree, 0);
    root->children[0] = tree->root;
    tree->root = root;
    split_child(tree, root, 0);
  }
  struct node *node = tree->root;
  for (;;) {
    int at = lower_bound(node, key);
    if (at < node->count && node->keys[at] == key)
      return 0;
    if (node->is_leaf) {
      insert_at(node, at, key, NULL);
      ++tree->size;
      return 1;
    }
    if (node->children[at]->count == MOST) {
      split_child(tree, node, at);
      if (node->keys[at] == key)
        return 0;
      at += node->keys[at] < key;
    }
    node = node->children[at];
  }
}

/* Put a child, a key and the next child into one. */
static void merge_children(struct tree *tree, struct node *node, int at) {
  struct node *left = node->children[at], *right = node->children[at + 1];
  left->keys[left->count] = node->keys[at];
  memcpy(left->keys + left->count + 1, right->keys, (size_t)right->count * sizeof *left->keys);
  memcpy(left->children + left->count + 1, right->children, (size_t)(right->count + 1) * sizeof *left->children);
  left->count += right->count + 1;
  remove_at(node, at);
  drop_node(tree, right);
}

static void borrow_from_left(struct node *node, int at) {
  struct node *child = node->children[at], *left = node->children[at - 1];
  memmove(child->children + 1, child->children, (size_t)(child->count + 1) * sizeof *child->children);
  memmove(child->keys + 1, child->keys, (size_t)child->count * sizeof *child->keys);
  child->keys[0] = node->keys[at - 1];
  child->children[0] = left->children[left->count];
  ++child->count;
  node->keys[at - 1] = left->keys[--left->count];
}

static void borrow_from_right(struct node *node, int at) {
  struct node *child = node->children[at], *right = node->children[at + 1];
  child->keys[child->count++] = node->keys[at];
  child->children[child->count] = right->children[0];
  node->keys[at] = right->keys[0];
  memmove(right->children, right->children + 1, (size_t)right->count * sizeof *right->children);
  memmove(right->keys, right->keys + 1, (size_t)(right->count - 1) * sizeof *right->keys);
  --right->count;
}

/* Make sure that a child can lose a key; return where it is then. */
static int fill_child(struct tree *tree, struct node *node, int at) {
  if (node->children[at]->count > LEAST)
    return at;
  if (at > 0 && node->children[at - 1]->count > LEAST) {
    borrow_from_left(node, at);
  } else if (at < node->count && node->children[at + 1]->count > LEAST) {
    borrow_from_right(node, at);
  } else {
    at -= at == node->count;
    merge_children(tree, node, at);
  }
  return at;
}

static int erase_from(struct tree *tree, struct node *node, uint32_t key) {
  int at = lower_bound(node, key), is_here = at < node->count && node->keys[at] == key;
  if (node->is_leaf) {
    if (is_here)
      remove_at(node, at);
    return is_here;
  }
  if (!is_here)
    return erase_from(tree, node->children[fill_child(tree, node, at)], key);
  struct node *left = node->children[at], *right = node->children[at + 1];
  if (left->count > LEAST) { /* the greatest key before takes its place */
    const struct node *last = left;
    while (!last->is_leaf)
      last = last->children[last->count];
    node->keys[at] = last->keys[last->count - 1];
    return erase_from(tree, left, node->keys[at]);
  }
  if (right->count > LEAST) {
    const struct node *first = right;
    while (!first->is_leaf)
      first = first->children[0];
    node->keys[at] = first->keys[0];
    return erase_from(tree, right, node->keys[at]);
  }
  merge_children(tree, node, at);
  return erase_from(tree, left, key);
}

static int erase(struct tree *tree, uint32_t key) {
  int was_there = erase_from(tree, tree->root, key);
  struct node *root = tree->root;
  if (root->count == 0 && !root->is_leaf) {
    tree->root = root->children[0];
    drop_node(tree, root);
  }
  tree->size -= (size_t)was_there;
  return was_there;
}

/* The sum of the keys from low up to high. */
static uint64_t range_sum(const struct node *node, uint32_t low, uint32_t high) {
  uint64_t sum = 0;
  for (int i = lower_bound(node, low);; ++i) {
    if (!node->is_leaf)
      sum += range_sum(node->children[i], low, high);
    if (i == node->count || node->keys[i] >= high)
      return sum;
    sum += node->keys[i];
  }
}

/* Keys are in order, all leaves are at the same depth, no node is too empty; return the depth. */
static int check_node(const struct node *node, int is_root, const uint32_t **last) {
  int depth = 0;
  check(is_root || node->count >= LEAST, "a node is too empty");
  for (int i = 0; i <= node->count; ++i) {
    if (!node->is_leaf) {
      int below = check_node(node->children[i], 0, last);
      check(i == 0 || below == depth, "leaves are at different depths");
      depth = below;
    }
    if (i < node->count) {
      check(!*last || **last < node->keys[i], "keys are not in order");
      *last = &node->keys[i];
    }
  }
  return depth + 1;
}

static void destroy(struct tree *tree, struct node *node) {
  for (int i = 0; !node->is_leaf && i <= node->count; ++i)
    destroy(tree, node->children[i]);
  drop_node(tree, node);
}

int main(int argc, char **argv) {
  struct input input = read_input(argc, argv, 10, 1u << 26);
  uint32_t keys = input.size;
  uint64_t state = input.seed, hits = 0, sums = FNV_START;
  unsigned char *is_in = allocate(keys, 1);
  struct tree tree = {NULL, 0, 0};
  tree.root = make_node(&tree, 1);
  for (uint32_t step = 0; step < 2 * input.size; ++step) {
    uint32_t key = random_below(&state, keys), kind = random_below(&state, 10);
    uint32_t adding = step < input.size ? 6 : 2; /* it grows, then shrinks */
    if (kind < adding) {
      check(insert(&tree, key) == !is_in[key], "inserted what was there, or did not insert");
      is_in[key] = 1;
    } else if (kind < 8) {
      check(erase(&tree, key) == is_in[key], "erased what was not there, or did not find it");
      is_in[key] = 0;
    } else {
      int found = contains(&tree, key);
      check(found == is_in[key], "found what is not there, or did not find it");
      hits += (uint64_t)found;
    }
  }
  FAULT(is_in[tree.root->keys[0]] = 0);
  const uint32_t *last = NULL;
  int depth = check_node(tree.root, 1, &last);
  for (int i = 0; i < 20; ++i) {
    uint32_t low = random_below(&state, keys), high = low + random_below(&state, keys - low);
    if (i == 0) {
      low = 0;
      high = keys;
    }
    uint64_t expected = 0;
    for (uint32_t key = low; key < high; ++key)
      expected += is_in[key] ? key : 0;
    check(range_sum(tree.root, low, high) == expected, "a range has another sum");
    sums = mix(sums, expected);
  }
  printf("%zu keys in %zu nodes, %d deep, %llu hits\n", tree.size, tree.nodes, depth, (unsigned long long)hits);
  print_checksum(sums);
  destroy(&tree, tree.root);
  free(is_in);
  return 0;
}
