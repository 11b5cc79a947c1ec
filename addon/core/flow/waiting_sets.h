// Data that came before its template: kept for a moment, since an exporter that starts may send them in either order,
// and given up if the template does not come.
#pragma once

#include <cstdint>
#include <vector>

#include "flow/big_endian.h"
#include "flow/flow_domain.h"
#include "flow/undecoded.h"

namespace floodwall {

/// The clocks of one message.
struct MessageTimes {
  /// The exporter's wall clock, ms since 1970.
  std::uint64_t exportMs = 0;
  /// The exporter's uptime, to which its times of flows may refer.
  std::uint32_t uptimeMs = 0;
  bool hasUptime = false;
  /// How long it waited here for its template.
  std::uint32_t waitedMs = 0;
};

class WaitingSets {
 public:
  struct Set {
    DomainKey domain;
    std::uint16_t id = 0;
    MessageTimes times;
    std::uint64_t sinceMs = 0;
    /// kBytesBeforeRecords, then the records.
    std::vector<std::uint8_t> bytes;

    [[nodiscard]] ByteSpan records() const noexcept { return ByteSpan(bytes).subspan(kBytesBeforeRecords); }
  };

  [[nodiscard]] bool isEmpty() const noexcept { return sets_.empty(); }
  /// False if there is no room.
  bool keep(const FlowDomain& domain, std::uint16_t id, const MessageTimes& times, ByteSpan records,
            std::uint64_t nowMs);
  /// Those of this template, in the order in which they came.
  [[nodiscard]] std::vector<Set> take(const FlowDomain& domain, std::uint16_t id);
  /// Gives up what has waited too long.
  void expire(std::uint64_t nowMs, Undecoded& undecoded);
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t count() const noexcept { return sets_.size(); }

 private:
  std::vector<Set> sets_;
  std::size_t bytes_ = 0;
};

}  // namespace floodwall
