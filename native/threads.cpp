#include "threads.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

struct Loop {
  burnish_iteration iteration;
  const uint64_t *pointers;
  uint64_t count;
  char *memory;
  uint64_t size;
  std::atomic<uint64_t> next{0};

  void work(uint64_t thread) {
    for (uint64_t index; (index = next.fetch_add(1)) < count;)
      iteration(pointers, index, memory + thread * size);
  }
};

// Threads that wait for loops. They live as long as the process, because joining them at its end could block forever.
class Pool {
public:
  void run(Loop &loop, uint64_t threads) {
    std::lock_guard<std::mutex> only_one(busy_);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      while (started_ + 1 < threads)
        std::thread(&Pool::wait, this, ++started_).detach();
      loop_ = &loop;
      wanted_ = left_ = threads - 1;
      ++round_;
    }
    begin_.notify_all();
    loop.work(0);
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
  }

private:
  void wait(uint64_t thread) {
    uint64_t seen = 0;
    for (;;) {
      Loop *loop;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        begin_.wait(lock, [&] { return round_ != seen; });
        seen = round_;
        if (thread > wanted_)
          continue;
        loop = loop_;
      }
      loop->work(thread);
      std::lock_guard<std::mutex> lock(mutex_);
      if (--left_ == 0)
        done_.notify_one();
    }
  }

  std::mutex busy_, mutex_;
  std::condition_variable begin_, done_;
  Loop *loop_ = nullptr;
  uint64_t started_ = 0, wanted_ = 0, left_ = 0, round_ = 0;
};

// Returns the pool of this process: a forked child has none of its parent's threads, and creates its own.
Pool &pool() {
  static std::mutex mutex;
  static Pool *known = nullptr;
  static pid_t owner = 0;
  std::lock_guard<std::mutex> lock(mutex);
  if (!known || owner != getpid()) {
    known = new Pool;
    owner = getpid();
  }
  return *known;
}

} // namespace

void burnish_parallel(burnish_iteration iteration, const uint64_t *pointers, uint64_t count, char *memory,
                      uint64_t size, uint64_t threads) {
  Loop loop{iteration, pointers, count, memory, size};
  if (threads < 2 || count < 2)
    loop.work(0);
  else
    pool().run(loop, threads);
}
