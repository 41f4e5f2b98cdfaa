// Conversion of names and arrays between C++ and Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace burnish {

using Vector = nanobind::ndarray<nanobind::numpy, int64_t, nanobind::ndim<1>>;
using Matrix = nanobind::ndarray<nanobind::numpy, int64_t, nanobind::ndim<2>>;

// LLVM's names are bytes. Bytes that are not UTF-8 become surrogate escapes in Python, as in file names.
inline nanobind::str decoded(const std::string &bytes) {
  return nanobind::steal<nanobind::str>(PyUnicode_DecodeUTF8(bytes.data(), bytes.size(), "surrogateescape"));
}

inline std::string encoded(nanobind::handle text) {
  auto bytes = nanobind::steal<nanobind::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid())
    throw nanobind::python_error();
  return std::string(bytes.c_str(), bytes.size());
}

inline nanobind::list decoded(const std::vector<std::string> &names) {
  nanobind::list list;
  for (const std::string &name : names)
    list.append(decoded(name));
  return list;
}

template <class Value> nanobind::list decoded(const std::vector<std::pair<std::string, Value>> &pairs) {
  nanobind::list list;
  for (const auto &[name, value] : pairs)
    list.append(nanobind::make_tuple(decoded(name), value));
  return list;
}

// NumPy arrays take ownership of the native vectors.
template <class T> nanobind::capsule keeping(std::vector<T> *values) {
  return nanobind::capsule(values, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
}

inline Vector vector(std::vector<int64_t> &&values) {
  auto *kept = new std::vector<int64_t>(std::move(values));
  return Vector(kept->data(), {kept->size()}, keeping(kept));
}

template <class T>
nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>> matrix(std::vector<T> &&values, size_t columns) {
  auto *kept = new std::vector<T>(std::move(values));
  return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>>(kept->data(), {kept->size() / columns, columns},
                                                                  keeping(kept));
}

} // namespace burnish
