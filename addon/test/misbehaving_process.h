// A process of an exporter that misbehaves in several ways at once, drawn at random.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "judged_records.h"
#include "random.h"

namespace floodwall::test {

enum class RateWay {
  none,
  interval,
  intervalAlone,
  intervalAndSpace,
  sizeAndPopulation,
  inRecord,
  littleEndian,
  count
};
enum class Counting { deltas, totals, events, count };
enum class TimeWay { restart, stays, off, staysOff, none, count };
enum class SessionWay { one, portChanges, restarts, two, count };
enum class NoiseWay { none, negative, layer2, count };

struct Ways {
  RateWay rate;
  Counting counters;
  TimeWay times;
  SessionWay session;
  NoiseWay noise;
};

inline constexpr std::uint32_t kReports = 20, kEveryMs = 2000, kPacketBytes = 500, kRate = 1000;
inline constexpr std::uint16_t kFlowSet = 256, kOptions = 300, kLayer2 = 301;

/// A process of the exporter: NetFlow v9 of one flow a host.
class Process {
 public:
  Process(const Ways& ways, std::uint16_t port, bool isTurned) : ways_(ways), port_(port), isTurned_(isTurned) {}

  void start(Judged& judged, std::uint64_t nowMs, std::uint32_t uptimeMs) {
    bootMs_ = nowMs - uptimeMs;
    beganMs_ = reportedMs_ = nowMs;
    reports_ = 0;
    totals_.clear();
    number_ = uptimeMs < 100'000 ? 0 : 500;
    Bytes sets = netflow9Template(kFlowSet, fields()) + netflow9Template(kLayer2, {{56, 6}, {2, 4}}) + options();
    send(judged, nowMs, sets);
  }

  /// `packets` has the number of packets to each host since the last report.
  void report(Judged& judged, std::uint64_t nowMs,
              const std::vector<std::pair<std::uint32_t, std::uint32_t>>& packets) {
    reports_++;
    Bytes records;
    for (const auto& [host, count] : packets) append(records, record(host, count, nowMs));
    if (ways_.noise == NoiseWay::negative) append(records, record(packets[0].first, 0, nowMs, true));
    reportedMs_ = nowMs;
    Bytes sets = flowSet(kFlowSet, records);
    if (ways_.noise == NoiseWay::layer2) append(sets, flowSet(kLayer2, Bytes(6) + words({7})));
    send(judged, nowMs, sets);
  }
  void changePort() { port_++; }

 private:
  [[nodiscard]] bool hasTimes() const { return ways_.times != TimeWay::none; }
  [[nodiscard]] bool isOfRecord() const {
    return ways_.rate == RateWay::inRecord || ways_.rate == RateWay::littleEndian;
  }

  [[nodiscard]] Fields fields() const {
    Fields fields = {{8, 4}, {12, 4}, {7, 2}, {11, 2}, {4, 1}};
    if (isTurned_) std::swap(fields[0], fields[1]);
    switch (ways_.counters) {
      case Counting::totals:
        fields.insert(fields.end(), {{86, 8}, {85, 8}});
        break;
      case Counting::events:
        fields.insert(fields.end(), {{233, 1}, {298, 8}, {231, 8}});
        break;
      default:
        fields.insert(fields.end(), {{2, 8}, {1, 8}});
    }
    if (hasTimes()) fields.insert(fields.end(), {{22, 4}, {21, 4}});
    if (isOfRecord()) fields.push_back({34, 4});
    return fields;
  }

  [[nodiscard]] Bytes options() const {
    const auto set = [](const Fields& fields, const Bytes& values) {
      return netflow9Options(kOptions, {{1, 4}}, fields) + flowSet(kOptions, words({0}) + values);
    };
    switch (ways_.rate) {
      case RateWay::none:
        return set({{34, 4}, {35, 1}}, words({0}) + number(0, 1));
      case RateWay::interval:
        return set({{34, 4}, {35, 1}}, words({kRate}) + number(2, 1));
      case RateWay::intervalAlone:
        return set({{305, 4}}, words({kRate}));
      case RateWay::intervalAndSpace:
        return set({{305, 4}, {306, 4}}, words({1, kRate - 1}));
      case RateWay::sizeAndPopulation:
        return set({{305, 4}, {309, 4}, {310, 4}}, words({1, 1, kRate}));
      default:
        return {};
    }
  }

  /// Counting of the flow of a host: by difference, in all, or by events of which the last has all.
  Bytes counts(std::uint32_t host, std::uint32_t packets, bool isNegative) {
    std::uint64_t count = packets;
    Bytes event;
    std::uint64_t& all = totals_[host];
    if (ways_.counters == Counting::events) event = number(reports_ == kReports ? 2 : 5, 1);
    const bool isOfAll =
        ways_.counters == Counting::totals || (ways_.counters == Counting::events && reports_ == kReports);
    // A flow with another start is another flow.
    const bool restarts = ways_.times == TimeWay::restart || ways_.times == TimeWay::off;
    if (!isNegative && ways_.counters == Counting::totals && restarts) all = 0;
    if (!isNegative) all += packets;
    if (isOfAll) count = all;
    const std::uint64_t bytes = count * kPacketBytes;
    return event + (isNegative ? number(~0ULL, 8) + number(~0ULL, 8) : number(count, 8) + number(bytes, 8));
  }

  Bytes record(std::uint32_t host, std::uint32_t packets, std::uint64_t nowMs, bool isNegative = false) {
    const Bytes source = words({kForeign}), destination = words({kProtected + host});
    Bytes made = (isTurned_ ? destination + source : source + destination) + number(1000 + host, 2) + number(53, 2) +
                 number(17, 1) + counts(host, packets, isNegative);
    const bool stays = ways_.times == TimeWay::stays || ways_.times == TimeWay::staysOff;
    const bool isOff = ways_.times == TimeWay::off || ways_.times == TimeWay::staysOff;
    const std::uint64_t offMs = isOff ? 900'000 : 0, startMs = stays ? beganMs_ : reportedMs_;
    if (hasTimes()) append(made, words({uptimeAt(startMs - offMs), uptimeAt(nowMs - offMs)}));
    if (ways_.rate == RateWay::inRecord) append(made, words({kRate}));
    if (ways_.rate == RateWay::littleEndian) append(made, words({__builtin_bswap32(kRate)}));
    return made;
  }

  [[nodiscard]] std::uint32_t uptimeAt(std::uint64_t ms) const { return static_cast<std::uint32_t>(ms - bootMs_); }

  void send(Judged& judged, std::uint64_t nowMs, const Bytes& sets) {
    judged.feed(
        netflow9(
            {.number = number_++, .uptimeMs = uptimeAt(nowMs), .seconds = static_cast<std::uint32_t>(nowMs / 1000)},
            sets),
        nowMs, port_);
  }

  Ways ways_;
  std::uint16_t port_;
  bool isTurned_;
  std::uint64_t bootMs_ = 0, beganMs_ = 0, reportedMs_ = 0;
  std::uint32_t number_ = 0, reports_ = 0;
  std::map<std::uint32_t, std::uint64_t> totals_;
};

template <typename Way>
Way draw(Random& random) {
  return static_cast<Way>(random.below(static_cast<std::uint64_t>(Way::count)));
}

inline Ways drawWays(Random& random) {
  return {draw<RateWay>(random), draw<Counting>(random), draw<TimeWay>(random), draw<SessionWay>(random),
          draw<NoiseWay>(random)};
}

}  // namespace floodwall::test
