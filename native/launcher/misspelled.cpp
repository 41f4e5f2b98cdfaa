#include "misspelled.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace burnish {
namespace {

// As in burnish.cc.commands.cc.
constexpr std::string_view OPTIONS[] = {
    "--objective",     "--budget",       "--build-budget", "--search",        "--policy",
    "--remember",      "--seed",         "--report",       "--help",          "--speed-limit",
    "--inline-policy", "--evict-policy", "--alone",        "--whole-program", "--code-generation",
    "--clang",         "--stack-limit",  "--ram-limit",    "--lock"};

// How many letters are to be changed, added, removed or swapped with the next: optimal string alignment.
size_t edits(std::string_view one, std::string_view other) {
  std::vector<size_t> before, last, row(other.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < one.size(); ++i) {
    before = std::move(last), last = std::move(row), row = {i + 1};
    for (size_t j = 0; j < other.size(); ++j) {
      auto least = std::min({last[j] + (one[i] != other[j]), last[j + 1] + 1, row[j] + 1});
      if (i && j && one[i] == other[j - 1] && one[i - 1] == other[j])
        least = std::min(least, before[j - 1] + 1);
      row.push_back(least);
    }
  }
  return row.back();
}

} // namespace

bool is_misspelled(std::string_view option) {
  return option.starts_with("--") && std::any_of(std::begin(OPTIONS), std::end(OPTIONS), [&](std::string_view known) {
           return 3 * edits(option, known) <= known.size() - 2;
         });
}

} // namespace burnish
