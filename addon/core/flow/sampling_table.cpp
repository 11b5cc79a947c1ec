#include "flow/sampling_table.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "flow/flow_bounds.h"

namespace floodwall {

SamplingTable::SamplingTable()
    : SamplingTable(static_cast<std::uint64_t>(std::random_device{}()) << 32 | std::random_device{}()) {}

SamplingTable::SamplingTable(std::uint64_t seed) : rates_(0, Hash{seed}), uses_(0, Hash{seed}) {}

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
  const Key key = keyOf(domain, said.scope, said.id);
  if (said.scope == SamplingScope::domain) forgetNearer(key, nowMs);
  const bool isKnown = renew(key, said, nowMs);
  if (renew(keyOf(any, said.scope, said.id), said, nowMs) && isKnown) return Stored::same;
  if (!mayChange) return Stored::refused;
  const bool hasRoom = put(domain, said, nowMs);
  return put(any, said, nowMs) && hasRoom ? Stored::changed : Stored::refused;
}

bool SamplingTable::renew(const Key& key, const Said& said, std::uint64_t nowMs) {
  const auto known = rates_.find(key);
  if (known == rates_.end() || known->second.rate != said.rate) return false;
  known->second.saidMs = nowMs;
  known->second.by = said.by;
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
  known->second.by = said.by;
  if (before == said.rate) return true;
  noteOneOfSeveral(key, before, said.rate);
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
    if (isOfSeveral(key.scope)) continue;
    if (nowMs > rate.saidMs && nowMs - rate.saidMs > kFlowIdleMs) {
      idle.emplace_back(rate.saidMs, key);
    } else if (!rate.isUsed) {
      unused.emplace_back(rate.saidMs, key);
    }
  }
  auto& going = idle.empty() ? unused : idle;
  std::sort(going.begin(), going.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  going.resize(std::min(going.size(), kMost));
  std::vector<Key> keys;
  keys.reserve(going.size());
  for (const auto& [saidMs, key] : going) keys.push_back(key);
  erase(keys);
  littleRoomMs_ = going.size() < kEnough ? nowMs : 0;
  return rates_.size() < 2 * kSamplingsMax;
}

void SamplingTable::erase(std::span<const Key> keys) {
  for (const Key& key : keys) {
    const std::uint32_t rate = rates_.at(key).rate;
    rates_.erase(key);
    noteOneOfSeveral(key, rate, 0);
  }
  answers_ = {};
}

bool SamplingTable::forgetSaidBy(std::uint64_t by, std::uint64_t nowMs) {
  constexpr std::uint64_t kLeastMs = 100;
  if (forgotMs_ != 0 && nowMs - forgotMs_ < kLeastMs) return false;
  forgotMs_ = nowMs;
  std::vector<Key> keys;
  for (const auto& [key, rate] : rates_) {
    if (rate.by == by) keys.push_back(key);
  }
  erase(keys);
  return true;
}

/// Options are repeated within the hour; what is not is no longer so. Records fall back to what `wide` says.
void SamplingTable::forgetNearer(const Key& wide, std::uint64_t nowMs) {
  constexpr std::uint64_t kLeastMs = 1000;
  using enum SamplingScope;
  if (nowMs - forgotNearerMs_ < kLeastMs || !(has(interface) || has(flowTemplate) || has(part))) return;
  forgotNearerMs_ = nowMs;
  std::vector<Key> keys;
  for (const auto& [key, rate] : rates_) {
    const bool isNearer = key.scope == interface || key.scope == flowTemplate || key.scope == part;
    const bool isOfDomain = key.domain == wide.domain && key.protocol == wide.protocol;
    // Rates of all ports go: those of a process that is gone hold for others too.
    if (isNearer && isOfDomain && nowMs > rate.saidMs + kFlowIdleMs) keys.push_back(key);
  }
  erase(keys);
}

void SamplingTable::noteOneOfSeveral(const Key& one, std::uint32_t before, std::uint32_t rate) {
  const bool isSampler = one.scope == SamplingScope::sampler;
  if (!isSampler && one.scope != SamplingScope::part) return;
  const SamplingScope scope = isSampler ? SamplingScope::anySampler : SamplingScope::anyPart;
  const Key all{0, one.domain, one.port, one.protocol, scope};
  Uses& uses = uses_[all];
  if (rate != 0) uses[rate]++;
  if (const auto former = uses.find(before); former != uses.end() && --former->second == 0) uses.erase(former);
  if (uses.empty()) {
    uses_.erase(all);
    rates_.erase(all);
    return;
  }
  rates_[all].rate = isSampler && uses.size() != 1 ? 0 : uses.begin()->first;
  hasScope_[static_cast<std::size_t>(scope)] = true;
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
    return uses_.contains({0, number, domain.port, domain.protocol, SamplingScope::anySampler});
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
    if (rate == 0 && asked.part != 0) rate = in(number, SamplingScope::part, asked.part);
    if (rate == 0) rate = in(number, SamplingScope::domain, 0);
    if (rate == 0) rate = in(number, SamplingScope::anyPart, 0);
    if (rate == 0 && !asked.hasSampler) rate = in(number, SamplingScope::anySampler, 0);
  };
  ofAll(domain.number);
  if (rate == 0 && passedNone && hasSamplers(domain.number)) return 1;
  if (domain.number != 0) ofAll(0);
  return rate == 0 && passedNone && hasSamplers(0) ? 1 : rate;
}

void SamplingTable::addTo(std::vector<SamplingStatus>& samplings) const {
  for (const auto& [key, rate] : rates_) {
    if (isOfSeveral(key.scope) || key.port != 0) continue;
    if (samplings.size() == kSamplingsShownMax) return;
    samplings.push_back({key.domain, key.id, rate.rate, SamplingOrigin::options});
  }
}

std::size_t SamplingTable::memoryBytes() const noexcept {
  std::size_t bytes = (rates_.bucket_count() + uses_.bucket_count()) * sizeof(void*) +
                      rates_.size() * (sizeof(Rates::value_type) + 2 * sizeof(void*));
  for (const auto& [key, uses] : uses_) {
    bytes += sizeof(key) + sizeof(Uses) + 2 * sizeof(void*);
    bytes += uses.size() * (sizeof(Uses::value_type) + 4 * sizeof(void*));
  }
  return bytes;
}

}  // namespace floodwall
