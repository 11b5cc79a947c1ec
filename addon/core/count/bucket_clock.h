// Which bucket of the sliding window a fold belongs to, and how long the window is that the sums cover.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace floodwall {

/// A bucket is one tick, or several when the window has more than kBucketsMax ticks; then the window is rounded down to
/// whole buckets, and covers between one bucket less and the whole. Buckets are numbered by time, not by folds, so that
/// late and missing folds do not stretch the window.
class BucketClock {
 public:
  static constexpr std::uint32_t kBucketsMax = 20;

  BucketClock(std::uint32_t windowMs, std::uint32_t tickMs) : tickNs_(std::uint64_t{tickMs} * 1'000'000) {
    const std::uint32_t ticks = windowMs / tickMs;
    const std::uint32_t ticksPerBucket = ticks <= kBucketsMax ? 1 : (ticks + kBucketsMax - 1) / kBucketsMax;
    buckets_ = ticks / ticksPerBucket;
    bucketNs_ = tickNs_ * ticksPerBucket;
    isFine_ = ticksPerBucket == 1;
    beganNs_.assign(buckets_, kNever);
    seconds_ = static_cast<double>(bucketNs_ * buckets_) * 1e-9;
  }

  [[nodiscard]] std::uint32_t buckets() const noexcept { return buckets_; }
  /// Whether every tick has a bucket of its own.
  [[nodiscard]] bool isFine() const noexcept { return isFine_; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] std::uint32_t slot() const noexcept { return static_cast<std::uint32_t>(number_ % buckets_); }

  /// The number of the bucket to which a fold at this time belongs; half a tick of jitter does not matter.
  [[nodiscard]] std::uint64_t numberAt(std::uint64_t nowNs) const noexcept {
    return !isStarted_ || nowNs < startNs_ ? number_ : std::max(number_, (nowNs - startNs_ + tickNs_ / 2) / bucketNs_);
  }

  /// Goes on to this fold. Call after what left the window by numberAt() has been taken out.
  void advance(std::uint64_t nowNs) noexcept {
    const std::uint64_t next = numberAt(nowNs);
    if (!isStarted_) {
      // The amounts of the first fold were counted in one tick at most, as far as is known.
      startNs_ = nowNs;
      lastFoldNs_ = nowNs - std::min(nowNs, tickNs_);
      isStarted_ = true;
    }
    for (std::uint64_t left = std::max(number_ + 1, next < buckets_ ? 0 : next - buckets_ + 1); left <= next; left++) {
      beganNs_[left % buckets_] = kNever;
    }
    number_ = next;
    // The amounts of this fold were counted since the last one.
    if (beganNs_[slot()] == kNever) beganNs_[slot()] = lastFoldNs_;
    lastFoldNs_ = nowNs;
    const std::uint64_t covered = nowNs - *std::min_element(beganNs_.begin(), beganNs_.end());
    seconds_ = static_cast<double>(std::max(bucketNs_ * buckets_, covered)) * 1e-9;
  }

  /// The time by which sums are divided: the window, or more where late folds made the buckets in it cover more.
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

  /// Since when the slot's counts were made; kNever where no fold belonged to its bucket.
  [[nodiscard]] std::uint64_t beganNs(std::uint32_t slot) const noexcept { return beganNs_[slot]; }
  [[nodiscard]] std::uint64_t lastFoldNs() const noexcept { return lastFoldNs_; }
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

 private:
  std::uint64_t tickNs_;
  std::uint64_t bucketNs_;
  std::uint32_t buckets_;
  bool isFine_;
  bool isStarted_ = false;
  std::uint64_t startNs_ = 0;
  std::uint64_t lastFoldNs_ = 0;
  std::uint64_t number_ = 0;
  double seconds_;
  /// By slot: since when the bucket's counts were made.
  std::vector<std::uint64_t> beganNs_;
};

}  // namespace floodwall
