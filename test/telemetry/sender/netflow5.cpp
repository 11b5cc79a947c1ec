// Datagrams of NetFlow v5.
#include "datagrams.h"
#include "field_sets.h"

namespace floodwall::telemetry {

namespace {

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

}  // namespace

std::unique_ptr<Datagrams> netFlow5(const SenderOptions& options) { return std::make_unique<NetFlow5>(options); }

}  // namespace floodwall::telemetry
