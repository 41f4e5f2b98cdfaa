#include "response_file.h"

#include <cctype>
#include <fstream>
#include <iterator>

namespace burnish {

namespace {

constexpr int DEEPEST = 20;            // a file may name others, but not itself
constexpr size_t MOST_BYTES = 1 << 20; // the words are arguments of a process, which may have 2 MB on Linux

Words words_of(const std::string &text) {
  Words words;
  std::string word;
  bool inside = false; // a word, which may be empty: ""
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      inside = true;
    } else if (quote) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      inside = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      if (inside)
        words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside)
    words.push_back(std::move(word));
  return words;
}

bool expand(const Words &words, Words &expanded, int depth) {
  for (const auto &word : words) {
    if (!word.starts_with("@")) {
      expanded.push_back(word);
      continue;
    }
    std::ifstream file(word.substr(1), std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    if (!file || depth == DEEPEST || text.size() > MOST_BYTES || !expand(words_of(text), expanded, depth + 1))
      return false;
  }
  return true;
}

} // namespace

std::optional<Words> with_response_files(const Words &words) {
  bool any = false;
  for (const auto &word : words)
    any |= word.starts_with("@");
  Words expanded;
  if (!any || !expand(words, expanded, 0))
    return std::nullopt;
  return expanded;
}

} // namespace burnish
