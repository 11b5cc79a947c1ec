// The places whose samples one reading is of, found by the two ends of a packet. Knows nothing of rings.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"
#include "count/networks.h"
#include "parse/packet_parser.h"
#include "record_abi.h"

namespace floodwall {

inline constexpr std::uint32_t kAddressBits = 128;

class WantedPlaces {
 public:
  /// Throws std::invalid_argument on a length or direction that there is not. Both outlive this.
  WantedPlaces(std::span<const sample_place> places, const Networks& networks);

  /// Calls `found(place, isOutgoing)` for the number of each place that the packet goes to or comes from, as the place
  /// asks; once where both ends lie in it. As it is counted: what goes to one of ours is not outgoing.
  template <typename Found>
  void of(const Packet& packet, Found&& found) const {
    const bool isIncoming = networks_.match(packet.destination) != kNoPlace;
    find(kSource, packet.source, [&](std::uint32_t place) {
      if (places_[place].direction == kEither || !isIncoming) found(place, true);
    });
    find(kDestination, packet.destination, [&](std::uint32_t place) {
      if (places_[place].direction != kEither || !has(place, packet.source)) found(place, false);
    });
  }
  /// Whether the packet is of the place, and at which end.
  [[nodiscard]] bool isOf(std::uint32_t place, const Packet& packet, bool& isOutgoing) const noexcept {
    const std::uint8_t direction = places_[place].direction;
    isOutgoing = direction != 0 && has(place, packet.source) &&
                 (direction == kEither || networks_.match(packet.destination) == kNoPlace);
    return isOutgoing || (direction != 1 && has(place, packet.destination));
  }
  /// The one host that a place is; null: it is of more addresses.
  [[nodiscard]] const Address* hostOf(std::uint32_t place) const noexcept;
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(places_.size()); }

 private:
  enum End : std::uint8_t { kDestination, kSource };
  static constexpr std::uint8_t kEither = 2;
  struct Entry {
    Address address;
    std::uint32_t place;
  };
  /// Prefixes of one length, in the order of their addresses: a look-up for each length that there is, which are few.
  struct Prefixes {
    std::uint32_t length;
    std::vector<Entry> entries;
  };
  struct GroupEntry {
    std::uint32_t group;
    std::uint32_t place;
  };

  void add(End end, std::uint32_t place);
  [[nodiscard]] bool has(std::uint32_t place, const Address& address) const noexcept;
  [[nodiscard]] std::uint32_t groupOf(const Address& address) const noexcept;
  [[nodiscard]] static std::span<const Entry> rangeOf(const Prefixes& prefixes, const Address& address) noexcept;

  template <typename Found>
  void find(End end, const Address& address, Found&& found) const {
    for (const Prefixes& prefixes : prefixes_[end]) {
      for (const Entry& entry : rangeOf(prefixes, address)) found(entry.place);
    }
    if (groups_[end].empty()) return;
    const std::uint32_t group = groupOf(address);
    for (const GroupEntry& entry : groups_[end]) {
      if (entry.group == group) found(entry.place);
    }
  }

  std::span<const sample_place> places_;
  const Networks& networks_;
  std::array<std::vector<Prefixes>, 2> prefixes_;
  std::array<std::vector<GroupEntry>, 2> groups_;
};

}  // namespace floodwall
