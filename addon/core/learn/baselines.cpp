#include "learn/baselines.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace floodwall {

void Baselines::learn(const Address& key, std::uint64_t hash, std::uint32_t side, const LearnedGroup& group,
                      const double* rates, const LearningMoment& moment) {
  if (!group.rule || side >= table_.directions()) return;
  const BaselineRule& rule = *group.rule;
  const std::uint32_t row = table_.findOrAdd(key, hash, moment.nowSeconds);
  if (row == BaselineTable::kNone) return;
  BaselineTable::Side& values = table_.side(row, side);
  const double before = double{values.learned};
  const double learned = before + moment.seconds;
  const bool isWarm = before > 0 && before >= rule.warmupSeconds;
  // The plain mean at first, so that the initial zero has no weight.
  const double weight = std::max(steadyWeight(moment.seconds, rule.halfLifeSeconds), moment.seconds / learned);
  // During the warm-up the rates are not clamped, and must not enter a season.
  const std::uint32_t place = isWarm ? placeFor(row, group) : SeasonTable::kNone;
  SeasonTable* const seasons = place == SeasonTable::kNone ? nullptr : table_.seasons();
  if (seasons != nullptr) seasons->startHour(place, side, moment_, values.normal.data());
  BaseTrio counted{};
  for (std::size_t i = 0; i < kBaseTrio; i++) {
    const double recent = double{values.normal[i]};
    const double normal = seasons == nullptr ? recent : seasons->normal(place, side, i, moment_, recent);
    // Rates that creep up below the limit raise it only as fast as the limit allows.
    counted[i] = isWarm ? std::min(rates[i], std::max(rule.floor[i], normal * rule.factor)) : rates[i];
    values.normal[i] = static_cast<float>(recent + weight * (counted[i] - recent));
    // As it is kept: a float.
    counted[i] = double{static_cast<float>(counted[i])};
  }
  if (seasons != nullptr) seasons->learn(place, side, counted, moment.seconds);
  values.learned = static_cast<float>(std::min(learned, BaselineTable::kLearnedMax));
  table_.setLastTraffic(row, moment.nowSeconds);
}

void Baselines::read(std::span<const std::uint8_t> keys, std::span<const std::uint32_t> groups,
                     std::span<double> out) const {
  constexpr std::size_t kAhead = 16;
  const std::uint32_t directions = table_.directions();
  const std::size_t width = kReadValues * directions, count = out.size() / width;
  const auto keyAt = [&](std::size_t i) {
    Address key;
    std::memcpy(key.bytes.data(), &keys[i * sizeof(key.bytes)], sizeof(key.bytes));
    return key;
  };
  for (std::size_t i = 0; i < count; i++) {
    if (i + kAhead < count) table_.prefetchIndex(table_.hashOf(keyAt(i + kAhead)));
    const std::uint32_t row = table_.find(keyAt(i));
    const LearnedGroup* const of = group(groups[i]);
    const bool isSeasonal = of != nullptr && of->rule && of->rule->isSeasonal;
    for (std::uint32_t side = 0; side < directions; side++) {
      readSide(row, side, isSeasonal, out.subspan(i * width + side * kReadValues).first<kReadValues>());
    }
  }
}

void Baselines::readSide(std::uint32_t row, std::uint32_t side, bool isSeasonal,
                         std::span<double, kReadValues> out) const {
  std::ranges::fill(out, 0);
  if (row == BaselineTable::kNone) {
    out[0] = -1;
    return;
  }
  const BaselineTable::Side& values = table_.side(row, side);
  const SeasonTable* const seasons = isSeasonal ? table_.seasons() : nullptr;
  const std::uint32_t place = seasons == nullptr ? SeasonTable::kNone : seasons->find(row);
  out[0] = double{values.learned};
  for (std::size_t i = 0; i < kBaseTrio; i++) {
    const double recent = double{values.normal[i]};
    out[1 + i] = place == SeasonTable::kNone ? recent : seasons->normal(place, side, i, moment_, recent);
  }
  if (place != SeasonTable::kNone && seasons->isLearned(place, side, moment_.hour)) out[1 + kBaseTrio] = 1;
}

double Baselines::steadyWeight(double seconds, double halfLifeSeconds) noexcept {
  if (weight_.seconds != seconds || weight_.halfLifeSeconds != halfLifeSeconds) {
    weight_ = {seconds, halfLifeSeconds, 1 - std::pow(2.0, -seconds / halfLifeSeconds)};
  }
  return weight_.value;
}

/// kNone: not learned by hour of the week.
std::uint32_t Baselines::placeFor(std::uint32_t row, const LearnedGroup& group) {
  SeasonTable* const seasons = table_.seasons();
  if (seasons == nullptr || !group.rule->isSeasonal) return SeasonTable::kNone;
  return seasons->findOrAdd(row, !group.isWhole,
                            [&](std::uint32_t other) { return table_.lastTraffic(other) < idleSeconds_; });
}

}  // namespace floodwall
