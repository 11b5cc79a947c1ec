#include "count/window_sums.h"

namespace floodwall {

WindowSums::WindowSums(const Limits& limits, const BucketClock& clock)
    : journal_(clock.buckets(), limits.journalBytes),
      clock_(clock),
      sums_{SumTable(limits.hosts), SumTable(limits.countOutgoing ? limits.hosts : 0)},
      carriedAt_{LazyArray<std::uint32_t>(limits.hosts),
                 LazyArray<std::uint32_t>(limits.countOutgoing ? limits.hosts : 0)} {}

void WindowSums::add(std::uint32_t host, Direction direction, const Totals& delta) {
  sums_[static_cast<std::size_t>(direction)].add(host, delta);
  if (!clock_.isFine()) {
    carry(host, direction, delta);
  } else if (!journal_.append(clock_.slot(), {host, direction, delta})) {
    carriedCount_++;
    carry(host, direction, delta);
  }
}

void WindowSums::carry(std::uint32_t host, Direction direction, const Totals& delta) {
  std::uint32_t& at = carriedAt_[static_cast<std::size_t>(direction)][host];
  if (at != 0) {
    carriedEntries_[at - 1].totals.add(delta);
    return;
  }
  carriedEntries_.push_back({host, direction, delta});
  at = static_cast<std::uint32_t>(carriedEntries_.size());
}

void WindowSums::dropClosed() {
  carriedEntries_.erase(carriedEntries_.begin(), carriedEntries_.begin() + static_cast<std::ptrdiff_t>(closed_));
  for (std::size_t i = 0; closed_ != 0 && i < carriedEntries_.size(); i++) {
    const JournalEntry& entry = carriedEntries_[i];
    carriedAt_[static_cast<std::size_t>(entry.direction)][entry.host] = static_cast<std::uint32_t>(i + 1);
  }
  closed_ = 0;
}

bool WindowSums::isEmpty(std::uint32_t host) const noexcept {
  for (std::size_t d = 0; d < sums_.size(); d++) {
    if (sums_[d].size() == 0) continue;
    if (!sums_[d].isZero(host) || (!carriedEntries_.empty() && carriedAt_[d][host] != 0)) return false;
  }
  return true;
}

std::size_t WindowSums::residentBytes() const {
  std::size_t bytes = journal_.residentBytes() + carriedEntries_.capacity() * sizeof(JournalEntry);
  for (std::size_t d = 0; d < sums_.size(); d++) bytes += sums_[d].residentBytes() + carriedAt_[d].residentBytes();
  return bytes;
}

}  // namespace floodwall
