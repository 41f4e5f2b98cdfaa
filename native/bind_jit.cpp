#include "bind_jit.h"

#include "jit.h"
#include "thread_pool.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace nb = nanobind;
using namespace nb::literals;

namespace burnish {
namespace {

constexpr size_t alignment = 64; // bytes, of scratch memory

// Scratch memory for the calls of one kernel: a piece for each running call.
class Scratch {
public:
  explicit Scratch(size_t bytes) : bytes_(bytes) {} // a multiple of the alignment
  Scratch(const Scratch &) = delete;
  ~Scratch() {
    for (char *piece : idle_)
      std::free(piece);
  }

  char *take() {
    if (!bytes_)
      return nullptr;
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        char *piece = idle_.back();
        idle_.pop_back();
        return piece;
      }
    }
    void *piece = std::aligned_alloc(alignment, bytes_);
    if (!piece)
      throw std::bad_alloc();
    return static_cast<char *>(piece);
  }

  void give_back(char *piece) {
    if (!piece)
      return;
    std::lock_guard lock(mutex_);
    idle_.push_back(piece);
  }

private:
  size_t bytes_;
  std::mutex mutex_;
  std::vector<char *> idle_;
};

// Buffers of Python objects, released by the destructor.
struct Buffers {
  explicit Buffers(size_t most) { views.reserve(most); }
  Buffers(const Buffers &) = delete;
  ~Buffers() {
    for (Py_buffer &view : views)
      PyBuffer_Release(&view);
  }

  bool add(PyObject *object, int flags) {
    Py_buffer view;
    if (PyObject_GetBuffer(object, &view, flags)) {
      PyErr_Clear();
      return false;
    }
    views.push_back(view);
    return true;
  }

  std::vector<Py_buffer> views;
};

// The required type of an array: C-contiguous, with a buffer format of one letter, and its shape.
struct ArrayType {
  char format;
  std::vector<int64_t> shape;

  bool fits(const Py_buffer &view) const {
    return view.format && view.format[0] == format && !view.format[1] && size_t(view.ndim) == shape.size() &&
           std::equal(shape.begin(), shape.end(), view.shape) &&
           reinterpret_cast<uintptr_t>(view.buf) % uintptr_t(view.itemsize) == 0;
  }
};

// Returns whether a buffer shares memory with an earlier one.
bool shares(const std::vector<Py_buffer> &views, size_t last) {
  auto start = [](const Py_buffer &view) { return static_cast<const char *>(view.buf); };
  return std::any_of(views.begin(), views.begin() + last, [&](const Py_buffer &view) {
    return start(view) < start(views[last]) + views[last].len && start(views[last]) < start(view) + view.len;
  });
}

// Takes the buffers of inputs and outputs. Returns the number of the first wrong one, or -1. An array is wrong if it
// has another type; an output, also if it is not writable or shares memory with an earlier array.
int take(Buffers &buffers, const std::vector<ArrayType> &types, const nb::tuple &inputs, const nb::tuple &outputs) {
  size_t given = inputs.size() + outputs.size();
  if (given != types.size())
    throw nb::value_error("as many arrays as the kernel has inputs and outputs");
  for (size_t i = 0; i < given; ++i) {
    bool is_output = i >= inputs.size();
    nb::handle object = is_output ? outputs[i - inputs.size()] : inputs[i];
    int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (is_output ? PyBUF_WRITABLE : 0);
    if (!buffers.add(object.ptr(), flags) || !types[i].fits(buffers.views[i]))
      return int(i);
    if (is_output && shares(buffers.views, i))
      return int(i);
  }
  return -1;
}

std::vector<ArrayType> types_of(const std::string &formats, std::vector<std::vector<int64_t>> shapes) {
  if (formats.size() != shapes.size())
    throw nb::value_error("as many formats as shapes");
  std::vector<ArrayType> types;
  for (size_t i = 0; i < shapes.size(); ++i)
    types.push_back({formats[i], std::move(shapes[i])});
  return types;
}

// Code at an address, which takes a pointer to the pointer to each array, as MLIR's execution engine compiles it.
class CodeFunction {
public:
  CodeFunction(nb::object owner, uintptr_t address, const std::string &formats,
               std::vector<std::vector<int64_t>> shapes)
      : owner_(std::move(owner)), code_(reinterpret_cast<Compiled>(address)),
        types_(types_of(formats, std::move(shapes))) {}

  // Returns the result of `take`; the outputs are computed if it is -1.
  int call(nb::tuple inputs, nb::tuple outputs) {
    Buffers buffers(types_.size());
    if (int wrong = take(buffers, types_, inputs, outputs); wrong >= 0)
      return wrong;
    std::vector<uint64_t> pointers;
    pointers.reserve(types_.size());
    for (const Py_buffer &view : buffers.views)
      pointers.push_back(reinterpret_cast<uint64_t>(&view.buf));
    nb::gil_scoped_release release;
    code_(pointers.data());
    return -1;
  }

private:
  nb::object owner_; // of the code
  Compiled code_;
  std::vector<ArrayType> types_;
};

// A kernel on arrays of certain shapes and one type.
class ArrayFunction {
public:
  // The arguments are inputs, then outputs, in the order of the kernel's pointers; then the bytes of scratch memory of
  // all threads. An input whose number is in `aligned` is copied if it does not begin at a multiple of a cache line.
  ArrayFunction(nb::object kernel, char format, std::vector<std::vector<int64_t>> shapes, size_t scratch_bytes,
                uint64_t threads, std::vector<size_t> aligned)
      : owner_(kernel), kernel_(nb::cast<const Kernel *>(kernel)),
        types_(types_of(std::string(shapes.size(), format), shapes)), threads_(threads),
        scratch_bytes_(whole(scratch_bytes)), aligned_(std::move(aligned)), scratch_(scratch_bytes_ + copied_bytes()) {}

  // Returns the result of `take`; the outputs are computed if it is -1.
  int call(nb::tuple inputs, nb::tuple outputs) {
    Buffers buffers(types_.size());
    if (int wrong = take(buffers, types_, inputs, outputs); wrong >= 0)
      return wrong;
    std::vector<uint64_t> pointers;
    pointers.reserve(types_.size() + 3);
    for (const Py_buffer &view : buffers.views)
      pointers.push_back(reinterpret_cast<uint64_t>(view.buf));
    nb::gil_scoped_release release;
    char *piece = scratch_.take(), *end = piece + scratch_bytes_;
    for (size_t i : aligned_)
      if (pointers[i] % alignment) {
        std::memcpy(end, buffers.views[i].buf, buffers.views[i].len);
        pointers[i] = reinterpret_cast<uint64_t>(end);
        end += whole(buffers.views[i].len);
      }
    pointers.push_back(reinterpret_cast<uint64_t>(piece));
    pointers.push_back(reinterpret_cast<uint64_t>(&burnish_parallel));
    pointers.push_back(threads_);
    kernel_->run(pointers);
    scratch_.give_back(piece);
    return -1;
  }

private:
  static size_t whole(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

  size_t copied_bytes() const {
    size_t bytes = 0;
    for (size_t i : aligned_) {
      size_t size = types_[i].format == 'f' ? sizeof(float) : sizeof(double);
      for (int64_t extent : types_[i].shape)
        size *= extent;
      bytes += whole(size);
    }
    return bytes;
  }

  nb::object owner_;
  const Kernel *kernel_;
  std::vector<ArrayType> types_;
  uint64_t threads_;
  size_t scratch_bytes_;
  std::vector<size_t> aligned_;
  Scratch scratch_; // then room for the copies of those inputs
};

nb::bytes object_file(const std::string &ir, const std::string &passes, const Machine &machine) {
  std::string object;
  {
    nb::gil_scoped_release release;
    object = compile_object(ir, passes, machine);
  }
  return nb::bytes(object.data(), object.size());
}

} // namespace

void bind_jit(nb::module_ &m) {
  using Without = nb::call_guard<nb::gil_scoped_release>;
  nb::class_<Machine>(m, "Machine")
      .def(nb::init<std::string, std::string>(), "cpu"_a, "features"_a)
      .def_ro("cpu", &Machine::cpu)
      .def_ro("features", &Machine::features);
  m.def("host_machine", &host_machine);
  m.def("machine_of", &machine_of, "cpu"_a); // with all features that the CPU has
  nb::class_<Kernel>(m, "Kernel")
      .def(nb::init<const std::string &, const std::string &, const std::string &, const Machine &>(), "ir"_a, "name"_a,
           "passes"_a, "machine"_a, Without())
      .def("run", &Kernel::run, "pointers"_a, Without())
      .def("time", &Kernel::time, "pointers"_a, "samples"_a, "batch_seconds"_a, "passing"_a = false, Without());
  nb::class_<ArrayFunction>(m, "ArrayFunction")
      .def(nb::init<nb::typed<nb::object, Kernel>, char, std::vector<std::vector<int64_t>>, size_t, uint64_t,
                    std::vector<size_t>>(),
           "kernel"_a, "format"_a, "shapes"_a, "scratch_bytes"_a, "threads"_a, "aligned"_a)
      .def("__call__", &ArrayFunction::call, "inputs"_a, "outputs"_a,
           nb::sig("def __call__(self, inputs: tuple[object, ...], outputs: tuple[object, ...]) -> int"));
  nb::class_<CodeFunction>(m, "CodeFunction")
      .def(nb::init<nb::object, uintptr_t, const std::string &, std::vector<std::vector<int64_t>>>(), "owner"_a,
           "address"_a, "formats"_a, "shapes"_a)
      .def("__call__", &CodeFunction::call, "inputs"_a, "outputs"_a,
           nb::sig("def __call__(self, inputs: tuple[object, ...], outputs: tuple[object, ...]) -> int"));
  m.def("parallel_function", [] { return reinterpret_cast<uintptr_t>(&burnish_parallel); });
  m.def( // for a function of another compiler, at an address
      "time_calls",
      [](uintptr_t address, const std::vector<uint64_t> &pointers, int samples, double batch_seconds, bool passing) {
        return time_calls(reinterpret_cast<Compiled>(address), pointers, samples, batch_seconds, passing);
      },
      "address"_a, "pointers"_a, "samples"_a, "batch_seconds"_a, "passing"_a = false, Without());
  m.def(
      "time_cold_calls",
      [](uintptr_t address, const std::vector<uint64_t> &pointers, int samples, const std::vector<Cold> &cold) {
        return time_cold_calls(reinterpret_cast<Compiled>(address), pointers, samples, cold);
      },
      "address"_a, "pointers"_a, "samples"_a, "cold"_a, Without());
  m.def("compile_object", &object_file, "ir"_a, "passes"_a, "machine"_a);
}

} // namespace burnish
