// Named sets of prefixes as the kernel looks them up (named_sets_abi.h), made of lists of prefixes. Knows nothing of
// the kernel's maps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "named_sets_abi.h"

namespace floodwall {

/// One set.
struct NamedPrefixes {
  std::string name;
  /// Below NAMED_SETS_MAX, and of no other set.
  std::uint32_t bit = 0;
  /// 16 bytes for each prefix, IPv4 in its mapped form; what is beyond the prefix is not read.
  std::span<const std::uint8_t> addresses;
  /// In the mapped form. An IPv6 prefix does not contain the mapped addresses: only those of 96 and more are of IPv4.
  std::span<const std::uint8_t> lengths;
};

class NamedSetTable {
 public:
  /// 256 MiB: two million IPv4 prefixes take 27, those of IPv6 /48 at most 128 bytes each, a single IPv6 address about
  /// 400.
  static constexpr std::uint32_t kLinesMax = 1U << 22;

  /// Throws std::invalid_argument, and std::length_error when they need more than `linesMax`.
  explicit NamedSetTable(std::span<const NamedPrefixes> sets, std::uint32_t linesMax = kLinesMax);

  /// The kernel's array.
  [[nodiscard]] const std::vector<sets_line>& lines() const noexcept { return lines_; }
  /// As given.
  [[nodiscard]] std::uint32_t prefixes() const noexcept { return prefixes_; }
  /// Disjoint ranges of addresses, of all sets together, next to one that is in other sets or in none.
  [[nodiscard]] std::uint32_t ranges() const noexcept { return ranges_; }
  /// The bits of the sets that the address is in, found as the kernel finds them.
  [[nodiscard]] std::uint64_t setsOf(const ip_address& address) const;

 private:
  std::vector<sets_line> lines_;
  std::uint32_t prefixes_ = 0;
  std::uint32_t ranges_ = 0;
};

}  // namespace floodwall
