#include "count/kept_header.h"

#include <algorithm>
#include <cstring>

#include "parse/ethernet_tags.h"
#include "parse/layers.h"

namespace floodwall {
namespace {

constexpr std::size_t kEthernetHeader = 14;
constexpr std::size_t kIpv6Header = 40, kNextHeaderAt = 6;
/// For an extension header the least, and the kept part.
constexpr std::size_t kExtension = 8;
/// TCP without options.
constexpr std::size_t kTransport = 20;

/// Rewrites a chain of extension headers.
class ShortChain {
 public:
  /// `used` bytes of `to` end with the IPv6 header.
  ShortChain(std::span<std::uint8_t> to, std::size_t used) noexcept
      : to_(to), used_(used), next_(used - kIpv6Header + kNextHeaderAt) {}

  /// The header that the number of the one before it names.
  void add(const std::uint8_t* header, std::uint8_t number) noexcept {
    if (number == kFragmentHeader) {
      // The last one counts, of which headers that were kept in between would say nothing.
      if (fragment_ != 0) used_ = fragment_;
      fragment_ = used_;
      append(header);
    } else if (used_ + kExtension + (fragment_ == 0 ? kExtension : 0) + kTransport <= to_.size()) {
      append(header);
      to_[next_ + 1] = 0;
    } else {
      to_[next_] = header[0];
    }
  }
  /// Appends the part behind the chain. Returns the bytes in use.
  std::size_t end(const Cursor& rest) noexcept {
    const std::size_t length = std::min(rest.left, to_.size() - used_);
    std::memcpy(&to_[used_], rest.at, length);
    return used_ + length;
  }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  void append(const std::uint8_t* header) noexcept {
    std::memcpy(&to_[used_], header, kExtension);
    next_ = used_;
    used_ += kExtension;
  }

  std::span<std::uint8_t> to_;
  std::size_t used_;
  /// Where the number of what follows is.
  std::size_t next_;
  /// Where the fragment header is; 0: nowhere.
  std::size_t fragment_ = 0;
};

}  // namespace

std::size_t keepHeader(const Frame& frame, Link link, std::span<std::uint8_t> to) noexcept {
  std::size_t at = 0;
  std::uint16_t type = 0;
  Cursor cursor{frame.data, frame.captured};
  if (link == Link::rawIp) {
    type = cursor.has(1) && cursor.at[0] >> 4 == 4 ? kTypeIpv4 : kTypeIpv6;
    std::fill_n(to.begin(), kEthernetHeader, std::uint8_t{0});
    to[12] = static_cast<std::uint8_t>(type >> 8);
    to[13] = static_cast<std::uint8_t>(type);
    at = kEthernetHeader;
  } else if (readEthernet(cursor, type) != ParseError::none) {
    type = 0;
  }
  const auto offsetOf = [&](const Cursor& of) { return static_cast<std::size_t>(of.at - frame.data); };
  Cursor rest = cursor;
  Packet packet;
  clear(packet, frame.wire);
  if (type != kTypeIpv6 || readNetwork(rest, type, packet) != ParseError::none ||
      at + offsetOf(rest) + kTransport <= to.size()) {
    const std::size_t length = std::min<std::size_t>(frame.captured, to.size() - at);
    std::memcpy(&to[at], frame.data, length);
    return at + length;
  }
  const std::size_t before = offsetOf(cursor) + kIpv6Header;
  std::memcpy(&to[at], frame.data, before);
  ShortChain chain(to, at + before);
  std::uint8_t number = cursor.at[kNextHeaderAt];
  cursor.skip(kIpv6Header);
  while (cursor.at != rest.at) {
    const std::size_t length = extensionBytes(cursor, number);
    chain.add(cursor.at, number);
    number = cursor.at[0];
    cursor.skip(length);
  }
  // A chain that the parser did not read to its end ends here for others, too.
  const bool isOpen = !packet.isLaterFragment && extensionBytes(rest, number) != 0;
  return isOpen ? chain.used() : chain.end(rest);
}

}  // namespace floodwall
