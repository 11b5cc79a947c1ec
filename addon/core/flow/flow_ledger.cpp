#include "flow/flow_ledger.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <utility>

#include "flow/flow_bounds.h"

namespace floodwall {
namespace {

constexpr std::size_t kFirstFlows = 256;
/// The usual time between two reports, for a flow that began before the first datagram of its exporter.
constexpr std::int64_t kUsualMs = 60'000;
/// The longest packet of IPv6 (RFC 8200, 3).
constexpr std::uint64_t kPacketBytesMost = 65'575;

std::uint32_t msOf(std::int64_t ms) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ms, 0, std::numeric_limits<std::uint32_t>::max()));
}

/// `share` of the sums, 0 to 1.
FlowSums partOf(const FlowSums& sums, double share) noexcept {
  const auto part = [share](std::uint64_t all) {
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(all) * share));
  };
  return {part(sums.packets), part(sums.bytes), part(sums.backPackets), part(sums.backBytes)};
}

bool isLess(const FlowSums& a, const FlowSums& b) noexcept {
  return a.packets < b.packets || a.bytes < b.bytes || a.backPackets < b.backPackets || a.backBytes < b.backBytes;
}

/// The sums of a report, with what its counters of bytes lost where they wrapped since `before`: fewer bytes of more
/// packets, which are long enough for a whole lap.
FlowSums unwrapped(const FlowReport& report, const FlowSums& before) noexcept {
  FlowSums sums = report.sums;
  if (report.bytesBits >= 64) return sums;
  const std::uint64_t lap = std::uint64_t{1} << report.bytesBits;
  const auto unwrap = [lap](std::uint64_t& bytes, std::uint64_t bytesBefore, std::uint64_t packets,
                            std::uint64_t packetsBefore) {
    bytes += bytesBefore / lap * lap;
    if (bytes >= bytesBefore || packets <= packetsBefore) return;
    if (bytes + lap - bytesBefore <= (packets - packetsBefore) * kPacketBytesMost) bytes += lap;
  };
  unwrap(sums.bytes, before.bytes, sums.packets, before.packets);
  unwrap(sums.backBytes, before.backBytes, sums.backPackets, before.backPackets);
  return sums;
}

}  // namespace

FlowLedger::FlowLedger() : seed_(static_cast<std::uint64_t>(std::random_device{}()) << 32 | std::random_device{}()) {}

FlowGrowth FlowLedger::ofTotals(const FlowReport& report, std::uint64_t nowMs) {
  Flow* const flow = find(report.key);
  if (flow == nullptr) {
    begin(report, nowMs);
    return unknown(report, nowMs);
  }
  const bool isOfStart = !report.hasStart || std::abs(report.startMs - flow->startMs) <= kSameMs;
  const FlowSums sums = unwrapped(report, flow->sums);
  const bool isEarlier = report.hasStart && report.endMs < flow->endMs && !isLess(flow->sums, report.sums);
  if (isOfStart && isEarlier) return {};
  if (!isOfStart || isLess(sums, flow->sums)) {
    *flow = {report.key, report.sums, report.startMs, report.endMs, nowMs, false};
    return {report.sums, lifeOf(report)};
  }
  const FlowGrowth growth{sums - flow->sums, sinceLast(*flow, report, nowMs)};
  *flow = {report.key, sums, flow->startMs, report.endMs, nowMs, true};
  return growth;
}

FlowGrowth FlowLedger::ofUpdate(const FlowReport& report, std::uint64_t nowMs) {
  Flow* const flow = findOfTime(report);
  if (flow == nullptr) {
    begin(report, nowMs);
    const std::uint32_t lifeMs = lifeOf(report);
    return {report.sums, intervalMs_ == 0 ? lifeMs : std::min(lifeMs, intervalMs_)};
  }
  if (flow->isEnded) return {};
  const FlowGrowth growth{report.sums, sinceLast(*flow, report, nowMs)};
  flow->sums = flow->sums + report.sums;
  flow->endMs = report.endMs;
  flow->reportedMs = nowMs;
  flow->isRepeated = true;
  return growth;
}

FlowGrowth FlowLedger::ofEnd(const FlowReport& report, std::uint64_t nowMs) {
  Flow* const flow = findOfTime(report);
  // Without a start what comes next with this key is another flow.
  const Flow ended{report.key, report.sums, report.startMs, report.endMs, nowMs, false, true};
  if (flow == nullptr) {
    Flow* const place = report.hasStart ? &placeFor(report.key, nowMs) : nullptr;
    if (place != nullptr && isFree(*place, nowMs)) *place = ended;
    return unknown(report, nowMs);
  }
  if (flow->isEnded) return {};
  const std::uint32_t sinceMs = sinceLast(*flow, report, nowMs);
  const FlowSums before = flow->sums;
  *flow = report.hasStart ? ended : Flow{};
  return {isLess(report.sums, before) ? report.sums : report.sums - before, sinceMs};
}

FlowLedger::Flow* FlowLedger::find(std::uint64_t key) noexcept {
  if (flows_.empty()) return nullptr;
  Flow* const set = &flows_[key % (flows_.size() / kWays) * kWays];
  Flow* const found = std::find_if(set, set + kWays, [key](const Flow& flow) { return flow.key == key; });
  return found == set + kWays ? nullptr : found;
}

/// A flow that is said to have ended later is of a time before the exporter, and so its uptime, began again.
FlowLedger::Flow* FlowLedger::findOfTime(const FlowReport& report) noexcept {
  Flow* const flow = find(report.key);
  if (flow == nullptr || (flow->isEnded ? hasEnded(*flow, report) : report.endMs + kSameMs >= flow->endMs)) return flow;
  *flow = {};
  return nullptr;
}

/// Whether the record is of the flow that ended, and of no later one with its key.
bool FlowLedger::hasEnded(const Flow& flow, const FlowReport& report) noexcept {
  return report.hasStart && std::abs(report.startMs - flow.startMs) <= kSameMs && report.endMs <= flow.endMs + kSameMs;
}

FlowLedger::Flow& FlowLedger::placeFor(std::uint64_t key, std::uint64_t nowMs) {
  if (flows_.empty()) flows_.resize(kFirstFlows);
  const auto rankOf = [nowMs](const Flow& flow) {
    const int rank = isOver(flow, nowMs) ? 0 : flow.isEnded ? 1 : flow.isRepeated ? 3 : 2;
    return std::pair(rank, flow.reportedMs);
  };
  Flow* place = nullptr;
  do {
    Flow* const set = &flows_[key % (flows_.size() / kWays) * kWays];
    place = std::min_element(set, set + kWays, [&](const Flow& a, const Flow& b) { return rankOf(a) < rankOf(b); });
  } while (!isOver(*place, nowMs) && grow());
  return *place;
}

void FlowLedger::begin(const FlowReport& report, std::uint64_t nowMs) {
  Flow& place = placeFor(report.key, nowMs);
  const bool isLost = !isFree(place, nowMs);
  untracked_ += isLost ? 1 : 0;
  if (!isLost || !place.isRepeated) place = {report.key, report.sums, report.startMs, report.endMs, nowMs, false};
}

bool FlowLedger::grow() {
  if (flows_.size() >= kLedgerFlowsMax) return false;
  std::vector<Flow> before(2 * flows_.size());
  before.swap(flows_);
  // Flows of one set go to two: each has room.
  for (const Flow& flow : before) {
    if (flow.key == 0) continue;
    Flow* const set = &flows_[flow.key % (flows_.size() / kWays) * kWays];
    *std::find_if(set, set + kWays, [](const Flow& place) { return place.key == 0; }) = flow;
  }
  return true;
}

std::uint32_t FlowLedger::lifeOf(const FlowReport& report) noexcept {
  return report.hasStart ? msOf(report.endMs - report.startMs) : 0;
}

std::uint32_t FlowLedger::sinceLast(const Flow& flow, const FlowReport& report, std::uint64_t nowMs) noexcept {
  std::uint32_t sinceMs = msOf(report.endMs - flow.endMs);
  if (report.hasStart) sinceMs = std::min(sinceMs, lifeOf(report));
  if (nowMs > learnedMs_ + kKeptMs) intervalMs_ = 0;
  intervalMs_ = std::max(intervalMs_, sinceMs);
  learnedMs_ = nowMs;
  return sinceMs;
}

FlowGrowth FlowLedger::unknown(const FlowReport& report, std::uint64_t nowMs) noexcept {
  const std::uint32_t lifeMs = lifeOf(report);
  const bool isReported = lifeMs > report.reportedForMs || untracked_ != 0;
  if (!isReported) return {report.sums, lifeMs};
  const bool isLearned = intervalMs_ != 0 && nowMs <= learnedMs_ + kKeptMs;
  std::uint32_t partMs = lifeMs;
  if (isLearned) {
    partMs = intervalMs_;
  } else if (!report.isOver) {
    partMs = msOf(std::max(report.reportedForMs, kUsualMs));
  }
  if (lifeMs <= partMs) return {report.sums, lifeMs};
  return {partOf(report.sums, static_cast<double>(partMs) / lifeMs), partMs};
}

}  // namespace floodwall
