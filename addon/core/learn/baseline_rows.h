// Rows of baselines as the file of them has them, little endian, without padding: for saving and restoring them.
#pragma once

#include <cstdint>
#include <span>

#include "learn/baseline_table.h"

namespace floodwall {

/// Key, seconds since the host was last seen, and for each direction the learned seconds and the base trio.
[[nodiscard]] constexpr std::size_t baselineBytes(std::uint32_t directions) {
  return 16 + 4 + directions * sizeof(BaselineTable::Side);
}
/// Key, and for each direction the state of the present hour and the codes.
[[nodiscard]] constexpr std::size_t seasonBytes(std::uint32_t directions) {
  return 16 + directions * (sizeof(SeasonTable::Hour) + SeasonTable::kCodes);
}

/// The rows from `first` on that fit into `out`; the table must have this number of rows.
void copyBaselines(const BaselineTable& table, std::uint32_t first, std::uint32_t nowSeconds,
                   std::span<std::uint8_t> out);
/// Rows that the table has already are not changed. Takes what there is room for.
void takeBaselines(BaselineTable& table, std::span<const std::uint8_t> bytes, std::uint32_t directions,
                   std::uint32_t nowSeconds);

/// The hours of the week of these rows. One that has none any more gets a key of zeros, which matches no host.
void copySeasons(const BaselineTable& table, std::span<const std::uint32_t> rows, std::span<std::uint8_t> out);
/// Takes rows that the table has, and that have no hours of the week yet. `idleSeconds`: as Baselines::beginPass().
void takeSeasons(BaselineTable& table, std::span<const std::uint8_t> bytes, std::uint32_t directions,
                 std::uint32_t idleSeconds);

}  // namespace floodwall
