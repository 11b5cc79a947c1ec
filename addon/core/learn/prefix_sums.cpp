#include "learn/prefix_sums.h"

#include <algorithm>
#include <cstring>

namespace floodwall {
namespace {

/// One packet per second.
constexpr double kLeastSize = 0.01;
/// As of an attack (src/detection/attack/attack-size.ts).
constexpr double kPacketsPerMegabit = 100;

std::uint32_t wordAt(const std::uint8_t* bytes) noexcept {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

/// The first bits of an address; of IPv6 at most kBitsMax, since a longer prefix is a network by itself.
std::uint64_t firstBits(const std::uint8_t* address, const SummedNetwork& network) noexcept {
  if (network.isIpv4) return std::uint64_t{wordAt(address + 12)} >> (32 - network.length);
  const std::uint64_t first = std::uint64_t{wordAt(address)} << 20 | wordAt(address + 4) >> 12;
  return first >> (PrefixSums::kBitsMax - std::min<unsigned>(network.length, PrefixSums::kBitsMax));
}

struct Name {
  std::uint32_t group, network;
  std::uint64_t bits;
};
static_assert(sizeof(Name) == sizeof(Address));

}  // namespace

PrefixSums::PrefixSums(std::uint32_t capacity)
    : capacity_(capacity), prefixes_(capacity, Pages::small), sums_(capacity, Pages::small) {
  index_.emplace(capacity_);
}

void PrefixSums::setNetworks(std::vector<SummedNetwork> networks) {
  networks_ = std::move(networks);
  clear();
}

void PrefixSums::begin() noexcept {
  // Otherwise a packet a minute to each of very many prefixes would keep out those that are attacked.
  if (count_ == capacity_) {
    least_ = std::max(kLeastSize, 2 * least_);
    clear();
  } else if (count_ < capacity_ / 4) {
    least_ = least_ > kLeastSize ? least_ / 2 : 0;
  }
  std::fill_n(sums_.data(), count_, Sums{});
}

bool PrefixSums::add(const HostColumns& rows, std::size_t row) {
  const std::uint32_t prefix = prefixOf(rows, row);
  if (prefix == kNoRow) return false;
  Sums& to = sums_[prefix];
  const double* const rates = &rows.incoming[row * kMetrics];
  for (std::size_t i = 0; i < kMetrics; i++) {
    to.sums[i] += rates[i];
    to.squares[i] += rates[i] * rates[i];
  }
  for (std::size_t i = 0; i < kVariances; i++) {
    const double weight = rows.weights[row * kWeights + i];
    if (weight > 0) to.variances[i] += weight * rates[i];
  }
  return prefixes_[prefix].isAttacked;
}

void PrefixSums::read(const PrefixColumns& out) const {
  const std::size_t rows = std::min<std::size_t>(out.variances.size() / kVariances, count_);
  for (std::size_t i = 0; i < rows; i++) {
    const Sums& sums = sums_[i];
    std::ranges::copy(sums.sums, &out.sums[i * kMetrics]);
    std::ranges::copy(sums.squares, &out.squares[i * kMetrics]);
    std::ranges::copy(sums.variances, &out.variances[i * kVariances]);
  }
}

void PrefixSums::readNames(std::uint32_t first, const PrefixNames& out) const {
  const std::size_t rows = std::min<std::size_t>(out.groups.size(), count_ - std::min(first, count_));
  for (std::size_t i = 0; i < rows; i++) {
    const Prefix& prefix = prefixes_[first + i];
    Name name{};
    std::memcpy(&name, prefix.key.bytes.data(), sizeof(name));
    out.groups[i] = name.group;
    out.networks[i] = name.network;
    out.bits[i] = static_cast<double>(name.bits);
    std::ranges::copy(prefix.host.bytes, &out.addresses[i * sizeof(Address)]);
  }
}

void PrefixSums::setAttacked(std::span<const std::uint8_t> isAttacked) noexcept {
  for (std::uint32_t i = 0; i < count_; i++) prefixes_[i].isAttacked = i < isAttacked.size() && isAttacked[i] != 0;
}

std::uint32_t PrefixSums::prefixOf(const HostColumns& rows, std::size_t row) {
  const std::uint32_t network = rows.networks[row];
  // The row refers to a table that a reload has just replaced.
  if (network >= networks_.size()) return kNoRow;
  const std::uint8_t* const address = &rows.addresses[row * sizeof(Address)];
  const Name name{rows.groups[row], network, firstBits(address, networks_[network])};
  Address key;
  std::memcpy(key.bytes.data(), &name, sizeof(name));
  if (last_ != kNoRow && prefixes_[last_].key == key) return last_;
  const std::uint64_t hash = hash_.of(key);
  last_ = index_->find(hash, [&](std::uint32_t prefix) { return prefixes_[prefix].key == key; });
  if (last_ != kNoRow) return last_;
  if (isTooSmall(&rows.incoming[row * kMetrics]) || count_ == capacity_) {
    overflow_++;
    return kNoRow;
  }
  last_ = count_++;
  prefixes_[last_] = {.key = key, .host = {}, .isAttacked = false};
  std::memcpy(prefixes_[last_].host.bytes.data(), address, sizeof(Address));
  sums_[last_] = {};
  index_->insert(hash, last_, hashOfPrefix());
  return last_;
}

bool PrefixSums::isTooSmall(const double* rates) const noexcept {
  return least_ > 0 && std::max(rates[0] / kPacketsPerMegabit, rates[1]) < least_;
}

void PrefixSums::clear() noexcept {
  count_ = 0;
  generation_++;
  last_ = kNoRow;
  index_.emplace(capacity_);
}

}  // namespace floodwall
