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

/// All that makes a flow of NetFlow v5, and where it leaves; a field that a record lacks is 0.
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

/// 0: no bound.
std::uint32_t boundedBy(std::uint32_t boundMs, const FlowRecord& record) noexcept {
  return boundMs == 0 ? record.durationMs : std::min(record.durationMs, boundMs);
}

}  // namespace

bool ReportInterval::canTeach(const FlowRecord& record) noexcept {
  if (record.key == FlowRecord::Key::whole) return true;
  return record.packet.protocol == kUdp && record.ageMs <= kSameMs;
}

std::uint32_t ReportInterval::bounded(const FlowRecord& record, std::uint64_t nowMs) noexcept {
  if (longestMs_ != 0 && nowMs > learnedMs_ + kKeptMs) longestMs_ = 0;
  if (refutedMs_ != 0 && nowMs > refutedMs_ + kKeptMs) refutedMs_ = 0;
  const bool hasPorts = record.packet.protocol == kTcp || record.packet.protocol == kUdp;
  if (!hasPorts) return boundedBy(longestMs_, record);
  const std::uint64_t key = keyOf(record);
  const std::int64_t startMs = record.startMs, endMs = startMs + record.durationMs;
  Flow& flow = flows_[key >> 58];
  const bool isSame = flow.key == key;
  if (!isSame && flow.key != 0 && nowMs <= flow.reportedMs + kKeptMs) return boundedBy(longestMs_, record);
  std::uint32_t boundMs = longestMs_;
  if (isSame && std::abs(startMs - flow.endMs) <= kSameMs) {
    refutedMs_ = nowMs;
    longestMs_ = boundMs = 0;
  } else if (isSame && refutedMs_ == 0 && canTeach(record)) {
    const std::int64_t sinceMs = endMs - flow.endMs;
    if (std::abs(startMs - flow.startMs) <= kSameMs && sinceMs > kSameMs) {
      boundMs = static_cast<std::uint32_t>(std::min<std::int64_t>(sinceMs, record.durationMs));
      longestMs_ = std::max(longestMs_, boundMs);
      learnedMs_ = nowMs;
    }
  }
  flow = {key, startMs, endMs, nowMs};
  return boundedBy(boundMs, record);
}

}  // namespace floodwall
