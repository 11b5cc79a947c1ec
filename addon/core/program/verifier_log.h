// Reads the log of the kernel's verifier about a program. Knows no system calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace floodwall {

/// How much work the verifier had with a program.
struct VerifierWork {
  /// Instructions that it followed, each as often as it came by; the kernel's limit is a million.
  std::uint64_t processed = 0;
  std::uint64_t totalStates = 0;
  std::uint64_t peakStates = 0;
};

/// Absent where the log does not say.
[[nodiscard]] std::optional<VerifierWork> workIn(std::string_view log);

/// Maximum bytes of the log in a message.
inline constexpr std::size_t kReasonBytes = 400;

/// Why the verifier refused the program: its last message, the instruction that it is about, and the source line of
/// that instruction, in one line. Empty where the log has no such message.
[[nodiscard]] std::string reasonIn(std::string_view log);

}  // namespace floodwall
