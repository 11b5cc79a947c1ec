#include "capture/pcapng_reader.h"

#include <algorithm>
#include <array>
#include <limits>

namespace floodwall {
namespace {

enum BlockType : std::uint32_t {
  kSection = 0x0a0d0d0a,
  kInterface = 1,
  /// Obsolete.
  kPacket = 2,
  kSimplePacket = 3,
  kEnhancedPacket = 6,
};
constexpr std::uint32_t kByteOrder = 0x1a2b3c4d;
/// Type and length, and the length once more at the end.
constexpr std::size_t kHead = 8, kBlockMin = 12;
/// As libpcap has it: longer blocks are damage.
constexpr std::size_t kBlockMax = std::size_t{16} << 20;
/// Before the packet in an enhanced packet block and in the obsolete one, which differ in the interface's width.
constexpr std::size_t kPacketHeader = 20;
constexpr std::size_t kBodyKept = kPacketHeader + PcapngReader::kPacketBytesKept;

constexpr std::uint64_t kNanos = 1'000'000'000;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
/// In the year 2262: a replay adds to times, which must not overflow.
constexpr std::uint64_t kTimeMax = std::uint64_t{1} << 63;

bool isPowerOfTwo(std::uint8_t resolution) { return (resolution & 0x80U) != 0; }
/// The longest units of a resolution in 64 bits, in nanoseconds. Finer ones than these are refused.
constexpr unsigned kTenthsMax = 19, kHalvesMax = 63;
bool isReadable(std::uint8_t resolution) {
  return isPowerOfTwo(resolution) ? (resolution & 0x7fU) <= kHalvesMax : resolution <= kTenthsMax;
}

std::uint64_t multiplied(std::uint64_t value, std::uint64_t factor) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(value, factor, &product) ? kNever : product;
}

std::uint64_t nanosOf(std::uint64_t units, std::uint8_t resolution) {
  if (isPowerOfTwo(resolution)) {
    const unsigned bits = resolution & 0x7fU;
    const std::uint64_t fraction = units & ((std::uint64_t{1} << bits) - 1);
    // A fraction is below 2^63 and needs more bits than there are: its lowest ones are less than a nanosecond.
    const unsigned spare = bits > 32 ? bits - 32 : 0;
    const std::uint64_t seconds = multiplied(units >> bits, kNanos);
    const std::uint64_t rest = (fraction >> spare) * kNanos >> (bits - spare);
    return seconds > kNever - rest ? kNever : seconds + rest;
  }
  std::uint64_t factor = 1;
  for (unsigned i = resolution; i < 9; i++) factor *= 10;
  for (unsigned i = 9; i < resolution; i++) units /= 10;
  return multiplied(units, factor);
}

}  // namespace

bool PcapngReader::isPcapng(std::FILE* file) {
  std::array<std::uint8_t, 4> type{};
  const bool isWhole = std::fread(type.data(), 1, type.size(), file) == type.size();
  std::rewind(file);
  // The same in either byte order.
  return isWhole && type == std::array<std::uint8_t, 4>{0x0a, 0x0d, 0x0d, 0x0a};
}

std::uint16_t PcapngReader::u16(const std::uint8_t* at) const {
  return static_cast<std::uint16_t>(isBigEndian_ ? at[0] << 8 | at[1] : at[1] << 8 | at[0]);
}

std::uint32_t PcapngReader::u32(const std::uint8_t* at) const {
  const std::uint32_t first = u16(at), second = u16(at + 2);
  return isBigEndian_ ? first << 16 | second : second << 16 | first;
}

std::optional<PcapngReader::Packet> PcapngReader::next() {
  while (error_.empty()) {
    const auto block = readBlock();
    if (!block) break;
    switch (block->type) {
      case kInterface:
        if (!addInterface(*block)) return std::nullopt;
        break;
      case kEnhancedPacket:
      case kPacket:
        return enhancedPacket(*block);
      case kSimplePacket:
        return simplePacket(*block);
      default:
        // Names, statistics, comments and what others define.
        break;
    }
  }
  return std::nullopt;
}

/// Absent at the end of the file, and where it is damaged.
std::optional<PcapngReader::Block> PcapngReader::readBlock() {
  std::array<std::uint8_t, kHead> head{};
  const std::size_t read = std::fread(head.data(), 1, head.size(), file_);
  if (read == 0 && std::ferror(file_) == 0) return std::nullopt;
  if (read < head.size()) {
    fail("it ends within a block");
    return std::nullopt;
  }
  const bool isSection = head[0] == 0x0a && head[1] == 0x0d && head[2] == 0x0d && head[3] == 0x0a;
  std::array<std::uint8_t, 4> order{};
  if (isSection && (std::fread(order.data(), 1, order.size(), file_) < order.size() || !beginSection(order))) {
    fail("a section begins without its byte order");
    return std::nullopt;
  }
  const std::size_t length = u32(head.data() + 4), before = head.size() + (isSection ? order.size() : 0);
  if (!hasSection_ || length < kBlockMin + before - kHead || length > kBlockMax || length % 4 != 0) {
    fail("a block has an impossible length");
    return std::nullopt;
  }
  const std::size_t bodyLength = length - before - 4;
  if (!readBody(bodyLength)) {
    fail("it ends within a block");
    return std::nullopt;
  }
  return Block{.type = u32(head.data()), .body = body_, .length = bodyLength};
}

/// Keeps the beginning; the length at the end of a block is passed over.
bool PcapngReader::readBody(std::size_t length) {
  body_.resize(std::min(length, kBodyKept));
  return std::fread(body_.data(), 1, body_.size(), file_) == body_.size() && skip(length - body_.size() + 4);
}

/// Reads what it skips: to seek beyond the end is no error.
bool PcapngReader::skip(std::size_t bytes) {
  std::array<std::uint8_t, 4096> scratch;
  while (bytes > 0) {
    const std::size_t some = std::min(bytes, scratch.size());
    if (std::fread(scratch.data(), 1, some, file_) < some) return false;
    bytes -= some;
  }
  return true;
}

/// Each section has interfaces and a byte order of its own.
bool PcapngReader::beginSection(std::span<const std::uint8_t> head) {
  isBigEndian_ = head[0] == 0x1a;
  interfaces_.clear();
  hasSection_ = u32(head.data()) == kByteOrder;
  return hasSection_;
}

bool PcapngReader::addInterface(const Block& block) {
  constexpr std::size_t kFixed = 8, kOption = 4;
  constexpr std::uint16_t kEnd = 0, kResolution = 9, kOffset = 14;
  if (block.body.size() < kFixed || interfaces_.size() == kInterfacesMax) {
    fail(block.body.size() < kFixed ? "an interface is cut" : "it has too many interfaces");
    return false;
  }
  Interface added{.linktype = u16(block.body.data()), .snapLength = u32(block.body.data() + 4)};
  for (std::span<const std::uint8_t> rest = block.body.subspan(kFixed); rest.size() >= kOption;) {
    const std::uint16_t code = u16(rest.data());
    const std::size_t length = u16(rest.data() + 2), padded = (length + 3) / 4 * 4;
    rest = rest.subspan(kOption);
    if (code == kEnd || padded > rest.size()) break;
    if (code == kResolution && length == 1) added.resolution = rest[0];
    if (code == kOffset && length == 8) {
      const std::uint64_t first = u32(rest.data()), second = u32(rest.data() + 4);
      added.offset = static_cast<std::int64_t>(isBigEndian_ ? first << 32 | second : second << 32 | first);
    }
    rest = rest.subspan(padded);
  }
  if (!isReadable(added.resolution)) {
    fail("an interface has a resolution of time that is too fine");
    return false;
  }
  interfaces_.push_back(added);
  return true;
}

std::optional<PcapngReader::Packet> PcapngReader::enhancedPacket(const Block& block) {
  if (block.body.size() < kPacketHeader) {
    fail("a packet is cut");
    return std::nullopt;
  }
  const std::uint8_t* at = block.body.data();
  const std::size_t number = block.type == kEnhancedPacket ? u32(at) : u16(at);
  if (number >= interfaces_.size()) {
    fail("a packet is of an interface that is not there");
    return std::nullopt;
  }
  const Interface& interface = interfaces_[number];
  auto packet = packetOf(block, kPacketHeader, u32(at + 12));
  if (!packet) return std::nullopt;
  packet->wire = u32(at + 16);
  packet->linktype = interface.linktype;
  packet->timeNs = lastNs_ = timeOf(interface, std::uint64_t{u32(at + 4)} << 32 | u32(at + 8));
  return packet;
}

/// A packet of the first interface. Its snapshot length says how much of the packet is there.
std::optional<PcapngReader::Packet> PcapngReader::simplePacket(const Block& block) {
  constexpr std::size_t kFixed = 4;
  if (block.body.size() < kFixed || interfaces_.empty()) {
    fail(interfaces_.empty() ? "a packet is of an interface that is not there" : "a packet is cut");
    return std::nullopt;
  }
  const Interface& interface = interfaces_.front();
  const std::uint32_t wire = u32(block.body.data());
  const std::uint32_t limit = interface.snapLength == 0 ? wire : std::min(wire, interface.snapLength);
  const std::size_t there = block.length - kFixed;
  auto packet = packetOf(block, kFixed, static_cast<std::uint32_t>(std::min<std::size_t>(limit, there)));
  if (!packet) return std::nullopt;
  packet->wire = wire;
  packet->linktype = interface.linktype;
  packet->timeNs = lastNs_;
  return packet;
}

std::optional<PcapngReader::Packet> PcapngReader::packetOf(const Block& block, std::size_t dataAt,
                                                           std::uint32_t captured) {
  if (captured > block.length - dataAt) {
    fail("a packet is longer than its block");
    return std::nullopt;
  }
  const auto rest = block.body.subspan(dataAt);
  return Packet{
      .data = rest.first(std::min<std::size_t>(captured, rest.size())), .wire = 0, .timeNs = 0, .linktype = 0};
}

/// A time before the epoch is the epoch, one beyond the last is the last.
std::uint64_t PcapngReader::timeOf(const Interface& interface, std::uint64_t units) {
  const std::uint64_t nanos = nanosOf(units, interface.resolution);
  const bool isBack = interface.offset < 0;
  const std::uint64_t seconds =
      isBack ? 0 - static_cast<std::uint64_t>(interface.offset) : static_cast<std::uint64_t>(interface.offset);
  const std::uint64_t shift = multiplied(seconds, kNanos);
  if (isBack) return std::min(nanos - std::min(nanos, shift), kTimeMax);
  return shift > kNever - nanos ? kTimeMax : std::min(nanos + shift, kTimeMax);
}

}  // namespace floodwall
