#include "flow/flow_domain.h"

#include <algorithm>

#include "flow/flow_bounds.h"

namespace floodwall {
namespace {

auto placeOf(const FlowDomain& domain, std::uint16_t id) noexcept {
  return std::lower_bound(domain.templates.begin(), domain.templates.end(), id,
                          [](const auto& flowTemplate, std::uint16_t wanted) { return flowTemplate->id < wanted; });
}

bool isIdle(std::uint64_t seenMs, std::uint64_t nowMs) noexcept {
  return nowMs > seenMs && nowMs - seenMs > kFlowIdleMs;
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

bool FlowDomain::goesOn(std::uint16_t port, std::uint32_t number) const noexcept {
  // Few enough that two processes, each with a sequence of its own, are hardly ever taken for one.
  constexpr std::uint32_t kSkippedMost = 16, kReordered = 1024;
  const bool isKnown = std::find(otherPorts.begin(), otherPorts.end(), port) != otherPorts.end();
  if (isKnown && sequence.isNext(number + kReordered, 2 * kReordered)) return true;
  return number != 0 && sequence.isNext(number, kSkippedMost);
}

/// Past the end if there is none.
std::size_t FlowDomains::indexOf(const DomainKey& key, std::uint32_t number) noexcept {
  std::size_t other = domains_.size();
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
      if (!makeRoomForDomain(nowMs)) return nullptr;
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
  if (templates_ >= kTemplatesMax && !makeRoomForTemplate(nowMs)) return Stored::refused;
  domain.templates.insert(find(), std::move(flowTemplate));
  templates_++;
  return Stored::added;
}

bool FlowDomains::makeRoomForDomain(std::uint64_t nowMs) {
  if (domains_.size() < kFlowDomainsMax) return true;
  const auto oldest = std::min_element(domains_.begin(), domains_.end(),
                                       [](const auto& a, const auto& b) { return a->seenMs < b->seenMs; });
  if (!isIdle((*oldest)->seenMs, nowMs)) return false;
  templates_ -= (*oldest)->templates.size();
  domains_.erase(oldest);
  return true;
}

bool FlowDomains::makeRoomForTemplate(std::uint64_t nowMs) {
  std::size_t freed = 0;
  for (const auto& domain : domains_) {
    freed +=
        std::erase_if(domain->templates, [&](const auto& flowTemplate) { return isIdle(flowTemplate->seenMs, nowMs); });
  }
  templates_ -= freed;
  return freed != 0;
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
