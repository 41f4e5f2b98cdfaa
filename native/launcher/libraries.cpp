#include "libraries.h"

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace burnish {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string_view> USERS_CHOICE = {
    "-stdlib",     "--stdlib",  "-rtlib",    "--rtlib",         "-unwindlib",        "--unwindlib",
    "-nostdinc++", "--sysroot", "-isysroot", "--gcc-toolchain", "--gcc-install-dir", "--gcc-triple",
    "--target",    "-target",   "--config",  "-cxx-isystem",    "-stdlib++-isystem"};

std::vector<long> numbers(const std::string &version) {
  std::vector<long> result;
  for (const char *at = version.c_str(); *at;) {
    char *end;
    long number = std::strtol(at, &end, 10);
    if (end == at)
      return {};
    result.push_back(number);
    at = *end == '.' ? end + 1 : end;
    if (*end && *end != '.')
      return {};
  }
  return result;
}

bool there_is(const fs::path &path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::vector<fs::path> entries(const fs::path &folder) {
  std::vector<fs::path> result;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    result.push_back(it->path());
  return result;
}

bool is_native(const std::string &triple) {
#if defined(__x86_64__)
  return triple.starts_with("x86_64");
#elif defined(__aarch64__)
  return triple.starts_with("aarch64");
#else
  return true;
#endif
}

// Return the version of the GCC whose libstdc++ clang would take: the newest, if its C++ is installed.
std::optional<std::string> system_libstdcxx() {
  std::string newest;
  fs::path folder;
  for (const char *root : {"/usr/lib/gcc", "/usr/lib64/gcc"})
    for (const auto &triple : entries(root)) {
      if (!is_native(triple.filename().string()))
        continue;
      for (const auto &found : entries(triple)) {
        auto version = found.filename().string();
        if (!numbers(version).empty() && (newest.empty() || numbers(version) > numbers(newest)) &&
            there_is(found / "crtbegin.o"))
          newest = version, folder = found;
      }
    }
  if (newest.empty())
    return {};
  bool headers = there_is(fs::path("/usr/include/c++") / newest / "iostream") ||
                 there_is(folder / "include/c++/iostream") ||
                 there_is(folder / ("include/g++-v" + newest.substr(0, newest.find('.'))) / "iostream");
  bool library = false;
  for (const auto &place : {folder, fs::path("/usr/lib64"), fs::path("/usr/lib")})
    library |= there_is(place / "libstdc++.so");
  return headers && library ? std::optional(newest) : std::nullopt;
}

// Return the folder of clang's own libc++; empty where it has none.
fs::path own_libcxx(const std::string &clang) {
  std::error_code error;
  auto lib = fs::canonical(clang, error).parent_path().parent_path() / "lib";
  if (there_is(lib / "libc++.so.1"))
    return lib;
  for (const auto &folder : entries(lib))
    if (there_is(folder / "libc++.so.1"))
      return folder;
  return {};
}

} // namespace

Libraries find_libraries(const Command &command, const std::string &clang) {
  for (const auto &word : command.rest)
    if (starts_with_any(word, USERS_CHOICE))
      return {{}, "as the command says"};
  Words found;
  if (auto version = system_libstdcxx()) {
    // A C program may unwind, too (-fexceptions), and clang's own unwinder is not found when it starts. Nor is the
    // libc++ that clang takes for -lstdc++.
    if (command.cxx)
      found = {"-stdlib=libstdc++", "-rtlib=libgcc", "-unwindlib=libgcc"};
    else {
      if (command.compiles_cxx || command.links)
        found.push_back("-stdlib=libstdc++");
      if (command.links)
        found.push_back("-unwindlib=libgcc");
    }
    if (!found.empty()) {
      found.insert(found.begin(), "--start-no-unused-arguments");
      found.push_back("--end-no-unused-arguments");
    }
    return {found, "the system's libstdc++ (GCC " + *version + ")"};
  }
  auto folder = own_libcxx(clang);
  if (folder.empty())
    return {{}, "clang's default"};
  if (command.cxx && command.links)
    found = {"-Wl,-rpath," + folder.string()};
  return {found, "clang's own libc++ in " + folder.string() + ", by an rpath in programs"};
}

} // namespace burnish
