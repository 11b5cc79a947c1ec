#include "flow/sampling_table.h"

#include <random>
#include <utility>

#include "flow/flow_bounds.h"

namespace floodwall {

SamplingTable::SamplingTable()
    : SamplingTable(static_cast<std::uint64_t>(std::random_device{}()) << 32 | std::random_device{}()) {}

SamplingTable::SamplingTable(std::uint64_t seed)
    : rates_(0, Hash{seed}), uses_(0, Hash{seed}), distinct_(0, Hash{seed}) {}

std::size_t SamplingTable::Hash::operator()(const Key& key) const noexcept {
  // Seeded, so that an exporter cannot choose keys of one bucket.
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t where = static_cast<std::uint64_t>(key.domain) << 32 |
                              static_cast<std::uint64_t>(key.port) << 16 |
                              static_cast<std::uint64_t>(key.protocol) << 8 | static_cast<std::uint64_t>(key.scope);
  const Wide product = static_cast<Wide>(key.id + seed) * ((where ^ (seed >> 1)) | 1);
  return static_cast<std::size_t>(product >> 64) ^ static_cast<std::size_t>(product);
}

bool SamplingTable::set(const DomainKey& domain, SamplingScope scope, std::uint64_t id, std::uint32_t rate) {
  DomainKey any = domain;
  any.port = 0;
  const bool hasRoom = put(domain, scope, id, rate);
  return put(any, scope, id, rate) && hasRoom;
}

bool SamplingTable::put(const DomainKey& domain, SamplingScope scope, std::uint64_t id, std::uint32_t rate) {
  const Key key{id, domain.number, domain.port, domain.protocol, scope};
  std::uint32_t before = 0;
  if (const auto known = rates_.find(key); known != rates_.end()) {
    if (known->second == rate) return true;
    before = std::exchange(known->second, rate);
  } else {
    if (rates_.size() >= 2 * kSamplingsMax) return false;
    rates_.emplace(key, rate);
    hasScope_[static_cast<std::size_t>(scope)] = true;
  }
  if (scope == SamplingScope::sampler) noteSampler(domain, before, rate);
  answers_ = {};
  return true;
}

void SamplingTable::noteSampler(const DomainKey& domain, std::uint32_t before, std::uint32_t rate) {
  Distinct& distinct = distinct_[{0, domain.number, domain.port, domain.protocol, SamplingScope::anySampler}];
  const auto use = [&](std::uint32_t of) {
    return Key{of, domain.number, domain.port, domain.protocol, SamplingScope::sampler};
  };
  if (uses_[use(rate)]++ == 0) {
    distinct.rates++;
    distinct.sum += rate;
  }
  if (const auto former = uses_.find(use(before)); before != 0 && --former->second == 0) {
    uses_.erase(former);
    distinct.rates--;
    distinct.sum -= before;
  }
  rates_[{0, domain.number, domain.port, domain.protocol, SamplingScope::anySampler}] =
      distinct.rates == 1 ? static_cast<std::uint32_t>(distinct.sum) : 0;
  hasScope_[static_cast<std::size_t>(SamplingScope::anySampler)] = true;
}

std::uint32_t SamplingTable::find(const Key& key) const {
  if (!hasScope_[static_cast<std::size_t>(key.scope)]) return 0;
  Answer& answer = answers_[(key.id ^ key.domain ^ static_cast<std::uint64_t>(key.scope) << 2) % answers_.size()];
  if (!answer.isValid || !(answer.key == key)) {
    const auto known = rates_.find(key);
    answer = {key, known == rates_.end() ? 0 : known->second, true};
  }
  return answer.rate;
}

std::uint32_t SamplingTable::rateOf(const DomainKey& domain, const Asked& asked) const {
  if (rates_.empty()) return 0;
  const std::uint32_t rate = rateWithin(domain, asked);
  if (rate != 0 || domain.port == 0) return rate;
  DomainKey any = domain;
  any.port = 0;
  return rateWithin(any, asked);
}

std::uint32_t SamplingTable::rateWithin(const DomainKey& domain, const Asked& asked) const {
  const auto in = [&](std::uint32_t number, SamplingScope scope, std::uint64_t id) {
    return find({id, number, domain.port, domain.protocol, scope});
  };
  std::uint32_t rate = 0;
  if (asked.hasSampler) {
    rate = in(domain.number, SamplingScope::sampler, asked.sampler);
    if (rate == 0 && domain.number != 0) rate = in(0, SamplingScope::sampler, asked.sampler);
  }
  if (rate == 0) rate = in(domain.number, SamplingScope::interface, asked.interface);
  if (rate == 0) rate = in(domain.number, SamplingScope::flowTemplate, asked.flowTemplate);
  if (rate == 0) rate = in(domain.number, SamplingScope::domain, 0);
  if (rate == 0 && !asked.hasSampler) rate = in(domain.number, SamplingScope::anySampler, 0);
  const auto hasSamplers = [&](std::uint32_t number) {
    return distinct_.contains({0, number, domain.port, domain.protocol, SamplingScope::anySampler});
  };
  const bool passedNone = rate == 0 && asked.hasSampler && asked.sampler == 0;
  return passedNone && (hasSamplers(domain.number) || hasSamplers(0)) ? 1 : rate;
}

void SamplingTable::addTo(std::vector<SamplingStatus>& samplings) const {
  for (const auto& [key, rate] : rates_) {
    if (key.scope == SamplingScope::anySampler || key.port != 0) continue;
    if (samplings.size() == kSamplingsShownMax) return;
    samplings.push_back({key.domain, key.id, rate, SamplingOrigin::options});
  }
}

std::size_t SamplingTable::memoryBytes() const noexcept {
  const std::size_t entries = rates_.size() + uses_.size() + distinct_.size();
  const std::size_t buckets = rates_.bucket_count() + uses_.bucket_count() + distinct_.bucket_count();
  return entries * (sizeof(Key) + sizeof(Distinct) + 2 * sizeof(void*)) + buckets * sizeof(void*);
}

}  // namespace floodwall
