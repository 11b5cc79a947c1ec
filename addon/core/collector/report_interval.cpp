#include "collector/report_interval.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace floodwall {
namespace {

std::uint64_t mixed(std::uint64_t key, std::uint64_t more) noexcept {
  key = (key ^ more) * 0x9e3779b97f4a7c15;
  return key ^ key >> 29;
}

/// All that makes a flow of NetFlow v5, and where it leaves.
std::uint64_t keyOf(const FlowRecord& record) noexcept {
  const Packet& packet = record.packet;
  std::uint64_t key = std::uint64_t{record.input} << 32 | record.output;
  for (const Address* const address : {&packet.source, &packet.destination}) {
    std::array<std::uint64_t, 2> halves;
    std::memcpy(halves.data(), address->bytes.data(), sizeof halves);
    key = mixed(mixed(key, halves[0]), halves[1]);
  }
  const std::uint64_t ports = std::uint64_t{packet.sourcePort} << 16 | packet.destinationPort;
  return mixed(key, ports << 24 | std::uint64_t{packet.protocol} << 16 | record.service);
}

}  // namespace

std::uint32_t ReportInterval::bounded(const FlowRecord& record, std::uint64_t nowMs) noexcept {
  if (longestMs_ != 0 && nowMs > learnedMs_ + kKeptMs) longestMs_ = 0;
  const std::uint64_t key = keyOf(record);
  const std::int64_t endMs = static_cast<std::int64_t>(nowMs) - record.ageMs;
  const std::int64_t startMs = endMs - record.durationMs;
  Flow& flow = flows_[key >> 58];
  std::uint32_t boundMs = longestMs_;
  if (flow.key == key) {
    const std::int64_t sinceMs = endMs - flow.endMs;
    if (std::abs(startMs - flow.startMs) <= kSameMs && sinceMs > kSameMs) {
      boundMs = static_cast<std::uint32_t>(std::min<std::int64_t>(sinceMs, record.durationMs));
      longestMs_ = std::max(longestMs_, boundMs);
      learnedMs_ = nowMs;
    }
  } else if (flow.key != 0 && nowMs <= flow.heardMs + kKeptMs) {
    return boundMs == 0 ? record.durationMs : std::min(record.durationMs, boundMs);
  }
  flow = {key, startMs, endMs, nowMs};
  return boundMs == 0 ? record.durationMs : std::min(record.durationMs, boundMs);
}

}  // namespace floodwall
