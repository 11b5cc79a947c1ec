#include "learn/season_table.h"

#include <algorithm>

namespace floodwall {
namespace {

/// A slot is not updated after an hour with less traffic than this, seconds.
constexpr float kSlotSecondsMin = 600;
/// Time in which the normal moves from the last hour's to the new one's, seconds, so that a limit does not jump.
constexpr double kBlendSeconds = 600;
constexpr double kWeekWeight = 0.5;

constexpr double kOctaveMin = -6;
constexpr double kStep = 36.0 / 253;

const std::array<double, 256> kRates = [] {
  std::array<double, 256> rates{};
  for (std::size_t code = 2; code < rates.size(); code++) {
    rates[code] = std::exp2(kOctaveMin + static_cast<double>(code - 2) * kStep);
  }
  return rates;
}();

}  // namespace

std::uint8_t codeOfRate(double rate) noexcept {
  if (!(rate > 0)) return 1;
  // Halves go up, below zero too.
  const double step = std::floor((std::log2(rate) - kOctaveMin) / kStep + 0.5);
  return static_cast<std::uint8_t>(std::clamp(2 + step, 1.0, 255.0));
}

double rateOfCode(std::uint8_t code) noexcept { return kRates[code]; }

SeasonTable::SeasonTable(std::uint32_t rows, std::uint32_t directions, std::uint32_t hosts, std::uint32_t groups)
    : directions_(directions),
      hosts_(hosts),
      capacity_(hosts + groups),
      placeOf_(rows, Pages::small),
      rowOf_(capacity_, Pages::small),
      codes_(std::size_t{capacity_} * directions * kCodes, Pages::small),
      hours_(std::size_t{capacity_} * directions, Pages::small) {
  free_.reserve(capacity_);
}

std::vector<std::uint32_t> SeasonTable::rows() const {
  std::vector<std::uint32_t> rows;
  rows.reserve(count());
  for (std::uint32_t place = 0; place < used_; place++) {
    if (find(rowOf_[place]) == place) rows.push_back(rowOf_[place]);
  }
  return rows;
}

std::uint32_t SeasonTable::add(std::uint32_t row) {
  std::uint32_t place = used_;
  if (free_.empty()) {
    used_++;
  } else {
    place = free_.back();
    free_.pop_back();
  }
  placeOf_[row] = place + 1;
  rowOf_[place] = row;
  for (std::uint32_t side = 0; side < directions_; side++) {
    std::ranges::fill(codes(place, side), std::uint8_t{0});
    hour(place, side) = {};
  }
  return place;
}

void SeasonTable::release(std::uint32_t row) {
  const std::uint32_t place = find(row);
  if (place == kNone) return;
  placeOf_[row] = 0;
  free_.push_back(place);
}

double SeasonTable::normal(std::uint32_t place, std::uint32_t side, std::size_t metric, const HourMoment& moment,
                           double recent) const noexcept {
  const double now = ofHour(place, side, metric, moment.hour, recent);
  if (moment.intoSeconds >= kBlendSeconds) return now;
  const Hour& state = hour(place, side);
  const bool isCurrentHour = state.last == 1 + moment.hour;
  const double from = isCurrentHour ? double{state.from[metric]} : ofHour(place, side, metric, moment.hour - 1, recent);
  return from + (now - from) * (moment.intoSeconds / kBlendSeconds);
}

void SeasonTable::startHour(std::uint32_t place, std::uint32_t side, const HourMoment& moment,
                            const float* recents) noexcept {
  Hour& state = hour(place, side);
  const std::int64_t last = std::int64_t{state.last} - 1;
  if (last == moment.hour) return;
  for (std::size_t i = 0; i < kBaseTrio; i++) {
    state.from[i] = static_cast<float>(ofHour(place, side, i, moment.hour - 1, double{recents[i]}));
  }
  if (state.seconds >= kSlotSecondsMin) keep(place, side, last);
  state.last = static_cast<std::uint32_t>(1 + moment.hour);
  state.seconds = 0;
  state.mean = {};
}

void SeasonTable::learn(std::uint32_t place, std::uint32_t side, const BaseTrio& rates, double seconds) noexcept {
  Hour& state = hour(place, side);
  const double activeSeconds = double{state.seconds} + seconds;
  state.seconds = static_cast<float>(activeSeconds);
  for (std::size_t i = 0; i < kBaseTrio; i++) {
    const double mean = double{state.mean[i]};
    state.mean[i] = static_cast<float>(mean + (rates[i] - mean) * (seconds / activeSeconds));
  }
}

void SeasonTable::keep(std::uint32_t place, std::uint32_t side, std::int64_t hourKept) noexcept {
  const auto kept = codes(place, side);
  const std::size_t first = codeAt(hourKept);
  const Hour& state = hour(place, side);
  for (std::size_t i = 0; i < kBaseTrio; i++) {
    const std::uint8_t known = kept[first + i];
    const double hourMean = double{state.mean[i]};
    const double before = rateOfCode(known);
    kept[first + i] = codeOfRate(known == 0 ? hourMean : before + kWeekWeight * (hourMean - before));
  }
}

}  // namespace floodwall
