#include "learn/baseline_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace floodwall {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is copied as the memory is");

/// The file may have been changed: invalid numbers become values with which limits are still correct.
void makeValid(float& value) noexcept {
  if (!(value >= 0 && std::isfinite(value))) value = 0;
}

Address keyAt(const std::uint8_t* bytes) noexcept {
  Address key;
  std::memcpy(key.bytes.data(), bytes, sizeof(key.bytes));
  return key;
}

}  // namespace

void copyBaselines(const BaselineTable& table, std::uint32_t first, std::uint32_t nowSeconds,
                   std::span<std::uint8_t> out) {
  const std::size_t width = baselineBytes(table.directions());
  for (std::size_t at = 0, row = first; at + width <= out.size(); at += width, row++) {
    const auto number = static_cast<std::uint32_t>(row);
    std::memcpy(&out[at], table.key(number).bytes.data(), 16);
    const std::uint32_t last = table.lastTraffic(number), silent = nowSeconds > last ? nowSeconds - last : 0;
    std::memcpy(&out[at + 16], &silent, sizeof(silent));
    std::memcpy(&out[at + 20], &table.side(number, 0), table.directions() * sizeof(BaselineTable::Side));
  }
}

void takeBaselines(BaselineTable& table, std::span<const std::uint8_t> bytes, std::uint32_t directions,
                   std::uint32_t nowSeconds) {
  const std::size_t width = baselineBytes(directions);
  for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
    const Address key = keyAt(&bytes[at]);
    if (table.find(key) != BaselineTable::kNone) continue;
    const std::uint32_t row = table.findOrAdd(key, nowSeconds);
    if (row == BaselineTable::kNone) return;
    std::uint32_t silent;
    std::memcpy(&silent, &bytes[at + 16], sizeof(silent));
    table.setLastTraffic(row, nowSeconds - silent);
    for (std::uint32_t side = 0; side < std::min(directions, table.directions()); side++) {
      BaselineTable::Side& values = table.side(row, side);
      std::memcpy(&values, &bytes[at + 20 + side * sizeof(values)], sizeof(values));
      makeValid(values.learned);
      values.learned = std::min(values.learned, static_cast<float>(BaselineTable::kLearnedMax));
      for (float& normal : values.normal) makeValid(normal);
    }
  }
}

void copySeasons(const BaselineTable& table, std::span<const std::uint32_t> rows, std::span<std::uint8_t> out) {
  const std::size_t width = seasonBytes(table.directions());
  const SeasonTable* const seasons = table.seasons();
  std::ranges::fill(out, std::uint8_t{0});
  for (std::size_t i = 0; i < rows.size() && (i + 1) * width <= out.size(); i++) {
    const std::uint32_t place =
        seasons == nullptr || rows[i] >= table.count() ? SeasonTable::kNone : seasons->find(rows[i]);
    if (place == SeasonTable::kNone) continue;
    std::uint8_t* at = &out[i * width];
    std::memcpy(at, table.key(rows[i]).bytes.data(), 16);
    at += 16;
    for (std::uint32_t side = 0; side < table.directions(); side++) {
      std::memcpy(at, &seasons->hour(place, side), sizeof(SeasonTable::Hour));
      at += sizeof(SeasonTable::Hour);
      std::ranges::copy(seasons->codes(place, side), at);
      at += SeasonTable::kCodes;
    }
  }
}

void takeSeasons(BaselineTable& table, std::span<const std::uint8_t> bytes, std::uint32_t directions,
                 std::uint32_t idleSeconds) {
  SeasonTable* const seasons = table.seasons();
  const std::size_t width = seasonBytes(directions), sideBytes = sizeof(SeasonTable::Hour) + SeasonTable::kCodes;
  const auto isIdle = [&](std::uint32_t row) { return table.lastTraffic(row) < idleSeconds; };
  for (std::size_t from = 0; seasons != nullptr && from + width <= bytes.size(); from += width) {
    const std::uint32_t row = table.find(keyAt(&bytes[from]));
    if (row == BaselineTable::kNone || seasons->find(row) != SeasonTable::kNone) continue;
    const std::uint32_t place = seasons->findOrAdd(row, table.isHost(row), isIdle);
    for (std::uint32_t side = 0; place != SeasonTable::kNone && side < std::min(directions, table.directions());
         side++) {
      const std::uint8_t* const at = &bytes[from + 16 + side * sideBytes];
      SeasonTable::Hour& hour = seasons->hour(place, side);
      std::memcpy(&hour, at, sizeof(hour));
      makeValid(hour.seconds);
      for (float& mean : hour.mean) makeValid(mean);
      for (float& before : hour.from) makeValid(before);
      std::copy_n(at + sizeof(hour), SeasonTable::kCodes, seasons->codes(place, side).begin());
    }
  }
}

}  // namespace floodwall
