// An exporter that speaks IPFIX with one template, and what counts of it.
#pragma once

#include <utility>

#include "judged_records.h"

namespace floodwall::test {

/// Packets and bytes of layer 3 by which hosts are counted, summed over all destinations.
inline std::pair<std::uint64_t, std::uint64_t> countedBy(const Judged& judged) {
  std::pair<std::uint64_t, std::uint64_t> sum;
  for (const FlowRecord& record : judged.records) {
    sum.first += record.packets * record.samplingRate;
    sum.second += (record.bytes - 14 * record.packets) * record.samplingRate;
  }
  return sum;
}

inline constexpr std::uint32_t kNowSeconds = kFlowNowMs / 1000;

/// Messages of one template, numbered from 1 on.
class Talk {
 public:
  explicit Talk(const Fields& fields) { say(ipfixTemplate(256, fields), kNowSeconds, 0); }
  Talk& record(const Bytes& bytes, std::uint32_t seconds = kNowSeconds) { return say(flowSet(256, bytes), seconds, 1); }

  Judged judged;

 private:
  Talk& say(const Bytes& sets, std::uint32_t seconds, std::uint32_t records) {
    judged.feed(ipfix({.number = number_, .seconds = seconds}, sets), std::uint64_t{seconds} * 1000);
    number_ += records;
    return *this;
  }
  std::uint32_t number_ = 1;
};

/// A record of a UDP flow; `tail` are the values of further fields.
inline const Fields kFlow = {{8, 4}, {12, 4}, {7, 2}, {11, 2}, {4, 1}};
inline Bytes flowOf(std::uint16_t port, const Bytes& tail) {
  return words({kForeign + 1, kProtected + 1}) + number(port, 2) + number(53, 2) + number(17, 1) + tail;
}
inline Fields withFlow(const Fields& more) {
  Fields fields = kFlow;
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

}  // namespace floodwall::test
