// A ring of sampled headers while one thread writes it and others read.
#include "count/samples.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

using namespace floodwall;

namespace {

constexpr std::uint32_t kCapacity = 4;
constexpr std::uint64_t kWritten = 4'000;

/// Every byte of the frame says which packet it is of.
void write(SampleRings& rings, std::uint64_t serial) {
  const std::vector<std::uint8_t> bytes(kHeaderBytes, static_cast<std::uint8_t>(serial));
  Sample sample;
  sample.serial = serial;
  sample.epoch = sample.standsFor = static_cast<std::uint32_t>(serial);
  sample.verdict = serial % FILTER_VERDICTS & 0x7f;
  sample.isMade = serial % 2 == 1;
#define IN_SAMPLE(name, bits, ...) sample.name = static_cast<std::uint##bits##_t>(serial);
#include "flow_fields_abi.h"
  rings.write(0, {bytes.data(), kHeaderBytes, static_cast<std::uint32_t>(serial)}, Link::ethernet, sample);
}

bool isWhole(const Sample& sample) {
  const auto serial = static_cast<std::uint32_t>(sample.serial);
  const auto isOwn = [&](std::uint8_t byte) { return byte == static_cast<std::uint8_t>(serial); };
  bool isReported = true;
#define IN_SAMPLE(name, bits, ...) isReported = isReported && sample.name == static_cast<std::uint##bits##_t>(serial);
#include "flow_fields_abi.h"
  return sample.epoch == serial && sample.standsFor == serial && sample.wire == serial &&
         sample.captured == kHeaderBytes && sample.verdict == serial % FILTER_VERDICTS && isReported &&
         sample.isMade == (serial % 2 == 1) && std::all_of(sample.data.begin(), sample.data.end(), isOwn);
}

}  // namespace

TEST_CASE("a sample that is read while others are written is whole" * doctest::test_suite("threads")) {
  SampleRings rings(1, kCapacity);
  std::atomic<bool> isOver = false;
  std::atomic<bool> isReading = false;
  std::uint64_t read = 0, torn = 0;
  std::thread reader([&] {
    std::vector<Sample> samples;
    while (!isOver.load(std::memory_order_relaxed)) {
      samples.clear();
      rings.read(0, samples);
      isReading.store(true, std::memory_order_relaxed);
      read += samples.size();
      torn += static_cast<std::uint64_t>(
          std::count_if(samples.begin(), samples.end(), [](const Sample& sample) { return !isWhole(sample); }));
    }
  });
  write(rings, 1);
  while (!isReading.load(std::memory_order_relaxed)) std::this_thread::yield();
  for (std::uint64_t serial = 2; serial <= kWritten; serial++) {
    write(rings, serial);
    // On one CPU a reader comes by only when the writer lets it.
    if (serial % 64 == 0) std::this_thread::yield();
  }
  isOver = true;
  reader.join();
  CHECK(read > 0);
  CHECK(torn == 0);
  std::vector<Sample> last;
  rings.read(0, last);
  REQUIRE(last.size() == kCapacity);
  for (const Sample& sample : last) CHECK(sample.serial > kWritten - kCapacity);
}
