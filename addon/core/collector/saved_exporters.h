// The state of a source's exporters before a restart of this service, until their next datagram.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/address.h"
#include "collector/exporter_numbers.h"
#include "flow/big_endian.h"

namespace floodwall {

struct SavedExporter {
  Address address;
  std::uint16_t number = 0;
  /// Wall time.
  std::uint64_t lastDatagramMs = 0;
  /// See FlowExporter::saveInto.
  std::vector<std::uint8_t> bytes;
};

/// For all exporters of a source; the most recent datagrams come first, and the rest beyond is left out.
inline constexpr std::size_t kSavedBytesMax = 32U << 20;
/// The state of an exporter is forgotten after a silence of this time: it may be another one, or have restarted.
inline constexpr std::uint64_t kSavedMs = 3'600'000;

[[nodiscard]] std::vector<std::uint8_t> packed(std::vector<SavedExporter> exporters);

/// Any thread.
class SavedExporters {
 public:
  explicit SavedExporters(ExporterNumbers& numbers) : numbers_(numbers) {}

  /// Takes what packed() made, as far as it is whole, and reserves the numbers. Times of the monotonic clock and the
  /// wall.
  void load(ByteSpan bytes, std::uint64_t nowMs, std::uint64_t wallMs);
  /// Once.
  [[nodiscard]] std::optional<SavedExporter> take(const Address& address, std::uint64_t nowMs);
  /// Adds those that no exporter has taken.
  void addTo(std::vector<SavedExporter>& exporters, std::uint64_t nowMs) const;

 private:
  struct Waiting {
    SavedExporter exporter;
    /// Monotonic.
    std::uint64_t untilMs = 0;
  };

  ExporterNumbers& numbers_;
  mutable std::mutex mutex_;
  std::map<std::array<std::uint8_t, 16>, Waiting> waiting_;
};

}  // namespace floodwall
