// Longest-prefix match over 128-bit addresses (IPv4 in its mapped form). Built once, read by any number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"

namespace floodwall {

/// A prefix of the 128-bit form (an IPv4 /24 has length 120) and what it stands for. Bits beyond the length are
/// ignored.
struct PrefixValue {
  Address address;
  std::uint8_t length;
  std::uint32_t value;
};

/// Poptrie (Asai and Ohara, SIGCOMM 2015): direct tables over the first 16 bits of each family, then nodes of six bits
/// whose children and leaves are found by counting bits, so that 100,000 prefixes stay in a few megabytes.
class PrefixTable {
 public:
  static constexpr std::uint32_t kNone = 0x7fffffff;

  PrefixTable() : PrefixTable(std::span<const PrefixValue>{}) {}
  /// Values below kNone. If two prefixes are equal, the later one holds.
  explicit PrefixTable(std::span<const PrefixValue> prefixes);

  /// The value of the longest prefix that contains the address, or kNone.
  [[nodiscard]] std::uint32_t match(const Address& address) const noexcept;

  [[nodiscard]] std::size_t memoryBytes() const noexcept;

 private:
  static constexpr unsigned kRootBits = 16, kStride = 6, kSlots = 1U << kStride;
  /// A root entry is a value, or with this bit a node.
  static constexpr std::uint32_t kIsNode = 0x80000000;

  struct Node {
    /// Slots that lead to a child.
    std::uint64_t children = 0;
    /// Slots where a run of equal leaves begins.
    std::uint64_t leaves = 0;
    std::uint32_t firstChild = 0;
    std::uint32_t firstLeaf = 0;
  };
  using Sorted = std::span<const PrefixValue>;

  std::vector<std::uint32_t> buildRoot(Sorted prefixes, unsigned start, std::uint32_t inherited);
  void fillNode(std::uint32_t node, Sorted prefixes, unsigned depth, std::uint32_t inherited);

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> leaves_;
  std::vector<std::uint32_t> root4_;
  std::vector<std::uint32_t> root6_;
};

}  // namespace floodwall
