// What does it cost to decode one record of NetFlow v5, v9 and IPFIX, and one sample of sFlow?
//
// Datagrams come from memory and the records go to a sink that adds them up, so that neither socket nor count is in the
// figures. Prints one JSON line a question: the figures of all runs, and what the design allows.
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "flow/flow_exporter.h"

namespace {

using namespace floodwall;
using Datagram = std::vector<std::uint8_t>;

constexpr std::size_t kRecords = 24, kSamples = 8, kDatagrams = 20'000, kDifferent = 512;
constexpr int kRuns = 7;
constexpr std::uint64_t kNowMs = 1'700'000'000'000;

void put(Datagram& to, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}
void patch16(Datagram& to, std::size_t at, std::size_t value) {
  to[at] = static_cast<std::uint8_t>(value >> 8);
  to[at + 1] = static_cast<std::uint8_t>(value);
}

/// Number and length of each field, as routers have them.
constexpr std::pair<std::uint16_t, std::uint16_t> kFields[] = {
    {8, 4},  {12, 4}, {15, 4}, {10, 4}, {14, 4}, {2, 4},  {1, 4}, {22, 4}, {21, 4}, {7, 2},
    {11, 2}, {6, 1},  {4, 1},  {5, 1},  {16, 4}, {17, 4}, {9, 1}, {13, 1}, {61, 1}, {48, 1}};

std::uint64_t valueOf(std::uint16_t field, std::uint32_t salt) {
  switch (field) {
    case 1:
      return 500 + salt % 1000;
    case 2:
      return 1 + salt % 7;
    case 4:
      return salt % 3 == 0 ? 17 : 6;
    case 8:
      return 0xc0000200 + salt;
    case 12:
      return 0x0a000000 + salt * 7;
    case 21:
      return 99'000;
    case 22:
      return 98'000;
    case 48:
      return 1;
    default:
      return salt % 200;
  }
}

std::size_t beginMessage(Datagram& to, bool isIpfix, std::uint32_t sequence) {
  put(to, isIpfix ? 10 : 9, 2);
  put(to, isIpfix ? 0 : kRecords, 2);
  if (!isIpfix) put(to, 100'000, 4);
  put(to, kNowMs / 1000, 4);
  put(to, sequence, 4);
  put(to, 0, 4);
  return to.size();
}
void endMessage(Datagram& to, bool isIpfix, std::size_t setAt) {
  patch16(to, setAt + 2, to.size() - setAt);
  if (isIpfix) patch16(to, 2, to.size());
}
Datagram templates(bool isIpfix) {
  Datagram to;
  const std::size_t set = beginMessage(to, isIpfix, 0);
  for (const std::size_t value :
       {std::size_t{isIpfix ? 2U : 0U}, std::size_t{0}, std::size_t{256}, std::size(kFields)}) {
    put(to, value, 2);
  }
  for (const auto& [number, length] : kFields) {
    put(to, number, 2);
    put(to, length, 2);
  }
  endMessage(to, isIpfix, set);
  return to;
}
Datagram records(bool isIpfix, std::uint32_t number) {
  Datagram to;
  const std::size_t set = beginMessage(to, isIpfix, isIpfix ? number * kRecords : number + 1);
  put(to, 256, 2);
  put(to, 0, 2);
  for (std::uint32_t i = 0; i < kRecords; i++) {
    for (const auto& [field, length] : kFields) put(to, valueOf(field, number * 31 + i), length);
  }
  endMessage(to, isIpfix, set);
  return to;
}
Datagram netflow5(std::uint32_t number) {
  Datagram to;
  put(to, 5, 2);
  put(to, kRecords, 2);
  put(to, 100'000, 4);
  put(to, kNowMs / 1000, 4);
  put(to, 0, 4);
  put(to, number * kRecords, 4);
  put(to, 100, 4);
  for (std::uint32_t i = 0; i < kRecords; i++) {
    const std::uint32_t salt = number * 31 + i;
    for (const std::uint16_t field : {std::uint16_t{8}, std::uint16_t{12}, std::uint16_t{15}})
      put(to, valueOf(field, salt), 4);
    put(to, 0x00010002, 4);
    for (const std::uint16_t field : {std::uint16_t{2}, std::uint16_t{1}, std::uint16_t{22}, std::uint16_t{21}}) {
      put(to, valueOf(field, salt), 4);
    }
    put(to, salt, 4);
    put(to, salt % 3 == 0 ? 17 : 6, 3);
    put(to, 0, 9);
  }
  return to;
}
Datagram sflow(std::uint32_t number) {
  Datagram to;
  for (const std::uint32_t value : {5U, 1U, 0x0a0a0a0aU, 0U, number, 100'000U, static_cast<unsigned>(kSamples)})
    put(to, value, 4);
  for (std::uint32_t i = 0; i < kSamples; i++) {
    const std::uint32_t salt = number * 31 + i;
    for (const std::uint32_t value : {1U, 184U, number * 2 + i / 4, i % 4 + 1, 1000U, salt, 0U, i % 4 + 1, 9U, 1U})
      put(to, value, 4);
    for (const std::uint32_t value : {1U, 144U, 1U, 1518U, 4U, 128U}) put(to, value, 4);
    const std::size_t header = to.size();
    put(to, 0x0202020202020202, 8);
    put(to, 0x02020202, 4);
    put(to, 0x0800, 2);
    for (const std::uint32_t value : {0x450005dcU, 0U, 0x40060000U, 0xc0000200 + salt, 0x0a000000 + salt * 7}) {
      put(to, value, 4);
    }
    put(to, salt, 2);
    put(to, 443, 2);
    to.resize(header + 47, 0);
    to.push_back(0x18);
    to.resize(header + 128, 0xaa);
  }
  return to;
}

double cpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

class Sum final : public RecordSink {
 public:
  void take(std::span<FlowRecord> taken) override {
    records += taken.size();
    for (const FlowRecord& record : taken) bytes += record.bytes;
  }
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
};

void bench(const char* text, double target, const Datagram& first, const std::function<Datagram(std::uint32_t)>& make,
           std::size_t records) {
  FlowExporter exporter;
  Sum sum;
  if (!first.empty()) exporter.decode(ByteSpan(first), kNowMs, sum);
  std::vector<Datagram> datagrams;
  for (std::uint32_t i = 0; i < kDifferent; i++) datagrams.push_back(make(i));
  std::printf("{\"question\":\"%s\",\"unit\":\"ns\",\"ours\":[", text);
  for (int run = 0; run < kRuns; run++) {
    const std::uint64_t before = sum.records;
    const double began = cpuSeconds();
    for (std::size_t i = 0; i < kDatagrams; i++) exporter.decode(ByteSpan(datagrams[i % kDifferent]), kNowMs, sum);
    const double seconds = cpuSeconds() - began;
    std::printf("%s%.2f", run == 0 ? "" : ",", seconds * 1e9 / static_cast<double>(sum.records - before));
    if (sum.records - before == kDatagrams * records) continue;
    FlowExporterStatus status;
    exporter.statusInto(status);
    std::fprintf(stderr, "%s: records are missing; %zu reasons, the first: %s\n", text, status.undecoded.size(),
                 status.undecoded.empty() ? "" : Undecoded::textOf(status.undecoded[0]).c_str());
  }
  std::printf("],\"target\":%.0f}\n", target);
}

}  // namespace

int main() {
  bench("decode one record of NetFlow v5, 24 a datagram", 60, {}, netflow5, kRecords);
  bench(
      "decode one record of NetFlow v9, 24 a datagram, 20 fields", 60, templates(false),
      [](std::uint32_t number) { return records(false, number); }, kRecords);
  bench(
      "decode one record of IPFIX, 24 a datagram, 20 fields", 60, templates(true),
      [](std::uint32_t number) { return records(true, number); }, kRecords);
  bench("decode one sample of sFlow, 8 a datagram, headers of 128 bytes", 100, {}, sflow, kSamples);
  return 0;
}
