// How a shard's worker keeps a few packets of each host from before an attack.
#include "count/shard.h"

namespace floodwall {

/// At the turn of a row whose host got its first packet of this epoch.
void Shard::considerProfile(std::uint32_t row) noexcept {
  HotRow& hot = rows_.hot(row);
  const HostProfiles::Host host{hot.key, control_.hash.of(hot.key), row, packetsOfRow(row)};
  if ((hot.epoch & HotRow::kWatched) != 0) {
    profiles_.interrupt(host);
  } else if (profiles_.isDue(host)) {
    hot.epoch |= HotRow::kProfiled;
  }
}

void Shard::keepForProfile(std::uint32_t row, const Frame& frame, Link link, std::uint64_t packets) noexcept {
  HotRow& hot = rows_.hot(row);
  HeaderSummary header;
  const bool isWanted = (hot.epoch & HotRow::kWatched) == 0 && summarize(frame, link, header);
  const HostProfiles::Host host{hot.key, control_.hash.of(hot.key), row, packetsOfRow(row)};
  if (!isWanted || !profiles_.take(host, header, packets)) hot.epoch &= ~HotRow::kProfiled;
}

std::uint32_t Shard::packetsOfRow(std::uint32_t row) noexcept {
  const HotRow& hot = rows_.hot(row);
  std::uint64_t packets = std::uint64_t{hot.packets[0]} + hot.packets[1] + hot.packets[2] + hot.packets[3];
  if (isWide_.load(std::memory_order_relaxed)) {
    const WideRow& wide = rows_.wide(0, row);
    for (const WideRow::Pair& pair : wide.often) packets += pair.packets;
    packets += wide.seldom[0].packets;
  }
  return static_cast<std::uint32_t>(packets);
}

}  // namespace floodwall
