// Reads the packets of a pcapng file (draft-ietf-opsawg-pcapng) block by block. libpcap refuses files whose interfaces
// differ in snapshot length or linktype, as mergecap and captures of several interfaces have them. Knows nothing of
// linktypes and counting. No length that the file claims is trusted: memory is bounded whatever it says.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace floodwall {

class PcapngReader {
 public:
  struct Packet {
    /// Valid until the next call; at most kPacketBytesKept of the packet.
    std::span<const std::uint8_t> data;
    /// Bytes that the packet had on the wire, as the file says.
    std::uint32_t wire;
    /// Nanoseconds since the epoch. Of a simple packet block, which has none, the time of the packet before.
    std::uint64_t timeNs;
    /// LINKTYPE_ number of its interface.
    std::uint16_t linktype;
  };
  static constexpr std::size_t kPacketBytesKept = 1U << 16;
  /// Interfaces of one section.
  static constexpr std::size_t kInterfacesMax = 4096;

  /// Whether the file begins as pcapng does; it is at its beginning afterwards.
  [[nodiscard]] static bool isPcapng(std::FILE* file);
  /// `file` outlives the reader.
  explicit PcapngReader(std::FILE* file) : file_(file) {}

  /// Absent at the end, and where the file is damaged: then error() says why.
  [[nodiscard]] std::optional<Packet> next();
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  struct Interface {
    std::uint16_t linktype = 0;
    /// 0: no limit.
    std::uint32_t snapLength = 0;
    /// if_tsresol: a power of ten, or with the highest bit set of two.
    std::uint8_t resolution = 6;
    /// if_tsoffset, seconds.
    std::int64_t offset = 0;
  };
  /// The part of a block that is read: its type, and the beginning of its body.
  struct Block {
    std::uint32_t type;
    std::span<const std::uint8_t> body;
    /// Bytes of the body in the file.
    std::size_t length;
  };

  [[nodiscard]] std::optional<Block> readBlock();
  [[nodiscard]] bool readBody(std::size_t length);
  [[nodiscard]] bool skip(std::size_t bytes);
  [[nodiscard]] bool beginSection(std::span<const std::uint8_t> head);
  [[nodiscard]] bool addInterface(const Block& block);
  [[nodiscard]] std::optional<Packet> enhancedPacket(const Block& block);
  [[nodiscard]] std::optional<Packet> simplePacket(const Block& block);
  [[nodiscard]] std::optional<Packet> packetOf(const Block& block, std::size_t dataAt, std::uint32_t captured);
  [[nodiscard]] std::uint64_t timeOf(const Interface& interface, std::uint64_t units);
  void fail(const char* why) {
    if (error_.empty()) error_ = why;
  }
  [[nodiscard]] std::uint16_t u16(const std::uint8_t* at) const;
  [[nodiscard]] std::uint32_t u32(const std::uint8_t* at) const;

  std::FILE* file_;
  bool isBigEndian_ = false;
  bool hasSection_ = false;
  std::vector<Interface> interfaces_;
  std::vector<std::uint8_t> body_;
  std::uint64_t lastNs_ = 0;
  std::string error_;
};

}  // namespace floodwall
