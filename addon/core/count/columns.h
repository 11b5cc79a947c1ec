// Rows of hosts and counts in columns, owned by who reads them. HostRows, IntervalRows and CountRows in native.d.ts
// have their shapes.
#pragma once

#include <cstdint>
#include <span>

namespace floodwall {

/// groups.size() rows fit.
struct HostColumns {
  std::span<std::uint8_t> addresses;
  std::span<std::uint32_t> groups;
  std::span<std::uint32_t> networks;
  std::span<double> idleMs;
  std::span<double> incoming;
  std::span<double> outgoing;
  /// kWeights a row: incoming packets and bytes, outgoing packets and bytes; see Weights. Without sampling zeros.
  std::span<double> weights;
};

/// groups.size() rows fit.
struct IntervalColumns {
  std::span<std::uint8_t> addresses;
  std::span<std::uint32_t> groups;
  /// kIntervalValues a row.
  std::span<double> incoming;
  std::span<double> outgoing;
};

/// agesMs.size() rows fit.
struct CountColumns {
  std::span<std::uint8_t> addresses;
  std::span<double> agesMs;
  std::span<double> spansMs;
  std::span<std::uint8_t> isBefore;
  std::span<double> incoming;
  std::span<double> outgoing;
  /// As in HostColumns.
  std::span<double> weights;
};

}  // namespace floodwall
