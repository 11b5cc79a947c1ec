// Messages of IPFIX.
#include <algorithm>
#include <array>

#include "datagrams.h"
#include "field_sets.h"

namespace floodwall::telemetry {

namespace {

/// IPFIX (RFC 7011) with counters of 64 bits and absolute times, and a selector (RFC 5476).
class Ipfix final : public Datagrams {
 public:
  static constexpr std::array kFields = {Field{8, 4},   Field{12, 4}, Field{2, 8},  Field{1, 8},  Field{152, 8},
                                         Field{153, 8}, Field{7, 2},  Field{11, 2}, Field{10, 4}, Field{14, 4},
                                         Field{4, 1},   Field{6, 2},  Field{5, 1},  Field{61, 1}};
  static constexpr std::size_t kHeader = 16, kRecord = 57, kFirstAt = 24;

  explicit Ipfix(const SenderOptions& options) : options_(options) {}

  Bytes make(std::span<const Content> records) const override {
    Bytes bytes = header();
    std::size_t set = beginSet(bytes, kTemplate);
    for (const Content& record : records) {
      append32(bytes, record.source);
      append32(bytes, record.destination);
      append64(bytes, record.packets);
      append64(bytes, std::uint64_t{record.packets} * record.packetBytes);
      append64(bytes, 0);
      append64(bytes, 0);
      append16(bytes, record.sourcePort);
      append16(bytes, record.destinationPort);
      append32(bytes, kInput);
      append32(bytes, kOutput);
      // Protocol, flags in two bytes, class of service, ingress.
      static constexpr std::uint8_t kLast[] = {kUdp, 0, 0, 0, 0};
      bytes.insert(bytes.end(), std::begin(kLast), std::end(kLast));
    }
    endSet(bytes, set);
    put16(bytes.data() + 2, static_cast<std::uint16_t>(bytes.size()));
    return bytes;
  }

  void stamp(std::span<std::uint8_t> datagram, ExporterState& exporter, const Now& now) const override {
    std::uint8_t* at = datagram.data();
    stampHeader(at, exporter, now);
    for (std::size_t record = kHeader + 4; record + kRecord <= datagram.size(); record += kRecord) {
      put64(at + record + kFirstAt, now.wallMs - options_.durationMs);
      put64(at + record + kFirstAt + 8, now.wallMs);
    }
    exporter.records += static_cast<std::uint32_t>((datagram.size() - kHeader - 4) / kRecord);
  }

  std::vector<Bytes> announcements(ExporterState& exporter, const Now& now) const override {
    std::vector<Bytes> datagrams{announcement()};
    for (std::uint32_t first = 0; first < options_.extraTemplates; first += 10) {
      Bytes bytes = header();
      std::size_t set = beginSet(bytes, 2);
      for (std::uint32_t i = first; i < std::min(first + 10, options_.extraTemplates); ++i) {
        append16(bytes, static_cast<std::uint16_t>(kExtraTemplate + i));
        append16(bytes, kFields.size());
        appendFields(bytes, kFields);
      }
      endSet(bytes, set);
      put16(bytes.data() + 2, static_cast<std::uint16_t>(bytes.size()));
      datagrams.push_back(std::move(bytes));
    }
    for (std::size_t i = 0; i < datagrams.size(); ++i) {
      stampHeader(datagrams[i].data(), exporter, now);
      // The first one has an options record.
      if (i == 0) ++exporter.optionRecords;
    }
    return datagrams;
  }
  std::uint64_t countedBytes(const Content& content) const override { return content.packetBytes; }

 private:
  static Bytes header() {
    Bytes bytes;
    append16(bytes, 10);
    append16(bytes, 0);
    append64(bytes, 0);
    append32(bytes, kDomain);
    return bytes;
  }

  /// The sequence counts data records before this datagram, of options too.
  static void stampHeader(std::uint8_t* at, ExporterState& exporter, const Now& now) {
    put32(at + 4, static_cast<std::uint32_t>(now.wallMs / 1000));
    put32(at + 8, exporter.records + exporter.optionRecords);
    ++exporter.datagrams;
  }

  /// The template, and the selector: scope selector 1, systematic count-based, one packet, then a pause of the others.
  Bytes announcement() const {
    static constexpr std::array kOptions = {Field{302, 8}, Field{304, 2}, Field{305, 4}, Field{306, 4}};
    Bytes bytes = header();
    std::size_t set = beginSet(bytes, 2);
    append16(bytes, kTemplate);
    append16(bytes, kFields.size());
    appendFields(bytes, kFields);
    endSet(bytes, set);
    set = beginSet(bytes, 3);
    append16(bytes, kOptionsTemplate);
    append16(bytes, kOptions.size());
    append16(bytes, 1);
    appendFields(bytes, kOptions);
    endSet(bytes, set);
    set = beginSet(bytes, kOptionsTemplate);
    append64(bytes, 1);
    append16(bytes, 1);
    append32(bytes, 1);
    append32(bytes, options_.sampling - 1);
    endSet(bytes, set);
    put16(bytes.data() + 2, static_cast<std::uint16_t>(bytes.size()));
    return bytes;
  }

  const SenderOptions& options_;
};

}  // namespace

std::unique_ptr<Datagrams> ipfix(const SenderOptions& options) { return std::make_unique<Ipfix>(options); }

}  // namespace floodwall::telemetry
