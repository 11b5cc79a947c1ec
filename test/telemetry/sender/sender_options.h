// What the sender of flow records is called with.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace floodwall::telemetry {

extern const char* const kUsage;

enum class Protocol { netflow5, netflow9, ipfix, sflow };

struct SenderOptions {
  Protocol protocol = Protocol::netflow9;
  /// Network byte order is only on the wire: these are numbers.
  std::uint32_t destination = 0x7f000001;
  std::uint16_t port = 2055;
  /// Exporters have consecutive addresses from here on.
  std::uint32_t source = 0x7f000101;
  std::uint32_t exporters = 1;
  /// Records a second of all exporters; 0: as fast as it goes.
  double rate = 0;
  double seconds = 1;
  /// Of all exporters; 0: as many as the time allows.
  std::uint64_t records = 0;
  /// Records, or samples, a datagram; 0: the protocol's default.
  std::uint32_t perDatagram = 0;
  /// Destinations in turn, from firstHost on.
  std::uint32_t hosts = 1000;
  std::uint32_t firstHost = 0xcb007100;
  /// One packet in this number is counted, as the exporter says.
  std::uint32_t sampling = 1;
  /// Packets a record; 0: 1 to 16.
  std::uint32_t packets = 0;
  /// Of a packet with its Ethernet header; 0: 64 to 1514.
  std::uint32_t bytes = 0;
  std::uint32_t durationMs = 0;
  double templatesEvery = 1;
  std::uint32_t extraTemplates = 0;
  /// Records wait for this time, and leave all at once.
  std::uint32_t burstMs = 0;
  bool isPoisson = false;
  /// Each exporter sends two more datagrams in the seconds after, so that what was lost shows in its sequence.
  bool hasFarewell = false;
  std::uint64_t markedRecord = 0;
  std::uint64_t seed = 1;
  std::string totals;
};

/// Names the argument and what it may be.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

SenderOptions parseOptions(std::span<char* const> arguments);

}  // namespace floodwall::telemetry
