// Counts that are estimates: what was counted stands for more packets than were seen. Beside each estimate goes its
// variance, from which follows by how much it may be wrong.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "count/totals.h"

namespace floodwall {

/// The variances of estimates from sampled packets. A packet of which one in w was sampled is estimated as w packets
/// and adds w(w-1) to the variance of the packets, and w(w-1)b^2 to that of the bytes if it has b (the estimator of
/// Horvitz and Thompson, 1952, for independent samples: a packet is chosen with the probability 1/w). What was counted
/// without sampling adds nothing.
struct Variance {
  double packets = 0;
  double bytes = 0;

  void add(const Variance& other) noexcept {
    packets += other.packets;
    bytes += other.bytes;
  }
  [[nodiscard]] bool isZero() const noexcept { return packets == 0 && bytes == 0; }
};

/// The variance of `packets` sampled packets that have `bytes` together, taken as equally long.
[[nodiscard]] inline Variance varianceOf(std::uint64_t packets, std::uint64_t bytes, std::uint32_t rate) noexcept {
  if (rate <= 1 || packets == 0) return {};
  const double each = static_cast<double>(rate) * (static_cast<double>(rate) - 1);
  const auto count = static_cast<double>(packets);
  // No frame is longer; records may say otherwise.
  const double length = std::min(static_cast<double>(bytes) / count, 65'550.0);
  return {each * count, each * count * length * length};
}

/// The amount that a record or a sampled packet adds to a host.
struct Amount {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  std::uint64_t newFlows = 0;
  Variance variance;
};

/// The counters that packets are counted by.
struct Kind {
  Class transport = Class::other;
  bool isSyn = false;
  bool isFragment = false;

  friend bool operator==(const Kind&, const Kind&) = default;
};

/// Counts with their variances.
struct Weighed {
  Totals totals;
  Variance variance;
};

/// For one direction: the variance of an estimate divided by the estimate, for packets and for bytes; 0: exact. Where
/// one packet in w is sampled these are w-1, and (w-1) times the mean of the squared lengths divided by the mean
/// length.
using Weights = std::array<double, 2>;

/// Weights of a row: incoming, then outgoing.
inline constexpr std::size_t kWeights = 4;
using RowWeights = std::array<double, kWeights>;

[[nodiscard]] inline RowWeights rowWeights(const Weights& incoming, const Weights& outgoing) noexcept {
  return {incoming[0], incoming[1], outgoing[0], outgoing[1]};
}

[[nodiscard]] inline Weights weightsOf(const Variance& variance, double packets, double bytes) noexcept {
  return {packets > 0 ? variance.packets / packets : 0, bytes > 0 ? variance.bytes / bytes : 0};
}
[[nodiscard]] inline Weights weightsOf(const Variance& variance, const Totals& totals) noexcept {
  return weightsOf(variance, static_cast<double>(totals.packets()), static_cast<double>(totals.bytes()));
}

}  // namespace floodwall
