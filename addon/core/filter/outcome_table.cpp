#include "filter/outcome_table.h"

#include <algorithm>

#include "base/boot_clock.h"

namespace floodwall {
namespace {

/// The program may be writing: each number is whole, and a packet more or less does not matter.
void addTo(outcome_row& sum, const outcome_row& row) {
  for (std::size_t outcome = 0; outcome < OUTCOMES; outcome++) {
    sum.outcomes[outcome].packets += __atomic_load_n(&row.outcomes[outcome].packets, __ATOMIC_RELAXED);
    sum.outcomes[outcome].bytes += __atomic_load_n(&row.outcomes[outcome].bytes, __ATOMIC_RELAXED);
  }
}

}  // namespace

OutcomeTable::OutcomeTable(const FilterMaps& maps)
    : maps_(maps), buckets_(maps.outcomeWays()), early_(OUTCOME_DESTINATIONS_MAX) {
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
  const std::uint64_t hash = hashOf(destination);
  if (!buckets_.insertFirst(hash, number)) return kNone;
  free_.pop_front();
  // From here on the program counts into the rows; what it kept from the destination until now comes on top.
  early_[number] = takeEarly(destination, hash);
  return number;
}

outcome_row OutcomeTable::takeEarly(const ip_address& destination, std::uint64_t hash) {
  outcome_row sum{};
  const std::uint64_t nowNs = bootNs();
  for (std::uint32_t stripe = 0; stripe < maps_.head().stripes; stripe++) {
    const std::uint32_t index = static_cast<std::uint32_t>(hash) & (OUTCOME_EARLY_ROWS - 1);
    outcome_early& row = maps_.earlyOutcomes()[std::size_t{stripe} * OUTCOME_EARLY_ROWS + index];
    if (row.last_ns == 0 || !SameAddress{}(row.destination, destination)) continue;
    if (row.begun_ns + OUTCOME_EARLY_NS > nowNs) addTo(sum, row.before);
    if (row.begun_ns + 2 * OUTCOME_EARLY_NS > nowNs) addTo(sum, row.now);
    // Counted once, also if the destination is watched again soon.
    row = {};
  }
  return sum;
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
    all[i].row = early_[order_[i]];
    for (std::uint32_t stripe = 0; stripe < stripes; stripe++) {
      addTo(all[i].row, rows[std::size_t{stripe} * OUTCOME_DESTINATIONS_MAX + order_[i]]);
    }
  }
  return all;
}

}  // namespace floodwall
