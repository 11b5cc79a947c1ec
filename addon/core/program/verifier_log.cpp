#include "program/verifier_log.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

namespace floodwall {
namespace {

/// The message of a refusal is in the last lines of a log that may have millions of them.
constexpr std::size_t kTailBytes = std::size_t{64} << 10;
constexpr std::size_t kWordsMost = 3;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Those that are not empty, without blanks around.
std::vector<std::string_view> lastLines(std::string_view log) {
  if (log.size() > kTailBytes) log.remove_prefix(log.size() - kTailBytes);
  std::vector<std::string_view> lines;
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    if (const auto line = trimmed(log.substr(0, end)); !line.empty()) lines.push_back(line);
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  return lines;
}

bool isStatistics(std::string_view line) {
  return line.starts_with("processed ") || line.starts_with("verification time ") || line.starts_with("stack depth ");
}

bool isSource(std::string_view line) { return line.starts_with("; "); }

/// "12: (71) r1 = *(u8 *)(r0 +8)"; or, with `allLines`, "12: R0=…", which older kernels write of registers.
bool isNumbered(std::string_view line, bool allLines) {
  const std::size_t colon = line.find_first_not_of("0123456789");
  if (colon == 0 || colon == std::string_view::npos || line[colon] != ':') return false;
  return allLines || trimmed(line.substr(colon + 1)).starts_with('(');
}

/// "R0=inv(id=0) R1=ctx…", "R0_w=1 …", and how the verifier came to an instruction.
bool isState(std::string_view line) {
  if (line.starts_with("from ") || line.starts_with("mark_precise:") || line.starts_with("frame")) return true;
  if (!line.starts_with('R')) return false;
  const std::size_t end = line.find_first_not_of("0123456789", 1);
  return end != 1 && end != std::string_view::npos && (line[end] == '=' || line[end] == '_');
}

/// Without what newer kernels write of registers behind an instruction.
std::string_view withoutRegisters(std::string_view instruction) {
  return trimmed(instruction.substr(0, instruction.find(" ; R")));
}

/// One line of printable text.
std::string bounded(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char letter) { return letter < ' ' || letter > '~'; }, '?');
  if (text.size() <= kReasonBytes) return text;
  text.resize(kReasonBytes - 3);
  return text + "...";
}

}  // namespace

std::optional<VerifierWork> workIn(std::string_view log) {
  for (const std::string_view line : lastLines(log)) {
    if (!line.starts_with("processed ")) continue;
    const auto numberAfter = [&](std::string_view word) {
      const std::size_t at = line.find(word);
      std::uint64_t number = 0;
      if (at != std::string_view::npos)
        std::from_chars(line.data() + at + word.size(), line.data() + line.size(), number);
      return number;
    };
    return VerifierWork{.processed = numberAfter("processed "),
                        .totalStates = numberAfter("total_states "),
                        .peakStates = numberAfter("peak_states ")};
  }
  return std::nullopt;
}

std::string reasonIn(std::string_view log) {
  const auto lines = lastLines(log);
  std::vector<std::string_view> words;
  std::string_view instruction, source;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (isStatistics(*line)) continue;
    if (isSource(*line)) {
      source = line->substr(2);
      break;
    }
    if (isNumbered(*line, true) || isState(*line)) {
      if (instruction.empty() && isNumbered(*line, false)) instruction = withoutRegisters(*line);
    } else if (instruction.empty() && words.size() < kWordsMost) {
      words.push_back(*line);
    }
  }
  if (words.empty()) return {};
  std::string reason;
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    reason += (reason.empty() ? "" : "; ") + std::string(*word);
  }
  if (!instruction.empty()) reason += " (at instruction " + std::string(instruction);
  if (!instruction.empty() && !source.empty()) reason += ", source: " + std::string(source);
  if (!instruction.empty()) reason += ")";
  return bounded(std::move(reason));
}

}  // namespace floodwall
