// An exporter without a rule, and what counts of the datagrams that it sends.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/address_text.h"
#include "collector/exporter.h"
#include "flow_messages.h"

namespace floodwall::test {

class Judged final : public RecordSink {
 public:
  /// `nowMs` of both clocks.
  Judged& feed(const Bytes& datagram, std::uint64_t nowMs = kFlowNowMs, std::uint16_t port = 2055) {
    exporter.decode({datagram, port}, nowMs, nowMs, *this);
    return *this;
  }
  void take(std::span<FlowRecord> taken) override {
    for (const FlowRecord& record : exporter.judge(taken)) records.push_back(record);
  }
  /// Packets and bytes by destination, times the sampling rate.
  [[nodiscard]] std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sums() const {
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sums;
    for (const FlowRecord& record : records) {
      auto& sum = sums[textOf(record.packet.destination)];
      sum.first += record.packets * record.samplingRate;
      sum.second += record.bytes * record.samplingRate;
    }
    return sums;
  }
  [[nodiscard]] ExporterStatus status() {
    ExporterStatus status;
    exporter.statusInto(status);
    return status;
  }
  [[nodiscard]] std::uint64_t leftOut(LeftOut reason) { return status().leftOut.at(static_cast<std::size_t>(reason)); }
  [[nodiscard]] std::uint64_t impossible() {
    return leftOut(LeftOut::impossibleLength) + leftOut(LeftOut::impossibleCount) + leftOut(LeftOut::impossibleSpeed);
  }
  [[nodiscard]] std::uint64_t undecoded() {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : status().flow.undecodedByKind) sum += count;
    return sum;
  }

  Exporter exporter{ipv4(0xc6336401U), 0};
  std::vector<FlowRecord> records;
};

}  // namespace floodwall::test
