// How much memory do the kernel's tables take that know a million sources, and how many of a million are known when all
// have proved their address? Each does so as a client's stack would, by the segment that answers its cookie. Prints one
// line of JSON.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "measured_filter.h"
#include "measured_forward.h"

using namespace floodwall;

namespace {

constexpr std::uint32_t kSources = 1'000'000, kFirst = 0x0b000000;
constexpr std::uint8_t kSyn = 2, kRst = 4, kAck = 16;
constexpr std::size_t kSourceAt = 14 + 12, kSequenceAt = 14 + 20 + 4, kAcknowledgementAt = kSequenceAt + 4;

/// As the kernel accounts for it.
std::uint64_t memoryOf(int map) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(map));
  for (std::string word; info >> word;) {
    std::uint64_t bytes = 0;
    if (word == "memlock:" && info >> bytes) return bytes;
  }
  throw std::runtime_error("the kernel does not say how large a map is");
}

struct Segments {
  explicit Segments(int fd) : program(fd), out(256) {}

  void run(std::vector<std::uint8_t>& frame, std::uint32_t source) {
    const std::uint32_t address = htobe32(kFirst + source);
    std::memcpy(&frame[kSourceAt], &address, sizeof address);
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<__u32>(frame.size());
    options.data_out = out.data();
    options.data_size_out = static_cast<__u32>(out.size());
    check(bpf_prog_test_run_opts(program, &options), "run the program");
  }
  void prove(std::uint32_t source) {
    run(syn, source);
    std::memcpy(&reset[kSequenceAt], &out[kAcknowledgementAt], sizeof(std::uint32_t));
    run(reset, source);
  }

  int program;
  std::vector<std::uint8_t> out, syn = segmentOf(kSyn), reset = segmentOf(kRst), later = segmentOf(kAck);
};

void measure() {
  const FilterMaps maps =
      FilterMaps::create({.pairsMax = 1000, .rulesMax = 64, .prefixesMax = 64, .sourcesMax = kSources});
  const FilterMaps small =
      FilterMaps::create({.pairsMax = 1000, .rulesMax = 64, .prefixesMax = 64, .sourcesMax = 1024});
  RuleTable rules(maps);
  WantedRule rule = Filter::ruleTo(kForwardTarget, "validate");
  rule.rule.asks |= FILTER_ASKS_PROTOCOL;
  rule.rule.protocol = 6;
  rule.rule.action = FILTER_VALIDATE_TRANSPARENT;
  rules.set(std::vector{rule});
  const FilterProgram program(maps, false);
  Segments segments(program.fd());
  const auto count = [&](filter_verdict verdict) { return maps.stats().verdicts[verdict].packets; };
  for (std::uint32_t i = 0; i < kSources; i++) segments.prove(i);
  if (count(FILTER_DROP_PROOF) != kSources) throw std::runtime_error("not all sources proved their address");
  for (std::uint32_t i = 0; i < kSources; i++) segments.run(segments.later, i);
  std::printf("{\"sources\": %u, \"known\": %llu, \"maps\": {", kSources,
              static_cast<unsigned long long>(count(FILTER_PASS_DEFAULT)));
  const char* separator = "";
  for (std::size_t i = 0; i < FilterMaps::kMaps; i++) {
    const std::uint64_t bytes = memoryOf(maps.fd(i));
    if (bytes == memoryOf(small.fd(i))) continue;
    std::printf("%s\"%s\": %llu", separator, FilterMaps::kNames.at(i), static_cast<unsigned long long>(bytes));
    separator = ", ";
  }
  std::printf("}}\n");
}

}  // namespace

int main() {
  try {
    measure();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "source_memory: %s\n", error.what());
    return 1;
  }
}
