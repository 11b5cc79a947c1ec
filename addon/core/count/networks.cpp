#include "count/networks.h"

#include <stdexcept>
#include <string>
#include <unordered_map>

namespace floodwall {
namespace {

void check(const NetworksColumns& columns) {
  const std::size_t count = columns.lengths.size();
  if (count > kPrefixesMax)
    throw std::invalid_argument("networks: more than " + std::to_string(kPrefixesMax) + " prefixes");
  if (columns.addresses.size() != count * 16 || columns.networks.size() != count || columns.groups.size() != count) {
    throw std::invalid_argument("networks: columns differ in length");
  }
  if (columns.networkCount > kPrefixesMax || columns.groupCount > kPrefixesMax) {
    throw std::invalid_argument("networks: more than " + std::to_string(kPrefixesMax) + " networks or groups");
  }
  for (std::size_t i = 0; i < count; i++) {
    if (columns.lengths[i] > 128) throw std::invalid_argument("networks: prefix length over 128");
    if (columns.networks[i] >= columns.networkCount || columns.groups[i] >= columns.groupCount) {
      throw std::invalid_argument("networks: identifier not below its count");
    }
  }
}

}  // namespace

Networks::Networks(const NetworksColumns& columns) : groupCount_(columns.groupCount) {
  check(columns);
  placeOfNetwork_.assign(columns.networkCount, kNoPlace);
  std::vector<std::uint8_t> shortest(columns.networkCount, 255);
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  std::vector<PrefixValue> prefixes(columns.lengths.size());
  for (std::size_t i = 0; i < prefixes.size(); i++) {
    const Place place{columns.networks[i], columns.groups[i]};
    const auto [found, isFresh] = known.try_emplace(static_cast<std::uint64_t>(place.network) << 32 | place.group,
                                                    static_cast<std::uint32_t>(places_.size()));
    if (isFresh) places_.push_back(place);
    prefixes[i].length = columns.lengths[i];
    prefixes[i].value = found->second;
    std::memcpy(prefixes[i].address.bytes.data(), &columns.addresses[i * 16], 16);
    if (columns.lengths[i] < shortest[place.network]) {
      shortest[place.network] = columns.lengths[i];
      placeOfNetwork_[place.network] = found->second;
    }
  }
  table_ = PrefixTable(prefixes);
}

}  // namespace floodwall
