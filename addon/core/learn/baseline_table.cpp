#include "learn/baseline_table.h"

#include <limits>
#include <stdexcept>

namespace floodwall {
namespace {

/// Candidates checked for replacement.
constexpr std::uint32_t kCandidates = 16;

}  // namespace

BaselineTable::BaselineTable(std::uint32_t capacity, std::uint32_t directions)
    : capacity_(capacity),
      directions_(directions),
      stride_(sizeof(Head) + directions * sizeof(Side)),
      index_(capacity),
      rows_(std::size_t{capacity} * stride_, Pages::hugeFromSecond) {}

std::uint32_t BaselineTable::findOrAdd(const Address& key, std::uint64_t hash, std::uint32_t nowSeconds) {
  const std::uint32_t found = find(key, hash);
  if (found != kNone) return found;
  std::uint32_t row = count_;
  if (row < capacity_) {
    count_++;
  } else {
    row = leastLearnedIdle(nowSeconds);
    if (row == kNone) {
      refused_++;
      return kNone;
    }
    index_.erase(hash_.of(head(row).key), row, hashOfRow());
    if (seasons_) seasons_->release(row);
  }
  head(row) = {key, nowSeconds};
  for (std::uint32_t direction = 0; direction < directions_; direction++) side(row, direction) = {};
  index_.insert(hash, row, hashOfRow());
  return row;
}

/// kNone: all candidates had traffic recently.
std::uint32_t BaselineTable::leastLearnedIdle(std::uint32_t nowSeconds) noexcept {
  std::uint32_t least = kNone;
  float leastLearned = std::numeric_limits<float>::infinity();
  for (std::uint32_t i = 0; i < std::min(kCandidates, capacity_); i++) {
    const std::uint32_t row = hand_;
    hand_ = (hand_ + 1) % capacity_;
    // A clock that was set back makes no row idle.
    if (std::int64_t{nowSeconds} - std::int64_t{lastTraffic(row)} < std::int64_t{kIdleSeconds}) continue;
    const float learned = side(row, 0).learned;
    if (learned >= leastLearned) continue;
    least = row;
    leastLearned = learned;
  }
  return least;
}

}  // namespace floodwall
