// What must hold for every record that a decoder makes, whatever the datagram.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>

#include "flow/flow_bounds.h"
#include "flow/flow_exporter.h"

namespace floodwall::fuzz {

inline void check(bool holds) {
  if (!holds) std::abort();
}

class CheckedRecords final : public RecordSink {
 public:
  void take(std::span<FlowRecord> records) override {
    check(!records.empty() && records.size() <= kBatch);
    for (const FlowRecord& record : records) {
      const Packet& packet = record.packet;
      check(record.packets > 0 && record.bytes > 0);
      check(packet.wire > 0 && packet.transport <= Class::other);
      check(!packet.isSyn || packet.transport == Class::tcp);
      check(!packet.isLaterFragment || (packet.isFragment && packet.sourcePort == 0 && packet.destinationPort == 0));
      check(record.countsIncoming && record.countsOutgoing);
      // Reads all of it.
      std::uint8_t all = 0;
      for (std::uint32_t i = 0; i < record.headerBytes; i++) all |= record.header[i];
      seen = seen + all;
      taken++;
    }
  }

  std::uint64_t taken = 0;
  volatile std::uint32_t seen = 0;
};

/// After any number of datagrams.
inline void checkStatus(const FlowExporter& exporter, std::uint64_t records) {
  FlowExporterStatus status;
  exporter.statusInto(status);
  check(status.counts.records == records);
  check(status.waitingBytes <= kWaitingBytesMax && status.templates <= kTemplatesMax);
  check(status.undecoded.size() <= kUndecodedReasonsMax);
  for (const UndecodedReason& reason : status.undecoded) check(!Undecoded::textOf(reason).empty());
}

}  // namespace floodwall::fuzz
