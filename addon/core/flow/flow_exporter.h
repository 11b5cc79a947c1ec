// One exporter: what is known of it from earlier datagrams, and the decoding of the next one. Knows nothing of sockets,
// configuration or hosts. One thread at a time may call it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flow/big_endian.h"
#include "flow/flow_exporter_status.h"
#include "flow/record_sink.h"
#include "parse/encapsulation.h"

namespace floodwall {

struct ExporterState;

/// One datagram, valid during the call that takes it.
struct FlowDatagram {
  FlowDatagram() = default;
  FlowDatagram(ByteSpan content, std::uint16_t sourcePort = 0)
      : bytes(content), port(sourcePort) {}  // NOLINT(google-explicit-constructor)

  ByteSpan bytes;
  /// UDP source port.
  std::uint16_t port = 0;
};

/// NetFlow v5, v9 (RFC 3954), IPFIX (RFC 7011) and sFlow v5 of one source address, distinguished by their version.
///
/// Every table is bounded (flow_bounds.h): an exporter with 100 templates of 20 fields takes 42 KB, so 1,000 of them
/// 42 MB; one that fills every table takes about 4 MB.
class FlowExporter {
 public:
  FlowExporter();
  ~FlowExporter();
  FlowExporter(FlowExporter&&) noexcept;
  FlowExporter& operator=(FlowExporter&&) noexcept;

  /// Decodes one datagram and hands its records to `sink` before it returns. `nowMs` is wall time, ms since 1970.
  ///
  /// Records have everything set but `exporter` and the two of the interface roles. `samplingRate` is 0 where it is not
  /// known. Nothing is thrown for what a datagram holds: what cannot be decoded is counted by reason.
  void decode(const FlowDatagram& datagram, std::uint64_t nowMs, RecordSink& sink);

  /// Steps of decoding until now (flow_work.h): no datagram adds more than kWorkPerDatagram and kWorkPerByte times its
  /// bytes.
  [[nodiscard]] std::uint64_t work() const noexcept;

  /// For one that is silent for more than kReorderMs: what it did not send until now counts as lost.
  void settle(std::uint64_t nowMs);

  /// Its state that has been of use, for the time after a restart of this service; grows a version where that is
  /// something else.
  void saveInto(std::vector<std::uint8_t>& bytes) const;
  [[nodiscard]] std::uint64_t lastingVersion() const noexcept;
  /// Into one that has decoded nothing. False if the bytes are damaged: what they said until there stays.
  bool restore(ByteSpan bytes);

  /// Encapsulations to take sampled packets out of, from the next datagram on; records have the innermost packet.
  void setDecapsulation(Encapsulations kinds) noexcept;

  /// Counters alone: cheap, for the exporter's thread.
  [[nodiscard]] const FlowCounts& counts() const noexcept;
  /// The name of an interface as the exporter reported it; empty where it did not. Valid until the next datagram.
  [[nodiscard]] const std::string& interfaceName(std::uint32_t index) const noexcept;
  /// Grows when a name is learned or changes, so that patterns of names need not be matched again without one.
  [[nodiscard]] std::uint32_t interfaceNamesVersion() const noexcept;
  /// Copies everything, reusing what `status` has allocated. The exporter's thread calls it, at most every 100 ms.
  void statusInto(FlowExporterStatus& status) const;

 private:
  std::unique_ptr<ExporterState> state_;
};

}  // namespace floodwall
