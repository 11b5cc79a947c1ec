#include "flow/sequence_tracker.h"

#include <algorithm>
#include <utility>

namespace floodwall {

Arrival SequenceTracker::arrive(std::uint32_t number, std::uint64_t nowMs, bool hasRestarted) noexcept {
  current_ = number;
  skipped_ = 0;
  isLate_ = false;
  filled_ = kNone;
  if (!std::exchange(isKnown_, true)) return Arrival::inOrder;
  if (number == next_ && !hasRestarted) return Arrival::inOrder;
  const std::uint32_t ahead = number - next_, behind = next_ - number;
  if (hasRestarted) return Arrival::restart;
  if (ahead <= kGapMax) {
    skipped_ = ahead;
    open(next_, ahead, nowMs);
    return Arrival::inOrder;
  }
  filled_ = gapOf(number);
  if (filled_ == kNone && (behind > kLateMax || (number < kNearZero && behind > kNearZero))) return Arrival::restart;
  isLate_ = true;
  return filled_ == kNone ? Arrival::inOrder : Arrival::late;
}

void SequenceTracker::advance(std::uint32_t units) noexcept {
  if (!isLate_) {
    next_ = current_ + units;
    return;
  }
  if (filled_ == kNone) return;
  // The datagram that arrived is most often the start or the end of the gap; the middle leaves one gap with fewer.
  Gap& gap = gaps_[filled_];
  const std::uint32_t came = std::min(units, gap.left);
  if (current_ == gap.first) {
    gap.first += came;
    gap.length -= came;
  }
  gap.left -= came;
}

std::uint32_t SequenceTracker::takeLost(std::uint64_t nowMs) noexcept {
  if (hasGaps_) {
    hasGaps_ = false;
    for (Gap& gap : gaps_) {
      if (gap.left == 0) continue;
      if (static_cast<std::uint32_t>(nowMs) - gap.sinceMs <= kReorderMs) {
        hasGaps_ = true;
      } else {
        lost_ += std::exchange(gap.left, 0);
      }
    }
  }
  return std::exchange(lost_, 0);
}

void SequenceTracker::forgetGaps() noexcept {
  gaps_ = {};
  lost_ = 0;
  hasGaps_ = false;
}

void SequenceTracker::open(std::uint32_t first, std::uint32_t length, std::uint64_t nowMs) noexcept {
  const auto since = static_cast<std::uint32_t>(nowMs);
  // The place of one that is closed, else of the oldest.
  Gap* place = gaps_.data();
  for (Gap& gap : gaps_) {
    if (gap.left == 0) {
      place = &gap;
      break;
    }
    if (since - gap.sinceMs > since - place->sinceMs) place = &gap;
  }
  lost_ += place->left;
  *place = {first, length, length, since};
  hasGaps_ = true;
}

std::uint8_t SequenceTracker::gapOf(std::uint32_t number) const noexcept {
  for (std::size_t i = 0; i < gaps_.size(); i++) {
    if (gaps_[i].left != 0 && number - gaps_[i].first < gaps_[i].length) return static_cast<std::uint8_t>(i);
  }
  return kNone;
}

}  // namespace floodwall
