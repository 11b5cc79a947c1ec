#include "flow/waiting_sets.h"

#include <algorithm>

#include "flow/flow_bounds.h"

namespace floodwall {

bool WaitingSets::keep(const FlowDomain& domain, std::uint16_t id, const MessageTimes& times, ByteSpan records,
                       std::uint64_t nowMs) {
  const std::size_t size = kBytesBeforeRecords + records.size();
  if (sets_.size() == kWaitingSetsMax || bytes_ + size + sizeof(Set) > kWaitingBytesMax) return false;
  Set set{domain.key, id, times, nowMs, std::vector<std::uint8_t>(size)};
  std::copy(records.begin(), records.end(), set.bytes.begin() + kBytesBeforeRecords);
  sets_.push_back(std::move(set));
  bytes_ += size + sizeof(Set);
  return true;
}

std::vector<WaitingSets::Set> WaitingSets::take(const FlowDomain& domain, std::uint16_t id) {
  std::vector<Set> taken;
  std::erase_if(sets_, [&](Set& set) {
    if (set.id != id || set.domain != domain.key) return false;
    bytes_ -= set.bytes.size() + sizeof(Set);
    taken.push_back(std::move(set));
    return true;
  });
  if (sets_.empty()) sets_ = {};
  return taken;
}

void WaitingSets::expire(std::uint64_t nowMs, Undecoded& undecoded) {
  // They are in the order in which they came.
  std::size_t expired = 0;
  while (expired < sets_.size() && nowMs > sets_[expired].sinceMs && nowMs - sets_[expired].sinceMs > kWaitingMs) {
    const Set& set = sets_[expired++];
    undecoded.count(UndecodedKind::templateUnknown, set.domain.number, set.id, 0);
    bytes_ -= set.bytes.size() + sizeof(Set);
  }
  sets_.erase(sets_.begin(), sets_.begin() + static_cast<std::ptrdiff_t>(expired));
  if (sets_.empty()) sets_ = {};
}

}  // namespace floodwall
