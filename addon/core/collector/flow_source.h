// Flow telemetry as a source: receives sFlow v5, NetFlow v5 and v9 and IPFIX at a UDP port, from the exporters that its
// rules name. Comes back by itself when its sockets fail; what exporters said outlives that.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "capture/capture_source.h"
#include "capture/supervised_source.h"
#include "collector/engine_exporters.h"
#include "collector/exporter.h"
#include "collector/exporter_rules.h"
#include "collector/exporter_table.h"
#include "collector/flow_socket.h"

namespace floodwall {

struct FlowOptions {
  FlowAddress at;
  /// 1 to kFlowThreadsMax.
  std::uint32_t threads = 1;
  /// Buffer of each thread's socket, bytes: kReceiveBufferMin to kReceiveBufferMax.
  std::uint32_t receiveBuffer = 64U << 20;
  std::vector<int> cpus;
  /// Tick of the engine.
  std::uint32_t tickMs = 100;
  /// Bytes of FlowSource::saved() before a restart; empty: none.
  std::vector<std::uint8_t> saved;
};

/// FlowReceiverStatus of native-flow.d.ts.
struct FlowReceiverStatus {
  std::uint64_t datagrams = 0;
  std::uint64_t bytes = 0;
  std::uint64_t overruns = 0;
  std::uint64_t receiveBuffer = 0;
  std::uint64_t receiveBufferUsed = 0;
  std::uint64_t refused = 0;
  std::vector<RefusedAddress> refusedAddresses;
  std::uint64_t withoutRoom = 0;
  RecordStats records;
};

/// Any thread may call it.
class FlowSource : public CaptureSource {
 public:
  /// In force within 100 ms. Throws std::out_of_range over a bound, and then changes nothing.
  virtual void setExporters(std::vector<ExporterRule> rules) = 0;
  [[nodiscard]] virtual std::vector<ExporterStatus> exporters() const = 0;
  [[nodiscard]] virtual FlowReceiverStatus receiver() const = 0;
  /// The state of exporters, for FlowOptions::saved after a restart; at most kSavedBytesMax.
  [[nodiscard]] virtual std::vector<std::uint8_t> saved() const = 0;
};

/// Throws SourceError, or std::out_of_range that names the option.
[[nodiscard]] std::unique_ptr<FlowSource> openFlowSource(FlowOptions options, std::vector<ExporterRule> rules,
                                                         std::shared_ptr<EngineExporters> shared, AddShard addShard);

}  // namespace floodwall
