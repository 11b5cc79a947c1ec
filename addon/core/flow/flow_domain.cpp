#include "flow/flow_domain.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "flow/eviction.h"
#include "flow/flow_bounds.h"

namespace floodwall {
namespace {

auto placeOf(const FlowDomain& domain, std::uint16_t id) noexcept {
  return std::lower_bound(domain.templates.begin(), domain.templates.end(), id,
                          [](const auto& flowTemplate, std::uint16_t wanted) { return flowTemplate->id < wanted; });
}

/// Where a search for room found less, the next one is only so much later: each goes through all templates.
constexpr std::size_t kEnoughRoom = 32;
constexpr std::uint64_t kLittleRoomMs = 100;
/// The most that are evicted at once.
constexpr std::size_t kDisplacedMost = 128;

/// A template that may be evicted.
struct Candidate {
  EvictionRank rank;
  std::uint64_t lastMs;
  FlowDomain* domain;
  std::uint16_t id;
};

/// The candidates of the lowest rank, from `unproven` on those of the domain that has most of them.
void keepFirst(std::vector<Candidate>& candidates) {
  const auto byRank = [](const Candidate& a, const Candidate& b) { return a.rank < b.rank; };
  const EvictionRank first = std::min_element(candidates.begin(), candidates.end(), byRank)->rank;
  std::erase_if(candidates, [&](const Candidate& one) { return one.rank != first; });
  if (first < EvictionRank::unproven) return;
  // Those of one domain lie together.
  const FlowDomain* largest = nullptr;
  std::size_t most = 0;
  for (std::size_t i = 0, from = 0; i < candidates.size(); i++) {
    if (candidates[i].domain != candidates[from].domain) from = i;
    if (i - from + 1 <= most) continue;
    most = i - from + 1;
    largest = candidates[i].domain;
  }
  std::erase_if(candidates, [&](const Candidate& one) { return one.domain != largest; });
}

}  // namespace

FlowTemplate* FlowDomain::find(std::uint16_t id) const noexcept {
  const auto place = placeOf(*this, id);
  return place != templates.end() && (*place)->id == id ? place->get() : nullptr;
}

void FlowDomains::forgetTemplates(FlowDomain& domain) noexcept {
  templates_ -= domain.templates.size();
  domain.templates.clear();
}

void FlowDomains::forgetTemplatesBefore(FlowDomain& domain, std::uint64_t beforeMs, std::uint16_t inUse) noexcept {
  templates_ -=
      std::erase_if(domain.templates, [&](const auto& one) { return one->seenMs < beforeMs && one->id != inUse; });
}

FlowDomain* FlowDomains::restore(std::unique_ptr<FlowDomain> domain) {
  const auto hasItsKey = [&](const auto& one) { return one->key == domain->key; };
  if (domains_.size() == kFlowDomainsMax || std::any_of(domains_.begin(), domains_.end(), hasItsKey)) return nullptr;
  domains_.push_back(std::move(domain));
  return domains_.back().get();
}

bool FlowDomain::goesOn(std::uint16_t port, std::uint32_t number) const noexcept {
  // Few enough that two processes, each with a sequence of its own, are hardly ever taken for one.
  constexpr std::uint32_t kSkippedMost = 16, kReordered = 1024;
  const bool isKnown = std::find(otherPorts.begin(), otherPorts.end(), port) != otherPorts.end();
  // Records that it sent meanwhile are not known.
  if (isKnown && isRestored) return true;
  if (isKnown && sequence.isNext(number + kReordered, 2 * kReordered)) return true;
  return number != 0 && sequence.isNext(number, kSkippedMost);
}

/// Past the end if there is none.
std::size_t FlowDomains::indexOf(const DomainKey& key, std::uint32_t number) noexcept {
  std::size_t other = domains_.size();
  work_ += domains_.size();
  for (std::size_t i = 0; i < domains_.size(); i++) {
    FlowDomain& domain = *domains_[i];
    if (domain.key == key) return i;
    DomainKey any = domain.key;
    any.port = key.port;
    if (any == key && domain.goesOn(key.port, number)) other = i;
  }
  if (other == domains_.size()) return other;
  FlowDomain& domain = *domains_[other];
  const auto known = std::find(domain.otherPorts.begin(), domain.otherPorts.end(), key.port);
  if (known == domain.otherPorts.end()) domain.otherPorts[domain.nextPort++ % domain.otherPorts.size()] = key.port;
  return other;
}

FlowDomain* FlowDomains::of(const DomainKey& key, std::uint32_t number, std::uint64_t nowMs) {
  // Most exporters have one.
  if (last_ >= domains_.size() || domains_[last_]->key != key) {
    last_ = indexOf(key, number);
    if (last_ == domains_.size()) {
      if (!makeRoomForDomain(key, nowMs)) return nullptr;
      last_ = domains_.size();
      domains_.push_back(std::make_unique<FlowDomain>());
      domains_.back()->key = key;
    }
  }
  domains_[last_]->seenMs = nowMs;
  return domains_[last_].get();
}

FlowDomains::Stored FlowDomains::store(FlowDomain& domain, std::unique_ptr<FlowTemplate> flowTemplate,
                                       std::uint64_t nowMs) {
  const std::uint16_t id = flowTemplate->id;
  const auto find = [&] { return domain.templates.begin() + (placeOf(domain, id) - domain.templates.cbegin()); };
  if (const auto place = find(); place != domain.templates.end() && (*place)->id == id) {
    *place = std::move(flowTemplate);
    return Stored::changed;
  }
  if (domain.templates.size() >= kDomainTemplatesMax && !makeRoomForTemplate(domain, true, nowMs))
    return Stored::refused;
  if (templates_ >= kTemplatesMax && !makeRoomForTemplate(domain, false, nowMs)) return Stored::refused;
  domain.templates.insert(find(), std::move(flowTemplate));
  templates_++;
  return Stored::added;
}

bool FlowDomains::makeRoomForDomain(const DomainKey& comer, std::uint64_t nowMs) {
  if (domains_.size() < kFlowDomainsMax) return true;
  work_ += domains_.size();
  // Ports that share a place are taken for one.
  std::array<std::uint16_t, 256> ofPort{};
  const auto count = [&](const DomainKey& key) -> std::uint16_t& {
    return ofPort[(key.port ^ key.port >> 8) % ofPort.size()];
  };
  for (const auto& domain : domains_) count(domain->key)++;
  const auto claimOf = [&](const FlowDomain& domain) {
    const EvictionRank rank = evictionRankOf(domain.seenMs, domain.use, true, nowMs);
    const int others = rank == EvictionRank::proven ? -count(domain.key) : 0;
    return std::tuple(rank, others, domain.seenMs);
  };
  std::size_t first = 0;
  auto least = claimOf(*domains_[0]);
  for (std::size_t i = 1; i < domains_.size(); i++) {
    const auto claim = claimOf(*domains_[i]);
    if (claim >= least) continue;
    least = claim;
    first = i;
  }
  const EvictionRank rank = std::get<EvictionRank>(least);
  const bool hasMore = count(domains_[first]->key) > count(comer) + 1;
  if (rank == EvictionRank::kept || (rank == EvictionRank::proven && !hasMore)) return false;
  const std::size_t gone = domains_[first]->templates.size();
  templates_ -= gone;
  if (rank != EvictionRank::idle) displaced_ += gone;
  std::swap(domains_[first], domains_.back());
  domains_.pop_back();
  return true;
}

bool FlowDomains::makeRoomForTemplate(const FlowDomain& comer, bool isShareFull, std::uint64_t nowMs) {
  if (littleRoomMs_ != 0 && nowMs - littleRoomMs_ < kLittleRoomMs) return false;
  const std::size_t freed = displaceTemplates(comer, isShareFull, nowMs);
  littleRoomMs_ = freed < kEnoughRoom ? nowMs : 0;
  return freed != 0;
}

std::size_t FlowDomains::displaceTemplates(const FlowDomain& comer, bool isShareFull, std::uint64_t nowMs) {
  static thread_local std::vector<Candidate> candidates;
  candidates.clear();
  for (const auto& domain : domains_) {
    if (isShareFull && domain.get() != &comer) continue;
    const bool isOfStranger = domain->use.lastMs == 0;
    for (const auto& one : domain->templates) {
      const EvictionRank rank = evictionRankOf(one->seenMs, one->use, isOfStranger, nowMs);
      const std::uint64_t lastMs = rank == EvictionRank::proven ? one->use.lastMs : one->seenMs;
      if (rank != EvictionRank::kept) candidates.push_back({rank, lastMs, domain.get(), one->id});
    }
  }
  work_ += isShareFull ? comer.templates.size() : templates_;
  if (candidates.empty()) return 0;
  keepFirst(candidates);
  const EvictionRank rank = candidates[0].rank;
  std::size_t count = candidates.size();
  if (rank >= EvictionRank::unproven) count = (count + 1) / 2;
  if (rank == EvictionRank::proven) {
    // Until shares are equal.
    const std::size_t theirs = candidates[0].domain->templates.size(), own = comer.templates.size();
    count = std::min(count, theirs > own ? (theirs - own) / 2 : 0);
    if (count == 0) return 0;
  }
  if (rank != EvictionRank::idle) {
    count = std::min(count, kDisplacedMost);
    std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(count) - 1, candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.lastMs < b.lastMs; });
    displaced_ += count;
  }
  for (std::size_t i = 0; i < count; i++) {
    auto& templates = candidates[i].domain->templates;
    templates.erase(templates.begin() + (placeOf(*candidates[i].domain, candidates[i].id) - templates.cbegin()));
  }
  templates_ -= count;
  return count;
}

std::size_t FlowDomains::memoryBytes() const noexcept {
  std::size_t bytes = domains_.capacity() * sizeof domains_[0];
  for (const auto& domain : domains_) {
    bytes += sizeof *domain + domain->templates.capacity() * sizeof domain->templates[0];
    for (const auto& flowTemplate : domain->templates) bytes += flowTemplate->memoryBytes();
  }
  return bytes;
}

}  // namespace floodwall
