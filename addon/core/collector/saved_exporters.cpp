#include "collector/saved_exporters.h"

#include <algorithm>
#include <utility>

#include "flow/saved_bytes.h"
#include "flow/saved_exporter.h"

namespace floodwall {
namespace {

constexpr std::size_t kSavedHeaderBytes = 16 + 2 + 8 + 4;

}  // namespace

std::vector<std::uint8_t> packed(std::vector<SavedExporter> exporters) {
  std::sort(exporters.begin(), exporters.end(),
            [](const SavedExporter& a, const SavedExporter& b) { return a.lastDatagramMs > b.lastDatagramMs; });
  std::vector<std::uint8_t> bytes;
  SavedWriter writer(bytes);
  for (const SavedExporter& exporter : exporters) {
    if (writer.size() + kSavedHeaderBytes + exporter.bytes.size() > kSavedBytesMax) continue;
    writer.bytes(exporter.address.bytes);
    writer.number(exporter.number, 2);
    writer.number(exporter.lastDatagramMs, 8);
    writer.number(exporter.bytes.size(), 4);
    writer.bytes(exporter.bytes);
  }
  return bytes;
}

void SavedExporters::load(ByteSpan bytes, std::uint64_t nowMs, std::uint64_t wallMs) {
  const std::lock_guard lock(mutex_);
  SavedReader reader(bytes.first(std::min(bytes.size(), kSavedBytesMax)));
  while (waiting_.size() < kExportersMax) {
    SavedExporter exporter;
    const ByteSpan address = reader.take(exporter.address.bytes.size());
    exporter.number = reader.number<std::uint16_t>();
    exporter.lastDatagramMs = reader.number<std::uint64_t>();
    const ByteSpan said = reader.take(reader.number<std::uint32_t>());
    if (!reader.isWhole()) return;
    std::copy(address.begin(), address.end(), exporter.address.bytes.begin());
    exporter.bytes.assign(said.begin(), said.end());
    // A clock that went back makes nothing older.
    const std::uint64_t ageMs = wallMs > exporter.lastDatagramMs ? wallMs - exporter.lastDatagramMs : 0;
    if (ageMs >= kSavedMs) continue;
    numbers_.reserve(exporter.number);
    const auto key = exporter.address.bytes;
    waiting_.insert_or_assign(key, Waiting{std::move(exporter), nowMs + kSavedMs - ageMs});
  }
}

std::optional<SavedExporter> SavedExporters::take(const Address& address, std::uint64_t nowMs) {
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(address.bytes);
  if (found == waiting_.end()) return std::nullopt;
  Waiting taken = std::move(found->second);
  waiting_.erase(found);
  if (nowMs >= taken.untilMs) return std::nullopt;
  return std::move(taken.exporter);
}

void SavedExporters::addTo(std::vector<SavedExporter>& exporters, std::uint64_t nowMs) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, waiting] : waiting_) {
    if (nowMs < waiting.untilMs) exporters.push_back(waiting.exporter);
  }
}

}  // namespace floodwall
