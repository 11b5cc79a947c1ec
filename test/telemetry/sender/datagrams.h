// The datagrams that exporters send: made once, then sent again and again with the numbers of the exporter and of the
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "big_endian.h"
#include "sender_options.h"

namespace floodwall::telemetry {

/// What one record says.
struct Content {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint16_t sourcePort = 0;
  std::uint16_t destinationPort = 0;
  std::uint32_t packets = 0;
  /// Of a whole packet of layer 3.
  std::uint32_t packetBytes = 0;
};

struct ExporterState {
  std::uint32_t address = 0;
  std::uint32_t startedMs = 0;
  std::uint32_t datagrams = 0;
  std::uint32_t records = 0;
  /// Options records are data records too, in IPFIX.
  std::uint32_t optionRecords = 0;
};

struct Now {
  std::uint64_t wallMs = 0;
  /// Since the exporters started.
  std::uint32_t uptimeMs = 0;
};

/// One protocol: bodies are made once; `stamp` makes a datagram of one for an exporter.
class Datagrams {
 public:
  virtual ~Datagrams() = default;
  /// Of these records.
  virtual Bytes make(std::span<const Content> records) const = 0;
  /// Writes the numbers of this exporter and time into a copy of it, and counts it.
  virtual void stamp(std::span<std::uint8_t> datagram, ExporterState& exporter, const Now& now) const = 0;
  /// Templates and what else an exporter reports about itself; whole datagrams.
  virtual std::vector<Bytes> announcements(ExporterState& exporter, const Now& now) const = 0;
  /// What is counted of a packet, in bytes.
  virtual std::uint64_t countedBytes(const Content& content) const = 0;
};

std::unique_ptr<Datagrams> netFlow5(const SenderOptions& options);
std::unique_ptr<Datagrams> netFlow9(const SenderOptions& options);
std::unique_ptr<Datagrams> ipfix(const SenderOptions& options);
std::unique_ptr<Datagrams> sflow(const SenderOptions& options);

/// Of the requested protocol.
std::unique_ptr<Datagrams> datagramsOf(const SenderOptions& options);

}  // namespace floodwall::telemetry
