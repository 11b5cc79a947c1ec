#include "filter/outcome_table.h"

#include <algorithm>

namespace floodwall {

OutcomeTable::OutcomeTable(const FilterMaps& maps) : maps_(maps), buckets_(maps.outcomeWays()) {
  __atomic_store_n(&maps_.head().watched, 0, __ATOMIC_RELEASE);
  for (filter_bucket& bucket : maps_.outcomeWays()) {
    for (__u32& way : bucket.ways) __atomic_store_n(&way, 0, __ATOMIC_RELEASE);
    bucket.elsewhere = 0;
  }
  for (std::uint32_t i = 0; i < OUTCOME_DESTINATIONS_MAX; i++) free_.push_back(i);
}

std::uint64_t OutcomeTable::hashOf(const ip_address& destination) const {
  return filter_prefix_hash(&destination, 128, maps_.head().seed);
}

void OutcomeTable::watch(std::span<const ip_address> destinations) {
  decltype(numbers_) next;
  std::vector<ip_address> added;
  for (const ip_address& destination : destinations) {
    const auto known = numbers_.find(destination);
    if (known == numbers_.end()) {
      added.push_back(destination);
    } else {
      next.insert(*known);
    }
  }
  for (const auto& [destination, number] : numbers_) {
    if (!next.contains(destination)) remove(destination, number);
  }
  numbers_ = std::move(next);
  for (const ip_address& destination : added) {
    if (numbers_.contains(destination)) continue;
    const std::uint32_t number = add(destination);
    if (number != kNone) numbers_.emplace(destination, number);
  }
  order_.clear();
  for (const ip_address& destination : destinations) {
    const auto known = numbers_.find(destination);
    order_.push_back(known == numbers_.end() ? kNone : known->second);
  }
  __atomic_store_n(&maps_.head().watched, static_cast<__u32>(numbers_.size()), __ATOMIC_RELEASE);
}

std::uint32_t OutcomeTable::add(const ip_address& destination) {
  if (free_.empty()) return kNone;
  const std::uint32_t number = free_.front();
  maps_.outcomeDestinations()[number] = destination;
  for (std::uint32_t stripe = 0; stripe < maps_.head().stripes; stripe++) {
    maps_.outcomeRows()[std::size_t{stripe} * OUTCOME_DESTINATIONS_MAX + number] = {};
  }
  if (!buckets_.insertFirst(hashOf(destination), number)) return kNone;
  free_.pop_front();
  return number;
}

void OutcomeTable::remove(const ip_address& destination, std::uint32_t number) {
  buckets_.erase(hashOf(destination), number);
  free_.push_back(number);
}

std::vector<OutcomeTable::Counts> OutcomeTable::read() const {
  std::vector<Counts> all(order_.size());
  const auto rows = maps_.outcomeRows();
  const std::uint32_t stripes = maps_.head().stripes;
  for (std::size_t i = 0; i < order_.size(); i++) {
    if (order_[i] == kNone) continue;
    all[i].isWatched = true;
    for (std::uint32_t stripe = 0; stripe < stripes; stripe++) {
      const outcome_row& row = rows[std::size_t{stripe} * OUTCOME_DESTINATIONS_MAX + order_[i]];
      for (std::size_t outcome = 0; outcome < OUTCOMES; outcome++) {
        filter_count& sum = all[i].row.outcomes[outcome];
        sum.packets += __atomic_load_n(&row.outcomes[outcome].packets, __ATOMIC_RELAXED);
        sum.bytes += __atomic_load_n(&row.outcomes[outcome].bytes, __ATOMIC_RELAXED);
      }
    }
  }
  return all;
}

}  // namespace floodwall
