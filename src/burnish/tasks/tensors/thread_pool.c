// A pool of threads. It is part of the extension, and of each object file with a parallel loop: its function is weak,
// so a program of several such objects has one pool.
#include "thread_pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

// Checks before a thread sleeps, in all 50 to 100 us: to wake it takes as long, and calls often follow one another.
enum { CHECKS = 2000 };

struct loop {
  burnish_iteration iteration;
  const uint64_t *pointers;
  uint64_t count;
  char *memory;
  uint64_t size;
  _Atomic uint64_t next;
};

// Threads that wait for loops. They live as long as the process, because joining them at its end could block forever.
struct pool {
  pid_t owner;
  pthread_mutex_t busy, mutex;
  pthread_cond_t begin, done;
  struct loop *loop;
  uint64_t started, wanted;
  _Atomic uint64_t left, round;
};

struct worker {
  struct pool *pool;
  uint64_t thread;
};

static void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void work(struct loop *loop, uint64_t thread) {
  for (uint64_t index; (index = atomic_fetch_add(&loop->next, 1)) < loop->count;)
    loop->iteration(loop->pointers, index, loop->memory + thread * loop->size);
}

static void *wait_for_loops(void *argument) {
  struct worker self = *(struct worker *)argument;
  struct pool *pool = self.pool;
  free(argument);
  for (uint64_t seen = 0;;) {
    for (int i = 0; i < CHECKS && pool->round == seen; ++i)
      pause_briefly();
    pthread_mutex_lock(&pool->mutex);
    while (pool->round == seen)
      pthread_cond_wait(&pool->begin, &pool->mutex);
    seen = pool->round;
    struct loop *loop = self.thread <= pool->wanted ? pool->loop : NULL;
    pthread_mutex_unlock(&pool->mutex);
    if (!loop)
      continue;
    work(loop, self.thread);
    if (atomic_fetch_sub(&pool->left, 1) == 1) {
      pthread_mutex_lock(&pool->mutex);
      pthread_cond_signal(&pool->done);
      pthread_mutex_unlock(&pool->mutex);
    }
  }
  return NULL;
}

// Starts a thread that gets no signals: their handlers run in the program's own threads.
static int start(struct pool *pool) {
  struct worker *worker = malloc(sizeof *worker);
  if (!worker)
    return 0;
  *worker = (struct worker){pool, pool->started + 1};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  int failed = pthread_create(&thread, NULL, wait_for_loops, worker);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed)
    free(worker);
  else
    pthread_detach(thread);
  return !failed;
}

// Returns the pool of this process, or null without memory: a forked child has none of its parent's threads, and
// makes a pool of its own.
static struct pool *pool_of_process(void) {
  static _Atomic(struct pool *) known;
  struct pool *found = atomic_load(&known);
  while (!found || found->owner != getpid()) {
    struct pool *made = calloc(1, sizeof *made);
    if (!made)
      return NULL;
    made->owner = getpid();
    pthread_mutex_init(&made->busy, NULL);
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->begin, NULL);
    pthread_cond_init(&made->done, NULL);
    if (atomic_compare_exchange_strong(&known, &found, made))
      return made;
    free(made);
  }
  return found;
}

__attribute__((weak)) void burnish_parallel(burnish_iteration iteration, const uint64_t *pointers, uint64_t count,
                                            char *memory, uint64_t size, uint64_t threads) {
  struct loop loop = {iteration, pointers, count, memory, size, 0};
  struct pool *pool = threads < 2 || count < 2 ? NULL : pool_of_process();
  if (!pool || pthread_mutex_trylock(&pool->busy)) {
    work(&loop, 0);
    return;
  }
  uint64_t others = (threads < count ? threads : count) - 1;
  pthread_mutex_lock(&pool->mutex);
  while (pool->started < others && start(pool))
    ++pool->started;
  pool->loop = &loop;
  pool->wanted = others < pool->started ? others : pool->started;
  pool->left = pool->wanted;
  ++pool->round;
  pthread_cond_broadcast(&pool->begin);
  pthread_mutex_unlock(&pool->mutex);
  work(&loop, 0);
  for (int i = 0; i < CHECKS && pool->left; ++i)
    pause_briefly();
  pthread_mutex_lock(&pool->mutex);
  while (pool->left)
    pthread_cond_wait(&pool->done, &pool->mutex);
  pthread_mutex_unlock(&pool->mutex);
  pthread_mutex_unlock(&pool->busy);
}
