#include "collector/exporter_table.h"

#include <algorithm>
#include <utility>

namespace floodwall {
namespace {

constexpr std::uint64_t kRoomSoughtEveryMs = 100;

void increment(std::atomic<std::uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

ExporterTable::ExporterTable(ExporterNumbers& numbers, SavedExporters* saved)
    : numbers_(numbers), saved_(saved), exporters_(kExportersMax), slots_(kSlots, kFree) {}

void ExporterTable::setRules(std::shared_ptr<const ExporterRules> rules) {
  for (std::size_t i = used_.size(); i-- != 0;) {
    Exporter& exporter = *exporters_[used_[i]];
    const std::uint32_t rule = rules->match(exporter.address());
    if (rule == ExporterRules::kNone && !rules->isEmpty()) {
      remove(i);
    } else {
      exporter.setRule(*rules, rule);
    }
  }
  // Exporters point to the rules: the old ones go last.
  rules_ = std::move(rules);
  rebuildIndex();
}

Exporter* ExporterTable::admit(const Address& address, std::uint64_t nowMs) {
  const std::uint32_t rule = rules_->match(address);
  if (rule == ExporterRules::kNone && !rules_->isEmpty()) {
    noteRefused(address, nowMs);
    return nullptr;
  }
  const std::uint32_t most = rules_->isEmpty() ? kUnlistedExportersMax : kExportersMax;
  const bool isNamed = rule != ExporterRules::kNone && (*rules_)[rule].length == 128;
  std::optional<SavedExporter> saved = saved_ == nullptr ? std::nullopt : saved_->take(address, nowMs);
  const std::optional<std::uint16_t> wanted = saved ? std::optional(saved->number) : std::nullopt;
  auto number = numbers_.take(most, wanted);
  if (!number && makeRoom(isNamed, nowMs)) number = numbers_.take(most, wanted);
  if (!number) {
    increment(withoutRoom_);
    return nullptr;
  }
  auto exporter = std::make_unique<Exporter>(address, *number);
  if (saved) exporter->restore(saved->bytes);
  exporter->setRule(*rules_, rule);
  exporters_[*number] = std::move(exporter);
  {
    const std::lock_guard lock(mutex_);
    published_.push_back(std::make_unique<Published>());
    used_.push_back(*number);
    exporters_[*number]->statusInto(published_.back()->status);
    if (saved) published_.back()->saved = std::move(*saved);
  }
  std::size_t at = slotOf(address);
  while (slots_[at] != kFree) at = (at + 1) & (kSlots - 1);
  slots_[at] = *number;
  return exporters_[*number].get();
}

bool ExporterTable::makeRoom(bool isNamed, std::uint64_t nowMs) {
  // Nor does a flood of addresses that find no room.
  if (nowMs - roomSoughtMs_ < kRoomSoughtEveryMs) return false;
  roomSoughtMs_ = nowMs;
  std::size_t oldest = used_.size();
  for (std::size_t i = 0; i < used_.size(); i++) {
    const Exporter& exporter = *exporters_[used_[i]];
    if (exporter.isNamed()) continue;
    if (oldest == used_.size() || exporter.lastDatagramMs() < exporters_[used_[oldest]]->lastDatagramMs()) oldest = i;
  }
  if (oldest == used_.size()) return false;
  if (!isNamed && nowMs < exporters_[used_[oldest]]->lastDatagramMs() + kForgottenMs) return false;
  remove(oldest);
  rebuildIndex();
  roomSoughtMs_ = 0;
  return true;
}

void ExporterTable::noteRefused(const Address& address, std::uint64_t nowMs) {
  increment(refused_);
  // One in a millisecond at most: a flood of others costs no search.
  if (nowMs == refusedNotedMs_) return;
  refusedNotedMs_ = nowMs;
  const auto earlier = [](const RefusedAddress& a, const RefusedAddress& b) {
    return a.lastDatagramMs < b.lastDatagramMs;
  };
  const auto oldest = std::min_element(lastRefused_.begin(), lastRefused_.end(), earlier);
  const auto known = std::find_if(lastRefused_.begin(), lastRefused_.end(), [&](const RefusedAddress& refused) {
    return refused.lastDatagramMs != 0 && refused.address == address;
  });
  *(known != lastRefused_.end() ? known : oldest) = {address, nowMs};
}

void ExporterTable::remove(std::size_t used) {
  const std::uint16_t number = used_[used];
  {
    const std::lock_guard lock(mutex_);
    std::swap(used_[used], used_.back());
    std::swap(published_[used], published_.back());
    used_.pop_back();
    published_.pop_back();
  }
  exporters_[number].reset();
  numbers_.give(number);
}

void ExporterTable::rebuildIndex() {
  std::fill(slots_.begin(), slots_.end(), kFree);
  for (const std::uint16_t number : used_) {
    std::size_t at = slotOf(exporters_[number]->address());
    while (slots_[at] != kFree) at = (at + 1) & (kSlots - 1);
    slots_[at] = number;
  }
}

void ExporterTable::publish(std::uint64_t nowMs, std::uint64_t wallMs) {
  // A reader holds the lock for a while: the next time will do.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  publishedRefused_ = lastRefused_;
  for (std::size_t i = std::min(kPublishedAtOnce, used_.size()); i != 0; i--) {
    if (publishAt_ >= used_.size()) publishAt_ = 0;
    Exporter& exporter = *exporters_[used_[publishAt_]];
    exporter.settle(nowMs, wallMs);
    Published& published = *published_[publishAt_];
    if (exporter.mustSave(nowMs)) exporter.saveInto(published.saved, nowMs, wallMs);
    if (exporter.isChanged()) exporter.statusInto(published.status);
    publishAt_++;
  }
}

std::vector<ExporterStatus> ExporterTable::statuses() const {
  const std::lock_guard lock(mutex_);
  std::vector<ExporterStatus> statuses;
  statuses.reserve(published_.size());
  for (const auto& published : published_) statuses.push_back(published->status);
  return statuses;
}

std::vector<SavedExporter> ExporterTable::saved() const {
  const std::lock_guard lock(mutex_);
  std::vector<SavedExporter> saved;
  for (const auto& published : published_) {
    if (!published->saved.bytes.empty()) saved.push_back(published->saved);
  }
  return saved;
}

std::vector<RefusedAddress> ExporterTable::refusedAddresses() const {
  const std::lock_guard lock(mutex_);
  std::vector<RefusedAddress> addresses;
  for (const RefusedAddress& refused : publishedRefused_) {
    if (refused.lastDatagramMs != 0) addresses.push_back(refused);
  }
  return addresses;
}

}  // namespace floodwall
