// The sums of every host over the sliding window, by direction. Knows hosts by number only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/lazy_array.h"
#include "count/bucket_clock.h"
#include "count/journal.h"
#include "count/sum_table.h"
#include "count/totals.h"

namespace floodwall {

class WindowSums {
 public:
  struct Limits {
    std::uint32_t hosts;
    bool countOutgoing;
    std::size_t journalBytes;
  };
  WindowSums(const Limits& limits, const BucketClock& clock);

  void prefetch(std::uint32_t host) const noexcept { sums_[0].prefetch(host); }
  [[nodiscard]] Totals of(std::uint32_t host, Direction direction) const noexcept {
    return sums_[static_cast<std::size_t>(direction)].of(host);
  }
  /// The numbers of hosts are below this.
  [[nodiscard]] std::size_t hosts() const noexcept { return sums_[0].size(); }
  [[nodiscard]] bool counts(Direction direction) const noexcept {
    return sums_[static_cast<std::size_t>(direction)].size() != 0;
  }
  /// Adds to the bucket in which the clock stands. The sums are right at once in any case; what finds no room in the
  /// journal is carried, and leaves the window with a later bucket.
  void add(std::uint32_t host, Direction direction, const Totals& delta);

  /// Takes what has left the window at bucket `next` out of the sums, a little at a time, and gives it to `left`, a
  /// journal's entries at once; then closes the present bucket. Returns whether there is more to do before the clock
  /// may advance.
  template <typename Left>
  bool leave(std::uint64_t next, Left&& left) {
    if (next == clock_.number()) return false;
    return expireSome(next, left) || closeSome(next, left);
  }

  /// Calls `leaving(entry)` for all that leaves the window when the clock advances to its next bucket.
  template <typename Leaving>
  void forLeaving(Leaving&& leaving) const {
    forEntries(static_cast<std::uint32_t>((clock_.number() + 1) % clock_.buckets()), leaving);
  }

  /// Calls `found(entry)` for all that was added in the bucket of this slot, which the window still has.
  template <typename Found>
  void forBucket(std::uint32_t slot, Found&& found) const {
    forEntries(slot, found);
    if (slot != clock_.slot()) return;
    for (std::size_t i = closed_; i < carriedEntries_.size(); i++) found(carriedEntries_[i]);
  }

  /// Whether nothing of the host is left, so that its number may be given to another.
  [[nodiscard]] bool isEmpty(std::uint32_t host) const noexcept;

  /// Times that something found no room in the journal.
  [[nodiscard]] std::uint64_t carried() const noexcept { return carriedCount_; }
  [[nodiscard]] std::size_t residentBytes() const;

 private:
  void carry(std::uint32_t host, Direction direction, const Totals& delta);

  template <typename Found>
  void forEntries(std::uint32_t slot, Found&& found) const {
    std::vector<JournalEntry> entries;
    Journal::Place place = journal_.begin(slot);
    while (journal_.read(place, entries) != 0) {
      for (const JournalEntry& entry : entries) found(entry);
    }
  }

  template <typename Left>
  void subtract(const std::vector<JournalEntry>& entries, Left&& left) {
    for (const JournalEntry& entry : entries) prefetch(entry.host);
    left(entries);
    for (const JournalEntry& entry : entries) {
      sums_[static_cast<std::size_t>(entry.direction)].subtract(entry.host, entry.totals);
    }
  }

  template <typename Left>
  bool expireSome(std::uint64_t next, Left&& left) {
    const std::uint64_t buckets = clock_.buckets();
    // Older counts than that left when the clock came to its present bucket.
    if (clock_.number() >= buckets) expired_ = std::max(expired_, clock_.number() - buckets + 1);
    for (; expired_ + buckets <= next && expired_ <= clock_.number(); expired_++) {
      if (journal_.take(static_cast<std::uint32_t>(expired_ % buckets), taken_) == 0) continue;
      subtract(taken_, left);
      return true;
    }
    return false;
  }

  template <typename Left>
  bool closeSome(std::uint64_t next, Left&& left) {
    // After a gap longer than the window, what is carried has left it too.
    const bool isGone = clock_.number() + clock_.buckets() <= next;
    const std::uint32_t bucket = clock_.slot();
    taken_.clear();
    bool isFull = false;
    while (!isFull && closed_ < carriedEntries_.size() && taken_.size() < Journal::kTaken) {
      const JournalEntry entry = carriedEntries_[closed_];
      if (isGone) {
        taken_.push_back(entry);
      } else {
        isFull = !journal_.append(bucket, entry);
      }
      if (!isFull) {
        carriedAt_[static_cast<std::size_t>(entry.direction)][entry.host] = 0;
        closed_++;
      }
    }
    subtract(taken_, left);
    if (!isFull && closed_ < carriedEntries_.size()) return true;
    carriedCount_ += carriedEntries_.size() - closed_;
    dropClosed();
    return false;
  }
  void dropClosed();

  Journal journal_;
  const BucketClock& clock_;
  std::array<SumTable, 2> sums_;
  /// Counts of the bucket in which the clock stands where a bucket has several ticks, and what the journal had no room
  /// for; with the place of each host in it, plus 1.
  std::vector<JournalEntry> carriedEntries_;
  std::array<LazyArray<std::uint32_t>, 2> carriedAt_;
  std::size_t closed_ = 0;
  std::uint64_t carriedCount_ = 0;
  /// The first bucket that is not yet taken out.
  std::uint64_t expired_ = 0;
  std::vector<JournalEntry> taken_;
};

}  // namespace floodwall
