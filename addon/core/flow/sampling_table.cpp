#include "flow/sampling_table.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

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

SamplingTable::Stored SamplingTable::set(const DomainKey& domain, const Said& said, bool mayChange,
                                         std::uint64_t nowMs) {
  DomainKey any = domain;
  any.port = 0;
  const bool isKnown = renew(keyOf(domain, said.scope, said.id), said.rate, nowMs);
  if (renew(keyOf(any, said.scope, said.id), said.rate, nowMs) && isKnown) return Stored::same;
  if (!mayChange) return Stored::refused;
  const bool hasRoom = put(domain, said, nowMs);
  return put(any, said, nowMs) && hasRoom ? Stored::changed : Stored::refused;
}

bool SamplingTable::renew(const Key& key, std::uint32_t rate, std::uint64_t nowMs) {
  const auto known = rates_.find(key);
  if (known == rates_.end() || known->second.rate != rate) return false;
  known->second.saidMs = nowMs;
  return true;
}

bool SamplingTable::put(const DomainKey& domain, const Said& said, std::uint64_t nowMs) {
  const Key key = keyOf(domain, said.scope, said.id);
  auto known = rates_.find(key);
  if (known == rates_.end()) {
    if (rates_.size() >= 2 * kSamplingsMax && !makeRoom(nowMs)) return false;
    known = rates_.emplace(key, Rate{}).first;
    hasScope_[static_cast<std::size_t>(said.scope)] = true;
  }
  const std::uint32_t before = std::exchange(known->second.rate, said.rate);
  known->second.saidMs = nowMs;
  if (before == said.rate) return true;
  if (said.scope == SamplingScope::sampler) noteSampler(key, before, said.rate);
  answers_ = {};
  return true;
}

/// Goes through all rates, and is done again at once only where it found enough.
bool SamplingTable::makeRoom(std::uint64_t nowMs) {
  constexpr std::uint64_t kLittleRoomMs = 100;
  constexpr std::size_t kEnough = kSamplingsMax / 32, kMost = kSamplingsMax / 8;
  if (littleRoomMs_ != 0 && nowMs - littleRoomMs_ < kLittleRoomMs) return false;
  std::vector<std::pair<std::uint64_t, Key>> idle, unused;
  for (const auto& [key, rate] : rates_) {
    if (key.scope == SamplingScope::anySampler) continue;
    if (nowMs > rate.saidMs && nowMs - rate.saidMs > kFlowIdleMs) {
      idle.emplace_back(rate.saidMs, key);
    } else if (!rate.isUsed) {
      unused.emplace_back(rate.saidMs, key);
    }
  }
  auto& going = idle.empty() ? unused : idle;
  std::sort(going.begin(), going.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  going.resize(std::min(going.size(), kMost));
  for (const auto& [saidMs, key] : going) {
    const std::uint32_t rate = rates_.at(key).rate;
    rates_.erase(key);
    if (key.scope == SamplingScope::sampler) noteSampler(key, rate, 0);
  }
  answers_ = {};
  littleRoomMs_ = going.size() < kEnough ? nowMs : 0;
  return rates_.size() < 2 * kSamplingsMax;
}

void SamplingTable::noteSampler(const Key& sampler, std::uint32_t before, std::uint32_t rate) {
  const Key all{0, sampler.domain, sampler.port, sampler.protocol, SamplingScope::anySampler};
  Distinct& distinct = distinct_[all];
  const auto use = [&](std::uint32_t of) {
    return Key{of, sampler.domain, sampler.port, sampler.protocol, SamplingScope::sampler};
  };
  if (rate != 0 && uses_[use(rate)]++ == 0) {
    distinct.rates++;
    distinct.sum += rate;
  }
  if (const auto former = uses_.find(use(before)); before != 0 && --former->second == 0) {
    uses_.erase(former);
    distinct.rates--;
    distinct.sum -= before;
  }
  if (distinct.rates == 0) {
    distinct_.erase(all);
    rates_.erase(all);
    return;
  }
  rates_[all].rate = distinct.rates == 1 ? static_cast<std::uint32_t>(distinct.sum) : 0;
  hasScope_[static_cast<std::size_t>(SamplingScope::anySampler)] = true;
}

std::uint32_t SamplingTable::find(const Key& key) const {
  if (!hasScope_[static_cast<std::size_t>(key.scope)]) return 0;
  Answer& answer = answers_[(key.id ^ key.domain ^ static_cast<std::uint64_t>(key.scope) << 2) % answers_.size()];
  if (!answer.isValid || !(answer.key == key)) {
    const auto known = rates_.find(key);
    if (known != rates_.end()) known->second.isUsed = true;
    answer = {key, known == rates_.end() ? 0 : known->second.rate, true};
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
  const auto hasSamplers = [&](std::uint32_t number) {
    return distinct_.contains({0, number, domain.port, domain.protocol, SamplingScope::anySampler});
  };
  const bool passedNone = asked.hasSampler && asked.sampler == 0;
  std::uint32_t rate = 0;
  if (asked.hasSampler) {
    rate = in(domain.number, SamplingScope::sampler, asked.sampler);
    if (rate == 0 && domain.number != 0) rate = in(0, SamplingScope::sampler, asked.sampler);
  }
  const auto ofAll = [&](std::uint32_t number) {
    if (rate == 0) rate = in(number, SamplingScope::interface, asked.interface);
    // Templates are of one domain (RFC 7011, 8).
    if (rate == 0 && number == domain.number) rate = in(number, SamplingScope::flowTemplate, asked.flowTemplate);
    if (rate == 0) rate = in(number, SamplingScope::domain, 0);
    if (rate == 0 && !asked.hasSampler) rate = in(number, SamplingScope::anySampler, 0);
  };
  ofAll(domain.number);
  if (rate == 0 && passedNone && hasSamplers(domain.number)) return 1;
  if (domain.number != 0) ofAll(0);
  return rate == 0 && passedNone && hasSamplers(0) ? 1 : rate;
}

void SamplingTable::addTo(std::vector<SamplingStatus>& samplings) const {
  for (const auto& [key, rate] : rates_) {
    if (key.scope == SamplingScope::anySampler || key.port != 0) continue;
    if (samplings.size() == kSamplingsShownMax) return;
    samplings.push_back({key.domain, key.id, rate.rate, SamplingOrigin::options});
  }
}

std::size_t SamplingTable::memoryBytes() const noexcept {
  const std::size_t entries = rates_.size() + uses_.size() + distinct_.size();
  const std::size_t buckets = rates_.bucket_count() + uses_.bucket_count() + distinct_.bucket_count();
  return entries * (sizeof(Key) + sizeof(Rate) + 2 * sizeof(void*)) + buckets * sizeof(void*);
}

}  // namespace floodwall
