// How exact the sums in the window are, by host: what sampling adds to the variance of an estimate, beside the estimate
// itself. Takes memory for hosts with sampled traffic alone.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/lazy_array.h"
#include "count/counters.h"
#include "count/weighed.h"

namespace floodwall {

/// Variances and estimates in the present window and in the one before, as windows follow one another without
/// overlapping. The one before fades as the present one grows, so that the quotient is about that of the sliding
/// window: it follows a change of the mix within one window, and nothing is left after two. Since variances and
/// estimates fade together, a few samples that are old keep their full weight.
class SamplingError {
 public:
  /// The number of the present window, and how much of the one before is not yet replaced, 1 to 0.
  struct Time {
    std::uint32_t window;
    float left;
  };
  [[nodiscard]] static Time timeOf(std::uint64_t nowNs, std::uint64_t windowNs) noexcept {
    // From 2 on, so that rows of zeros are out of date.
    return {static_cast<std::uint32_t>(nowNs / windowNs) + 2,
            static_cast<float>(1 - static_cast<double>(nowNs % windowNs) / static_cast<double>(windowNs))};
  }

  /// Whether anything sampled is left of it.
  [[nodiscard]] bool isLive(const Time& time) const noexcept { return time.window - window_ < 2; }

  void add(const Totals& totals, const Variance& variance, const Time& time) noexcept {
    advance(time.window);
    const std::array<double, 4> added = {variance.packets, variance.bytes, static_cast<double>(totals.packets()),
                                         static_cast<double>(totals.bytes())};
    for (std::size_t i = 0; i < now_.size(); i++) {
      now_[i] = std::min(now_[i] + static_cast<float>(std::min(added[i], kMost)), static_cast<float>(kMost));
    }
  }
  /// Adds all that another one has.
  void merge(const SamplingError& other, const Time& time) noexcept {
    if (!other.isLive(time)) return;
    SamplingError same = other;
    same.advance(time.window);
    advance(time.window);
    for (std::size_t i = 0; i < now_.size(); i++) {
      now_[i] += same.now_[i];
      before_[i] += same.before_[i];
    }
  }

  [[nodiscard]] Weights weights(const Time& time) const noexcept { return weightsWith({}, {}, time); }
  /// As if this had been added.
  [[nodiscard]] Weights weightsWith(const Totals& totals, const Variance& variance, const Time& time) const noexcept {
    SamplingError with = *this;
    with.add(totals, variance, time);
    const auto sum = [&](std::size_t i) {
      return static_cast<double>(with.now_[i]) + static_cast<double>(with.before_[i]) * static_cast<double>(time.left);
    };
    return weightsOf({sum(0), sum(1)}, sum(2), sum(3));
  }

 private:
  /// Additions of records without sense stay finite.
  static constexpr double kMost = 1e36;

  void advance(std::uint32_t window) noexcept {
    if (window_ == window) return;
    before_ = window - window_ == 1 ? now_ : decltype(now_){};
    now_ = {};
    window_ = window;
  }

  std::uint32_t window_ = 0;
  /// Variance of packets, of bytes; estimated packets, bytes.
  std::array<float, 4> now_{}, before_{};
};
static_assert(sizeof(SamplingError) == 36);

class SamplingErrors {
 public:
  SamplingErrors(std::size_t hosts, bool countOutgoing)
      : errors_{LazyArray<SamplingError>(hosts), LazyArray<SamplingError>(countOutgoing ? hosts : 0)} {}

  void prefetch(std::uint32_t host) const noexcept { __builtin_prefetch(&errors_[0][host], 1); }

  /// Exact counts are part of the mix while anything sampled is in it.
  void add(std::uint32_t host, Direction direction, const Weighed& delta, const SamplingError::Time& time) noexcept {
    SamplingError& error = errors_[static_cast<std::size_t>(direction)][host];
    if (!delta.variance.isZero() || error.isLive(time)) error.add(delta.totals, delta.variance, time);
  }
  /// Zero for a direction that is not counted.
  [[nodiscard]] SamplingError of(std::uint32_t host, Direction direction) const noexcept {
    const auto& errors = errors_[static_cast<std::size_t>(direction)];
    return errors.size() == 0 ? SamplingError{} : errors[host];
  }
  void clear(std::uint32_t host) noexcept {
    for (const auto& errors : errors_) {
      if (errors.size() != 0) errors[host] = {};
    }
  }
  [[nodiscard]] std::size_t residentBytes() const { return errors_[0].residentBytes() + errors_[1].residentBytes(); }

 private:
  std::array<LazyArray<SamplingError>, 2> errors_;
};

}  // namespace floodwall
