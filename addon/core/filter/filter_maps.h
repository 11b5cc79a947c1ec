// The filter's maps: made or found pinned, mapped into memory, where the tables write them without a system call each.
// They live as long as anybody holds them: this process, a program, or a pin.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "allowance_abi.h"
#include "base/unique_fd.h"
#include "filter_abi.h"
#include "named_sets_abi.h"

namespace floodwall {

/// The kernel did not do what the filter needs; what() says what, why, and what to do.
class FilterError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct FilterShape {
  std::uint32_t pairsMax = 1;
  std::uint32_t rulesMax = 1;
  /// Maximum of each list.
  std::uint32_t prefixesMax = 1;
  /// Sources that the kernel knows.
  std::uint32_t sourcesMax = 1;
  bool operator==(const FilterShape&) const = default;
};

/// An identifier of a rule or a name of a set, which the kernel does not read.
struct FilterName {
  std::array<char, 64> text;
};

/// One map of fixed-size rows, in memory.
class RowMap {
 public:
  RowMap() = default;
  /// Throws FilterError.
  RowMap(UniqueFd fd, bool isWritable);
  RowMap(RowMap&& other) noexcept { swap(other); }
  RowMap& operator=(RowMap&& other) noexcept {
    swap(other);
    return *this;
  }
  ~RowMap();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  template <typename Row>
  [[nodiscard]] std::span<Row> rows() const noexcept {
    return {static_cast<Row*>(at_), bytes_ / sizeof(Row)};
  }

 private:
  void swap(RowMap& other) noexcept;

  UniqueFd fd_;
  void* at_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t mappedBytes_ = 0;
};

class FilterMaps {
 public:
  static constexpr std::size_t kMaps = 18;
  /// The last ones are not the program's.
  static constexpr std::size_t kProgramMaps = 16;
  /// As xdp_filter.bpf.c names them.
  static constexpr std::array<const char*, kMaps> kNames = {
      "filter_head",       "filter_pairs",   "filter_pair_rows", "filter_rules",         "filter_hits",
      "filter_sets",       "filter_ways",    "filter_entries",   "filter_pair_bits",     "filter_sources",
      "filter_allowances", "filter_details", "outcome_ways",     "outcome_destinations", "outcome_rows",
      "outcome_early",     "filter_names",   "filter_set_names"};
  static constexpr const char* kStatsName = "filter_stats";
  static constexpr const char* kNamedSetsName = "filter_named_sets";

  /// Empty ones. Throws FilterError.
  static FilterMaps create(const FilterShape& shape);
  /// Those pinned in a directory; absent when one is missing or is not as this version makes it.
  static std::optional<FilterMaps> open(const std::string& directory, bool isWritable);
  /// Throws FilterError; the directory must exist and be empty.
  void pin(const std::string& directory) const;

  [[nodiscard]] FilterShape shape() const {
    return {.pairsMax = head().pairs_max,
            .rulesMax = head().rules_max,
            .prefixesMax = head().prefixes_max,
            .sourcesMax = head().sources_max};
  }
  [[nodiscard]] int fd(std::size_t map) const { return maps_.at(map).fd(); }
  [[nodiscard]] int statsFd() const { return stats_.get(); }
  /// The outer map, whose one slot has the named sets in force.
  [[nodiscard]] int namedSetsFd() const { return namedSets_.get(); }

  [[nodiscard]] filter_head& head() const { return maps_[0].rows<filter_head>()[0]; }
  /// By number; a group of the kernel's is FILTER_GROUP_PAIRS of them.
  [[nodiscard]] std::span<filter_pair> pairs() const { return maps_[1].rows<filter_pair>(); }
  [[nodiscard]] std::span<filter_pair_row> pairRows() const { return maps_[2].rows<filter_pair_row>(); }
  [[nodiscard]] std::span<filter_rule> rules() const { return maps_[3].rows<filter_rule>(); }
  [[nodiscard]] std::span<filter_hits> hits() const { return maps_[4].rows<filter_hits>(); }
  [[nodiscard]] std::span<filter_set> sets() const { return maps_[5].rows<filter_set>(); }
  [[nodiscard]] std::span<filter_bucket> ways() const { return maps_[6].rows<filter_bucket>(); }
  [[nodiscard]] std::span<filter_entry> entries() const { return maps_[7].rows<filter_entry>(); }
  [[nodiscard]] std::span<filter_bits> pairBits() const { return maps_[8].rows<filter_bits>(); }
  [[nodiscard]] std::span<source_set> sources() const { return maps_[9].rows<source_set>(); }
  [[nodiscard]] std::span<allowance_set> allowances() const { return maps_[10].rows<allowance_set>(); }
  [[nodiscard]] std::span<filter_details> details() const { return maps_[11].rows<filter_details>(); }
  [[nodiscard]] std::span<filter_bucket> outcomeWays() const { return maps_[12].rows<filter_bucket>(); }
  [[nodiscard]] std::span<ip_address> outcomeDestinations() const { return maps_[13].rows<ip_address>(); }
  [[nodiscard]] std::span<outcome_row> outcomeRows() const { return maps_[14].rows<outcome_row>(); }
  [[nodiscard]] std::span<outcome_early> earlyOutcomes() const { return maps_[15].rows<outcome_early>(); }
  [[nodiscard]] std::span<FilterName> names() const { return maps_[16].rows<FilterName>(); }
  /// By bit.
  [[nodiscard]] std::span<FilterName> setNames() const { return maps_[17].rows<FilterName>(); }

  /// Sum of all CPUs.
  [[nodiscard]] filter_stats stats() const;

 private:
  FilterMaps() = default;

  std::array<RowMap, kMaps> maps_;
  UniqueFd stats_;
  UniqueFd namedSets_;
};

/// An array of `lines` lines for the outer map's slot. Throws FilterError.
[[nodiscard]] UniqueFd makeSetsTable(std::uint32_t lines);

/// Makes a new key for cookies. Those made with the one before stay good until the next time.
void rotateCookieKey(const FilterMaps& maps);

}  // namespace floodwall
