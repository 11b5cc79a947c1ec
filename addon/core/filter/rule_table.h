// The dynamic rules in the kernel. A rule that stays keeps its slot, with its hits and the account of its limit; new
// ones are there before old ones go. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "filter/filter_maps.h"
#include "filter/prefix_sets.h"

namespace floodwall {

struct WantedRule {
  /// At most kIdBytesMax bytes, different for each.
  std::string id;
  /// All but paid_until_ns, which the kernel keeps, and the number of the details.
  filter_rule rule{};
  /// With FILTER_ASKS_DETAILS.
  filter_details details{};
  /// kAnyLength when the rule asks for no destination; else that of rule.destination.
  std::uint32_t destinationLength = kAnyLength;

  static constexpr std::size_t kIdBytesMax = sizeof(FilterName) - 1;
};

/// Marks one of the wanted rules as the operator's, for this destination.
struct OperatorEntry {
  ip_address destination{};
  /// In the mapped form.
  std::uint32_t length = 0;
  /// Which of the wanted rules.
  std::size_t rule = 0;
};

struct RuleHits {
  std::string id;
  std::uint64_t expiresAtNs = 0;
  filter_count all{};
  filter_count dropped{};
  /// Sent back to their sources.
  filter_count answered{};
  /// How often a source proved its address.
  std::uint64_t validated = 0;
};

class RuleTable {
 public:
  /// Takes the rules up that the maps hold.
  explicit RuleTable(const FilterMaps& maps);

  /// Replaces the rules by these; throws FilterError and leaves them as they were. A rule whose match or action changed
  /// is a new one under its old identifier: its hits begin again. Those that entries name are the operator's.
  void set(std::span<const WantedRule> wanted, std::span<const OperatorEntry> entries = {});
  /// Removes what expired.
  void sweep(std::uint64_t nowNs);
  /// Those that have not expired.
  [[nodiscard]] std::vector<RuleHits> read(std::uint64_t nowNs) const;
  [[nodiscard]] std::uint32_t count(std::uint64_t nowNs) const;

 private:
  void requireGood(std::span<const WantedRule> wanted) const;
  [[nodiscard]] bool isKept(std::uint32_t slot, const WantedRule& wanted) const;
  void publish(std::span<const WantedRule> wanted, std::span<const std::uint32_t> slots,
               std::span<const OperatorEntry> entries) const;
  void sweep(filter_set_kind kind, std::uint64_t nowNs) const;
  void write(std::uint32_t slot, const WantedRule& wanted);
  void release(std::uint32_t slot);
  [[nodiscard]] filter_hits& hitsIn(std::uint32_t stripe, std::uint32_t slot) const {
    return maps_.hits()[std::size_t{stripe} * maps_.head().rule_slots + slot];
  }
  [[nodiscard]] RuleHits hitsOf(std::uint32_t slot, const std::string& id) const;

  const FilterMaps& maps_;
  /// By identifier, in the order in which they are tried.
  std::unordered_map<std::string, std::uint32_t> slots_;
  /// The longest unused first: slots, and rows of details.
  std::deque<std::uint32_t> free_;
  std::deque<std::uint32_t> freeDetails_;
};

}  // namespace floodwall
