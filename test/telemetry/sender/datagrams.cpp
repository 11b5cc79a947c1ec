#include "datagrams.h"

#include <algorithm>
#include <array>

namespace floodwall::telemetry {

namespace {

constexpr std::uint8_t kUdp = 17;
constexpr std::uint32_t kInput = 1, kOutput = 2;
constexpr std::uint16_t kTemplate = 256, kOptionsTemplate = 257, kExtraTemplate = 300;
constexpr std::uint32_t kDomain = 1;
constexpr std::size_t kEthernet = 14;

/// An information element and its length.
struct Field {
  std::uint16_t element;
  std::uint16_t length;
};

void appendFields(Bytes& bytes, std::span<const Field> fields) {
  for (auto [element, length] : fields) {
    append16(bytes, element);
    append16(bytes, length);
  }
}

/// Sets the length of the set that begins there, padded to 4 bytes.
void endSet(Bytes& bytes, std::size_t begin) {
  while (bytes.size() % 4 != 0) append8(bytes, 0);
  put16(bytes.data() + begin + 2, static_cast<std::uint16_t>(bytes.size() - begin));
}

std::size_t beginSet(Bytes& bytes, std::uint16_t id) {
  std::size_t begin = bytes.size();
  append16(bytes, id);
  append16(bytes, 0);
  return begin;
}

/// Cisco's export format of 24 bytes header and 48 bytes a record.
class NetFlow5 final : public Datagrams {
 public:
  explicit NetFlow5(const SenderOptions& options) : options_(options) {}

  Bytes make(std::span<const Content> records) const override {
    Bytes bytes;
    append16(bytes, 5);
    append16(bytes, static_cast<std::uint16_t>(records.size()));
    for (int i = 0; i < 4; ++i) append32(bytes, 0);
    append16(bytes, 0);
    // Deterministic sampling, and its interval in the lower 14 bits.
    append16(bytes, static_cast<std::uint16_t>(options_.sampling > 1 ? 0x4000U | (options_.sampling & 0x3fffU) : 0));
    for (const Content& record : records) {
      append32(bytes, record.source);
      append32(bytes, record.destination);
      append32(bytes, 0);
      append16(bytes, static_cast<std::uint16_t>(kInput));
      append16(bytes, static_cast<std::uint16_t>(kOutput));
      append32(bytes, record.packets);
      append32(bytes, record.packets * record.packetBytes);
      append64(bytes, 0);
      append16(bytes, record.sourcePort);
      append16(bytes, record.destinationPort);
      append16(bytes, 0);
      append8(bytes, kUdp);
      append8(bytes, 0);
      append32(bytes, 64500U << 16 | 64501U);
      append8(bytes, 24);
      append8(bytes, 24);
      append16(bytes, 0);
    }
    return bytes;
  }

  void stamp(std::span<std::uint8_t> datagram, ExporterState& exporter, const Now& now) const override {
    std::uint8_t* at = datagram.data();
    put32(at + 4, now.uptimeMs);
    put32(at + 8, static_cast<std::uint32_t>(now.wallMs / 1000));
    put32(at + 12, static_cast<std::uint32_t>(now.wallMs % 1000 * 1'000'000));
    put32(at + 16, exporter.records);
    for (std::size_t record = 24; record < datagram.size(); record += 48) {
      put32(at + record + 24, now.uptimeMs - options_.durationMs);
      put32(at + record + 28, now.uptimeMs);
    }
    exporter.records += static_cast<std::uint32_t>((datagram.size() - 24) / 48);
    ++exporter.datagrams;
  }

  std::vector<Bytes> announcements(ExporterState&, const Now&) const override { return {}; }
  std::uint64_t countedBytes(const Content& content) const override { return content.packetBytes; }

 private:
  const SenderOptions& options_;
};

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

  /// The template, and the sampler: scope system, sampler 1, random, one packet in so many.
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

  /// The template, and the selector: scope selector 1, systematic count-based, one packet, then a pause of so many.
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

/// sFlow version 5: flow samples, each with a record of the packet's first bytes.
class Sflow final : public Datagrams {
 public:
  static constexpr std::size_t kHeader = 28, kPacket = 128, kBeforePacket = 32 + 8 + 16, kCheckSum = 4;

  explicit Sflow(const SenderOptions& options) : options_(options) {}

  Bytes make(std::span<const Content> records) const override {
    Bytes bytes;
    append32(bytes, 5);
    append32(bytes, 1);
    for (int i = 0; i < 4; ++i) append32(bytes, 0);
    append32(bytes, static_cast<std::uint32_t>(records.size()));
    for (const Content& record : records) appendSample(bytes, record);
    return bytes;
  }

  void stamp(std::span<std::uint8_t> datagram, ExporterState& exporter, const Now& now) const override {
    std::uint8_t* at = datagram.data();
    put32(at + 8, exporter.address);
    put32(at + 16, exporter.datagrams++);
    put32(at + 20, now.uptimeMs);
    for (std::size_t sample = kHeader; sample < datagram.size(); sample += 8 + get16(at + sample + 6)) {
      put32(at + sample + 8, exporter.records++);
      // The pool: all packets that could have been sampled.
      put32(at + sample + 20, exporter.records * options_.sampling);
    }
  }

  std::vector<Bytes> announcements(ExporterState&, const Now&) const override { return {}; }
  std::uint64_t countedBytes(const Content& content) const override { return content.packetBytes + kEthernet; }

 private:
  void appendSample(Bytes& bytes, const Content& record) const {
    std::uint32_t frame = static_cast<std::uint32_t>(record.packetBytes + kEthernet);
    // Of a short packet all of it, in words of 4 bytes.
    std::uint32_t packet = std::min<std::uint32_t>(kPacket, frame / 4 * 4);
    append32(bytes, 1);
    append32(bytes, kBeforePacket + packet);
    append32(bytes, 0);
    append32(bytes, kInput);
    append32(bytes, options_.sampling);
    append32(bytes, 0);
    append32(bytes, 0);
    append32(bytes, kInput);
    append32(bytes, kOutput);
    append32(bytes, 1);
    // The packet's first bytes: Ethernet, its length with the check sum, of which nothing was taken off but that.
    append32(bytes, 1);
    append32(bytes, 16 + packet);
    append32(bytes, 1);
    append32(bytes, frame + kCheckSum);
    append32(bytes, kCheckSum);
    append32(bytes, packet);
    std::size_t end = bytes.size() + packet;
    for (std::uint64_t mac : {0x020000000002ULL, 0x020000000001ULL}) {
      append16(bytes, static_cast<std::uint16_t>(mac >> 32));
      append32(bytes, static_cast<std::uint32_t>(mac));
    }
    append16(bytes, 0x0800);
    append16(bytes, 0x4500);
    append16(bytes, static_cast<std::uint16_t>(record.packetBytes));
    append32(bytes, 0);
    append8(bytes, 64);
    append8(bytes, kUdp);
    append16(bytes, 0);
    append32(bytes, record.source);
    append32(bytes, record.destination);
    append16(bytes, record.sourcePort);
    append16(bytes, record.destinationPort);
    append16(bytes, static_cast<std::uint16_t>(record.packetBytes - 20));
    bytes.resize(end);
  }

  const SenderOptions& options_;
};

}  // namespace

std::unique_ptr<Datagrams> datagramsOf(const SenderOptions& options) {
  switch (options.protocol) {
    case Protocol::netflow5:
      return std::make_unique<NetFlow5>(options);
    case Protocol::netflow9:
      return std::make_unique<NetFlow9>(options);
    case Protocol::ipfix:
      return std::make_unique<Ipfix>(options);
    case Protocol::sflow:
      return std::make_unique<Sflow>(options);
  }
  throw std::logic_error("no such protocol");
}

}  // namespace floodwall::telemetry
