// Bounds of a record's values. A record beyond them comes from a mistake of the exporter, and does not count.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "collector/flow_limits.h"
#include "count/flow_record.h"

namespace floodwall {

/// Bytes of a frame without check sum: an IPv4 header alone (RFC 791, 3.1); the longest IPv6 packet (RFC 8200, 3) with
/// the tags and labels that may stand before it.
inline constexpr std::uint64_t kFrameLeast = 14 + 20, kFrameMost = 65'575 + 14 + 64;
/// The fastest interface that there is carries 1.6 Tbit/s (IEEE P802.3dj).
inline constexpr double kFastestBytesPerMs = 2e8;
/// Clocks of exporters are not exact, and the packets of a sample stand for others of a longer time.
inline constexpr std::uint32_t kLeastRecordMs = 1000;
/// A record that says no time may be of this long: the usual active timeout.
inline constexpr std::uint32_t kUnsaidRecordMs = 60'000;

/// Factor by which clocks of exporters, and tags and tunnels that they add, can raise a rate at most.
inline constexpr double kSpeedMargin = 2;

/// Whether an interface cannot carry so much in the time, but by an error of sampling: where m samples are to be
/// expected at the most, there are more than m + 8 sqrt(m) + 64 with a probability below exp(-32) (Bernstein's
/// inequality).
[[nodiscard]] inline bool isBeyondSpeed(const FlowRecord& record, std::uint32_t mbps, std::uint32_t ms) noexcept {
  constexpr double kBytesPerMs = 125;
  const double most = kSpeedMargin * kBytesPerMs * mbps * ms;
  const auto packets = static_cast<double>(record.packets);
  const double eachStandsFor = static_cast<double>(record.bytes) / packets * record.samplingRate;
  const double samples = most / eachStandsFor;
  return packets > samples + 8 * std::sqrt(samples) + 64;
}

/// Why the record, whose rate is set, cannot be. `fastestMbps`: of the fastest interface that it may be of; 0: any.
[[nodiscard]] inline std::optional<LeftOut> impossibilityOf(const FlowRecord& record,
                                                            std::uint32_t fastestMbps = 0) noexcept {
  if (record.hasImpossibleCount) return LeftOut::impossibleCount;
  // Counters have at most 52 bits here.
  if (record.bytes < record.packets * kFrameLeast) return LeftOut::impossibleLength;
  if ((record.bytes + kFrameMost - 1) / kFrameMost > record.packets) return LeftOut::impossibleLength;
  const double bytes = static_cast<double>(record.bytes) * record.samplingRate;
  const std::uint32_t ms = record.durationMs == 0 ? kUnsaidRecordMs : std::max(record.durationMs, kLeastRecordMs);
  if (bytes > kFastestBytesPerMs * ms) return LeftOut::impossibleSpeed;
  if (fastestMbps != 0 && isBeyondSpeed(record, fastestMbps, ms)) return LeftOut::impossibleSpeed;
  return std::nullopt;
}

}  // namespace floodwall
