#include "record.h"

#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace burnish {
namespace {

namespace fs = std::filesystem;

constexpr off_t MOST_LOG_BYTES = 32 << 20; // as in burnish.cc.build_log

// Return how many bytes the UTF-8 sequence at the start of a text has; 0 where there is none.
size_t sequence(std::string_view text) {
  unsigned char first = text[0];
  size_t length = first < 0x80                    ? 1
                  : first >= 0xC2 && first < 0xE0 ? 2
                  : first >= 0xE0 && first < 0xF0 ? 3
                  : first >= 0xF0 && first < 0xF5 ? 4
                                                  : 0;
  if (length > text.size())
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80)
      return 0;
  return length;
}

// Return a JSON string; bytes that are no UTF-8 become what Python makes of them in file names.
std::string json(std::string_view text) {
  std::string result = "\"";
  char escaped[8];
  for (size_t i = 0; i < text.size();) {
    unsigned char byte = text[i];
    size_t length = sequence(text.substr(i));
    if (byte == '"' || byte == '\\')
      result += {'\\', char(byte)};
    else if (byte < 0x20 || !length)
      snprintf(escaped, sizeof escaped, "\\u%04x", length ? byte : 0xDC00 + byte), result += escaped;
    else
      result += text.substr(i, length);
    i += length ? length : 1;
  }
  return result + '"';
}

fs::path log_of(const Command &command) {
  if (!command.report.empty())
    return command.report;
  const char *state = std::getenv("XDG_STATE_HOME");
  if (state && *state == '/')
    return fs::path(state) / "burnish/cc.jsonl";
  const char *home = std::getenv("HOME");
  return home ? fs::path(home) / ".local/state/burnish/cc.jsonl" : fs::path();
}

// Rename a log that has grown large to the same name with ".1", unless another process has just done so.
void rotate(int descriptor, const fs::path &log) {
  struct stat ours = {}, named = {};
  if (fstat(descriptor, &ours) != 0 || !S_ISREG(ours.st_mode) || ours.st_size < MOST_LOG_BYTES ||
      flock(descriptor, LOCK_EX) != 0)
    return;
  if (stat(log.c_str(), &named) == 0 && named.st_ino == ours.st_ino && named.st_dev == ours.st_dev) {
    std::error_code error; // the next line tries again
    fs::rename(log, log.native() + ".1", error);
  }
}

} // namespace

void append_line(const Command &command, const Line &line) {
  auto log = log_of(command);
  std::error_code error;
  if (log.has_parent_path())
    fs::create_directories(log.parent_path(), error);
  char now[64];
  std::time_t seconds = std::time(nullptr);
  std::tm parts = {};
  std::strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S+00:00", gmtime_r(&seconds, &parts));
  std::string bytes = line.facts ? std::to_string(line.facts->text_bytes) : "null";
  std::string words;
  for (const auto &word : line.command)
    words += (words.empty() ? "" : ", ") + json(word);
  std::string text = "{\"time\": " + json(now) + ", \"directory\": " + json(fs::current_path(error).native()) +
                     ", \"source\": " + json(line.source) + ", \"output\": " + json(line.output) +
                     ", \"level\": " + json(line.level) + ", \"action\": " + json(line.action) +
                     ", \"reason\": " + json(line.reason) +
                     ", \"loaded_bytes_before\": null, \"loaded_bytes\": null, \"text_bytes_before\": " + bytes +
                     ", \"text_bytes\": " + bytes + ", \"seconds\": 0.0, \"trace\": [], \"evaluations\": 0" +
                     ", \"compiler\": " + json("clang " + (line.clang.empty() ? "unknown" : line.clang)) +
                     ", \"command\": [" + words + "]}\n";
  int descriptor = open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return;
  // one write, so that compilers that run at the same time do not mix their lines
  [[maybe_unused]] auto written = write(descriptor, text.data(), text.size());
  rotate(descriptor, log);
  close(descriptor);
}

} // namespace burnish
