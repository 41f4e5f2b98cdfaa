// Generators: coroutines with the same steps. The header of the standard library is not needed.
namespace std {
template <class Result, class...> struct coroutine_traits {
  using promise_type = typename Result::promise_type;
};
template <class Promise = void> struct coroutine_handle {
  static coroutine_handle from_address(void *address) { return {address}; }
  static coroutine_handle from_promise(Promise &promise) {
    return {__builtin_coro_promise(&promise, alignof(Promise), true)};
  }
  Promise &promise() const { return *static_cast<Promise *>(__builtin_coro_promise(address, alignof(Promise), false)); }
  void resume() const { __builtin_coro_resume(address); }
  bool done() const { return __builtin_coro_done(address); }
  void destroy() const { __builtin_coro_destroy(address); }
  void *address;
};
struct suspend_always {
  bool await_ready() noexcept { return false; }
  template <class Promise> void await_suspend(coroutine_handle<Promise>) noexcept {}
  void await_resume() noexcept {}
};
} // namespace std

volatile int sink;

struct Numbers {
  struct promise_type {
    int value = 0;
    Numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int next) {
      value = next;
      return {};
    }
    void return_void() {}
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};

template <int kind> Numbers numbers(int from, int *p) {
  for (int i = from; i < from + 9; i++) {
    int next = i * 13 + *p;
    sink = next ^ i;
    *p = next * 3 + kind;
    co_yield next;
    sink = *p + next;
    *p = next * 5 - i;
  }
}

int drain(Numbers all) {
  int sum = 0;
  for (; !all.handle.done(); all.handle.resume())
    sum += all.handle.promise().value;
  all.handle.destroy();
  return sum;
}

int run(int a, int *p) { return drain(numbers<0>(a, p)) + drain(numbers<1>(a, p)) + drain(numbers<2>(a, p)); }
