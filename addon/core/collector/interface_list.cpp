#include "collector/interface_list.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

namespace floodwall {
namespace {

std::optional<std::uint32_t> numberOf(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

bool matchesPattern(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0, t = 0;
  // Where the last star was, and up to where of the text it reaches.
  std::size_t star = std::string_view::npos, reached = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      reached = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      p++;
      t++;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++reached;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

InterfaceList::InterfaceList(std::span<const std::string> texts) {
  if (texts.size() > kInterfacePatternsMax) {
    throw std::out_of_range("an exporter has at most " + std::to_string(kInterfacePatternsMax) +
                            " external and as many internal interfaces: name them by ranges or patterns");
  }
  for (const std::string& text : texts) {
    if (text.empty()) throw std::invalid_argument("an interface of an exporter must have a number or a name");
    const std::size_t dash = text.find('-');
    const auto from = numberOf(text.substr(0, dash));
    const auto to = dash == std::string::npos ? from : numberOf(text.substr(dash + 1));
    if (!from || !to) {
      patterns_.push_back(text);
      continue;
    }
    if (*from > *to) throw std::invalid_argument("the range of interfaces " + text + " ends before it begins");
    ranges_.push_back({*from, *to});
  }
}

InterfaceList::Answer InterfaceList::has(std::uint32_t index, std::string_view name) const noexcept {
  const auto holds = [&](const Range& range) { return range.from <= index && index <= range.to; };
  if (std::any_of(ranges_.begin(), ranges_.end(), holds)) return Answer::yes;
  if (patterns_.empty()) return Answer::no;
  if (name.empty()) return Answer::needsName;
  const auto matches = [&](const std::string& pattern) { return matchesPattern(pattern, name); };
  return std::any_of(patterns_.begin(), patterns_.end(), matches) ? Answer::yes : Answer::no;
}

}  // namespace floodwall
