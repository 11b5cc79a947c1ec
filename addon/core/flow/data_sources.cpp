#include "flow/data_sources.h"

#include <algorithm>
#include <random>
#include <utility>

#include "flow/flow_bounds.h"

namespace floodwall {

DataSources::DataSources()
    : table_(0, Hash{static_cast<std::uint64_t>(std::random_device{}()) << 32 | std::random_device{}()}) {}

std::size_t DataSources::Hash::operator()(const DataSourceKey& key) const noexcept {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t where = static_cast<std::uint64_t>(key.subAgent) << 32 | key.kind;
  const Wide first = static_cast<Wide>(key.agent + seed) * ((where ^ (seed >> 1)) | 1);
  const std::uint64_t folded = static_cast<std::uint64_t>(first >> 64) ^ static_cast<std::uint64_t>(first);
  const Wide second = static_cast<Wide>(folded ^ key.index) * (seed | 1);
  return static_cast<std::size_t>(second >> 64) ^ static_cast<std::size_t>(second);
}

DataSource* DataSources::of(const DataSourceKey& key, std::uint64_t nowMs) {
  auto& last = last_[key.index % last_.size()];
  if (last == nullptr || last->first != key) {
    auto found = table_.find(key);
    if (found == table_.end()) {
      if (table_.size() >= kDataSourcesMax) makeRoom(nowMs);
      if (table_.size() >= kDataSourcesMax) return nullptr;
      found = table_.emplace(key, DataSource{}).first;
    }
    last = &*found;
  }
  last->second.seenMs = nowMs;
  return &last->second;
}

void DataSources::makeRoom(std::uint64_t nowMs) {
  constexpr std::uint64_t kLeastMs = 100;
  if (roomMadeMs_ != 0 && nowMs - roomMadeMs_ < kLeastMs) return;
  roomMadeMs_ = nowMs;
  std::vector<std::pair<std::uint64_t, DataSourceKey>> bySeen;
  for (const auto& [key, source] : table_) bySeen.emplace_back(source.seenMs, key);
  const auto end = bySeen.begin() + kDataSourcesMax / 8;
  std::nth_element(bySeen.begin(), end, bySeen.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto one = bySeen.begin(); one != end; ++one) table_.erase(one->second);
  last_ = {};
}

std::uint64_t DataSources::takeLost(std::uint64_t nowMs) noexcept {
  std::uint64_t lost = 0;
  for (auto& [key, source] : table_) lost += source.sequence.takeLost(nowMs);
  return lost;
}

void DataSources::addTo(std::vector<SamplingStatus>& samplings) const {
  for (const auto& [key, source] : table_) {
    if (samplings.size() == kSamplingsShownMax) return;
    samplings.push_back(
        {key.subAgent, key.index, source.rate, source.rate == 0 ? SamplingOrigin::unknown : SamplingOrigin::sample});
  }
}

std::size_t DataSources::memoryBytes() const noexcept {
  return table_.size() * (sizeof(Table::value_type) + 2 * sizeof(void*)) + table_.bucket_count() * sizeof(void*);
}

}  // namespace floodwall
