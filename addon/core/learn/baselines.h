// Learns normal rates: an exponentially weighted mean of the base trio over the seconds with traffic, so that silence
// changes nothing; where a group is seasonal, of each hour of the week too. Judges nothing and knows no thread: its
// owner has the lock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "learn/baseline_table.h"

namespace floodwall {

/// How a hostgroup's normal rates are learned.
struct BaselineRule {
  double warmupSeconds = 0;
  double halfLifeSeconds = 1;
  /// A rate above the limit, the larger of floor and normal × factor, counts as the limit once the warm-up is over.
  double factor = 1;
  BaseTrio floor{};
  bool isSeasonal = false;
};

struct LearnedGroup {
  /// Judged as a whole: its hosts are not learned, nor summed.
  bool isWhole = false;
  /// None: nothing is learned.
  std::optional<BaselineRule> rule;
};

struct LearningMoment {
  std::uint32_t nowSeconds = 0;
  /// How long the rates count for.
  double seconds = 0;
};

class Baselines {
 public:
  /// Values that read() writes for each direction of a key: seconds learned, normal rates, and 1 where those are of the
  /// hour of the week. The first is -1 where nothing is known of the key.
  static constexpr std::size_t kReadValues = 2 + kBaseTrio;

  Baselines(std::uint32_t capacity, std::uint32_t directions) : table_(capacity, directions) {}

  void setGroups(std::vector<LearnedGroup> groups) { groups_ = std::move(groups); }
  [[nodiscard]] const LearnedGroup* group(std::uint32_t index) const noexcept {
    return index < groups_.size() ? &groups_[index] : nullptr;
  }
  /// Call this before each pass: the hour of the week, for what is learned and read until the next; rows without
  /// traffic since `idleSeconds` may lose their place of an hour of the week.
  void beginPass(const HourMoment& moment, std::uint32_t idleSeconds) noexcept {
    moment_ = moment;
    idleSeconds_ = idleSeconds;
    if (table_.seasons() != nullptr) table_.seasons()->beginPass();
  }

  /// Not of attacked or silent hosts. No effect for a direction that the table does not have.
  void learn(const Address& key, std::uint64_t hash, std::uint32_t side, const LearnedGroup& group, const double* rates,
             const LearningMoment& moment);

  /// kReadValues for each direction of each key of 16 bytes; `groups` says of which group it is.
  void read(std::span<const std::uint8_t> keys, std::span<const std::uint32_t> groups, std::span<double> out) const;

  [[nodiscard]] BaselineTable& table() noexcept { return table_; }
  [[nodiscard]] const BaselineTable& table() const noexcept { return table_; }

 private:
  void readSide(std::uint32_t row, std::uint32_t side, bool isSeasonal, std::span<double, kReadValues> out) const;
  [[nodiscard]] double steadyWeight(double seconds, double halfLifeSeconds) noexcept;
  [[nodiscard]] std::uint32_t placeFor(std::uint32_t row, const LearnedGroup& group);

  BaselineTable table_;
  std::vector<LearnedGroup> groups_;
  HourMoment moment_;
  std::uint32_t idleSeconds_ = 0;
  /// Cached: equal for nearly all hosts of a pass, and the power is the costliest step.
  struct {
    double seconds = 0, halfLifeSeconds = 0, value = 0;
  } weight_;
};

}  // namespace floodwall
