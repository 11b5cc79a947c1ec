// Datagrams of NetFlow v9.
#include <algorithm>
#include <array>

#include "datagrams.h"
#include "field_sets.h"

namespace floodwall::telemetry {

namespace {

/// NetFlow v9 (RFC 3954), with a template like Cisco's.
class NetFlow9 final : public Datagrams {
 public:
  static constexpr std::array kFields = {Field{8, 4},  Field{12, 4}, Field{2, 4},  Field{1, 4},  Field{22, 4},
                                         Field{21, 4}, Field{7, 2},  Field{11, 2}, Field{10, 4}, Field{14, 4},
                                         Field{16, 4}, Field{17, 4}, Field{4, 1},  Field{6, 1},  Field{5, 1},
                                         Field{61, 1}, Field{9, 1},  Field{13, 1}, Field{48, 1}, Field{89, 1}};
  static constexpr std::size_t kHeader = 20, kRecord = 52, kFirstAt = 16;

  explicit NetFlow9(const SenderOptions& options) : options_(options) {}

  Bytes make(std::span<const Content> records) const override {
    Bytes bytes = header(records.size());
    std::size_t set = beginSet(bytes, kTemplate);
    for (const Content& record : records) {
      append32(bytes, record.source);
      append32(bytes, record.destination);
      append32(bytes, record.packets);
      append32(bytes, record.packets * record.packetBytes);
      append64(bytes, 0);
      append16(bytes, record.sourcePort);
      append16(bytes, record.destinationPort);
      append32(bytes, kInput);
      append32(bytes, kOutput);
      append32(bytes, 64500);
      append32(bytes, 64501);
      // Protocol, flags, type of service, ingress, both masks, sampler, forwarded.
      static constexpr std::uint8_t kLast[] = {kUdp, 0, 0, 0, 24, 24, 1, 0x40};
      bytes.insert(bytes.end(), std::begin(kLast), std::end(kLast));
    }
    endSet(bytes, set);
    return bytes;
  }

  void stamp(std::span<std::uint8_t> datagram, ExporterState& exporter, const Now& now) const override {
    std::uint8_t* at = datagram.data();
    stampHeader(at, exporter, now);
    for (std::size_t record = kHeader + 4; record + kRecord <= datagram.size(); record += kRecord) {
      put32(at + record + kFirstAt, now.uptimeMs - options_.durationMs);
      put32(at + record + kFirstAt + 4, now.uptimeMs);
    }
    exporter.records += static_cast<std::uint32_t>((datagram.size() - kHeader - 4) / kRecord);
  }

  std::vector<Bytes> announcements(ExporterState& exporter, const Now& now) const override {
    std::vector<Bytes> datagrams{announcement()};
    for (std::uint32_t first = 0; first < options_.extraTemplates; first += 10) {
      Bytes bytes = header(0);
      std::size_t set = beginSet(bytes, 0);
      std::uint16_t count = 0;
      for (std::uint32_t i = first; i < std::min(first + 10, options_.extraTemplates); ++i, ++count) {
        append16(bytes, static_cast<std::uint16_t>(kExtraTemplate + i));
        append16(bytes, kFields.size());
        appendFields(bytes, kFields);
      }
      endSet(bytes, set);
      put16(bytes.data() + 2, count);
      datagrams.push_back(std::move(bytes));
    }
    for (Bytes& datagram : datagrams) stampHeader(datagram.data(), exporter, now);
    return datagrams;
  }
  std::uint64_t countedBytes(const Content& content) const override { return content.packetBytes; }

 private:
  static Bytes header(std::size_t count) {
    Bytes bytes;
    append16(bytes, 9);
    append16(bytes, static_cast<std::uint16_t>(count));
    for (int i = 0; i < 3; ++i) append32(bytes, 0);
    append32(bytes, kDomain);
    return bytes;
  }

  /// The sequence counts datagrams.
  static void stampHeader(std::uint8_t* at, ExporterState& exporter, const Now& now) {
    put32(at + 4, now.uptimeMs);
    put32(at + 8, static_cast<std::uint32_t>(now.wallMs / 1000));
    put32(at + 12, exporter.datagrams++);
  }

  /// The template, and the sampler: scope system, sampler 1, random, one packet in `sampling`.
  Bytes announcement() const {
    static constexpr std::array kOptions = {Field{1, 4}, Field{48, 1}, Field{49, 1}, Field{50, 4}};
    Bytes bytes = header(3);
    std::size_t set = beginSet(bytes, 0);
    append16(bytes, kTemplate);
    append16(bytes, kFields.size());
    appendFields(bytes, kFields);
    endSet(bytes, set);
    set = beginSet(bytes, 1);
    append16(bytes, kOptionsTemplate);
    append16(bytes, 4);
    append16(bytes, 12);
    appendFields(bytes, kOptions);
    endSet(bytes, set);
    set = beginSet(bytes, kOptionsTemplate);
    append32(bytes, kDomain);
    append8(bytes, 1);
    append8(bytes, 2);
    append32(bytes, options_.sampling);
    endSet(bytes, set);
    return bytes;
  }

  const SenderOptions& options_;
};

}  // namespace

std::unique_ptr<Datagrams> netFlow9(const SenderOptions& options) { return std::make_unique<NetFlow9>(options); }

}  // namespace floodwall::telemetry
