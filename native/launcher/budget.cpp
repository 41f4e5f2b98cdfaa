#include "budget.h"

#include <cmath>
#include <cstdlib>

namespace burnish {
namespace {

// As in burnish.cc.file_budget.
constexpr std::string_view EXPECTED =
    "2s, 1m, '100 evaluations', 4x (times what clang takes for the file) or remembered";
constexpr double DEFAULT_MULTIPLE = 3.7;

struct Budget {
  enum Kind { Wrong, Seconds, Evaluations, Multiple, Remembered } kind = Wrong;
  double amount = 0;
};

bool is_digits(std::string_view text) { return text.find_first_not_of("0123456789") == text.npos; }

// A number with digits and at most one point, of which some may be missing.
bool is_number(std::string_view text) {
  auto point = text.find('.');
  auto after = point == text.npos ? std::string_view() : text.substr(point + 1);
  return text.size() > (point != text.npos) && is_digits(text.substr(0, point)) && is_digits(after);
}

Budget parse(const std::string &text) {
  std::string words;
  for (char letter : text)
    if (letter != ' ')
      words += letter;
  if (words == "remembered")
    return {Budget::Remembered, 1};
  auto end = words.find_first_not_of("0123456789.");
  if (end == words.npos || !is_number(std::string_view(words).substr(0, end)))
    return {};
  auto number = words.substr(0, end), unit = words.substr(end);
  double amount = std::strtod(number.c_str(), nullptr);
  bool plain = number.front() != '.' && number.back() != '.';
  if (unit == "x")
    return {plain && amount > 0 && std::isfinite(amount) ? Budget::Multiple : Budget::Wrong, amount};
  if (unit == "s" || unit == "m") {
    amount *= unit == "m" ? 60 : 1;
    return {std::isfinite(amount) ? Budget::Seconds : Budget::Wrong, amount};
  }
  bool whole = std::isfinite(amount) && std::fmod(amount, 1) == 0;
  if ((unit == "evaluation" || unit == "evaluations") && whole)
    return {Budget::Evaluations, amount};
  return {};
}

} // namespace

void Budgets::read(std::string_view option, const std::string &value) {
  if (option == "--remember")
    remembers = value != "none";
  if (option != "--budget" && option != "--build-budget")
    return;
  auto budget = parse(value);
  auto said = std::string(option) + " " + value + ": ";
  if (budget.kind == Budget::Wrong)
    said += "expected " + std::string(EXPECTED);
  else if (budget.amount <= 0)
    said += "this is too short to try anything; expected " + std::string(EXPECTED);
  else if (option == "--build-budget" && budget.kind != Budget::Seconds)
    said += "expected seconds or minutes for the whole build: 60s, 10m";
  else
    said.clear();
  if (first_error.empty())
    first_error = said;
  if (option == "--build-budget") {
    of_build = true;
    return;
  }
  remembered = budget.kind == Budget::Remembered;
  counted = budget.kind == Budget::Evaluations;
  other = budget.kind != Budget::Multiple || budget.amount != DEFAULT_MULTIPLE;
}

std::string Budgets::error() const {
  if (!first_error.empty())
    return first_error;
  if (remembered && !remembers)
    return "--budget remembered: expected a memory, not --remember none";
  if (of_build && other)
    return "--budget and --build-budget: expected only one of them";
  return "";
}

} // namespace burnish
