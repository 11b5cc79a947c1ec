#include "count/wanted_places.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace floodwall {
namespace {

Address addressOf(const sample_place& place) noexcept {
  Address address;
  std::memcpy(address.bytes.data(), place.address, sizeof place.address);
  return address;
}

/// The first bits of the address, the others zero.
Address masked(const Address& address, std::uint32_t length) noexcept {
  Address cut;
  const std::size_t whole = length / 8;
  std::copy_n(address.bytes.begin(), whole, cut.bytes.begin());
  if (length % 8 != 0) {
    cut.bytes.at(whole) = static_cast<std::uint8_t>(address.bytes.at(whole) & (0xff00U >> (length % 8)));
  }
  return cut;
}

bool isLess(const Address& a, const Address& b) noexcept {
  return std::memcmp(a.bytes.data(), b.bytes.data(), sizeof a.bytes) < 0;
}

}  // namespace

WantedPlaces::WantedPlaces(std::span<const sample_place> places, const Networks& networks)
    : places_(places), networks_(networks) {
  for (std::uint32_t place = 0; place < places.size(); place++) {
    const sample_place& wanted = places[place];
    if (wanted.length > kAddressBits || wanted.direction > kEither) {
      throw std::invalid_argument("places: no such length or direction");
    }
    if (wanted.direction != 1) add(kDestination, place);
    if (wanted.direction != 0) add(kSource, place);
  }
  for (auto& lengths : prefixes_) {
    for (Prefixes& prefixes : lengths) {
      std::stable_sort(prefixes.entries.begin(), prefixes.entries.end(),
                       [](const Entry& a, const Entry& b) { return isLess(a.address, b.address); });
    }
  }
}

void WantedPlaces::add(End end, std::uint32_t place) {
  const sample_place& wanted = places_[place];
  if (wanted.group != RECORD_NO_GROUP) {
    groups_.at(end).push_back({wanted.group, place});
    return;
  }
  auto& lengths = prefixes_.at(end);
  auto same = std::find_if(lengths.begin(), lengths.end(),
                           [&](const Prefixes& prefixes) { return prefixes.length == wanted.length; });
  if (same == lengths.end()) same = lengths.insert(same, Prefixes{wanted.length, {}});
  same->entries.push_back({masked(addressOf(wanted), wanted.length), place});
}

const Address* WantedPlaces::hostOf(std::uint32_t place) const noexcept {
  const sample_place& wanted = places_[place];
  if (wanted.group != RECORD_NO_GROUP || wanted.length != kAddressBits) return nullptr;
  static_assert(sizeof(Address) == sizeof wanted.address && alignof(Address) == 1);
  return reinterpret_cast<const Address*>(wanted.address);
}

bool WantedPlaces::has(std::uint32_t place, const Address& address) const noexcept {
  const sample_place& wanted = places_[place];
  if (wanted.group != RECORD_NO_GROUP) return groupOf(address) == wanted.group;
  return masked(address, wanted.length) == masked(addressOf(wanted), wanted.length);
}

std::uint32_t WantedPlaces::groupOf(const Address& address) const noexcept {
  const std::uint32_t place = networks_.match(address);
  return place == kNoPlace ? RECORD_NO_GROUP : networks_.places()[place].group;
}

std::span<const WantedPlaces::Entry> WantedPlaces::rangeOf(const Prefixes& prefixes, const Address& address) noexcept {
  const Address wanted = masked(address, prefixes.length);
  const auto begin =
      std::lower_bound(prefixes.entries.begin(), prefixes.entries.end(), wanted,
                       [](const Entry& entry, const Address& other) { return isLess(entry.address, other); });
  auto end = begin;
  while (end != prefixes.entries.end() && end->address == wanted) end++;
  return {begin, end};
}

}  // namespace floodwall
