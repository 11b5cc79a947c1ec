// Datagrams of sFlow.
#include <algorithm>
#include <array>

#include "datagrams.h"
#include "field_sets.h"

namespace floodwall::telemetry {

namespace {

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

std::unique_ptr<Datagrams> sflow(const SenderOptions& options) { return std::make_unique<Sflow>(options); }

}  // namespace floodwall::telemetry
