// Capture files cut and spoiled at every byte: an error or fewer frames, never a crash.
#include "capture/pcap_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "capture/capture_source.h"

namespace floodwall {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t kFrames = 4, kFrameBytes = 60;
constexpr std::size_t kFileHeader = 24, kRecordHeader = 16, kRecord = kRecordHeader + kFrameBytes;

void put32(Bytes& bytes, std::uint32_t value) {
  for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(value >> shift));
}

Bytes capture() {
  Bytes bytes;
  for (const std::uint32_t word : {0xa1b2c3d4U, 0x00040002U, 0U, 0U, 262144U, 1U}) put32(bytes, word);
  for (std::uint32_t i = 0; i < kFrames; i++) {
    for (const std::uint32_t word : {1'700'000'000U, i, std::uint32_t{kFrameBytes}, std::uint32_t{kFrameBytes}}) {
      put32(bytes, word);
    }
    bytes.insert(bytes.end(), kFrameBytes, static_cast<std::uint8_t>(i));
  }
  return bytes;
}

/// A file of its own that is gone with it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const Bytes& bytes)
      : path_(std::filesystem::temp_directory_path() / ("floodwall-pcap-" + std::to_string(getpid()))) {
    std::ofstream file(path_, std::ios::binary);
    for (const std::uint8_t byte : bytes) file.put(static_cast<char>(byte));
    REQUIRE(file.good());
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::size_t readAll(PcapFile& file) {
  std::size_t frames = 0;
  std::size_t sum = 0;
  while (const auto record = file.next()) {
    frames++;
    for (std::uint32_t i = 0; i < record->frame.captured; i++) sum += record->frame.data[i];
    CHECK(record->frame.captured <= record->frame.wire);
  }
  // Used, so that every byte is read under the sanitizer.
  CHECK(sum < SIZE_MAX);
  return frames;
}

TEST_CASE("a capture that is cut anywhere gives the frames before the cut, and says when it was cut inside one") {
  const Bytes whole = capture();
  for (std::size_t length = kFileHeader; length <= whole.size(); length++) {
    const TemporaryFile file(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    PcapFile pcap(file.path());
    CHECK(readAll(pcap) == (length - kFileHeader) / kRecord);
    CHECK(pcap.error().empty() == ((length - kFileHeader) % kRecord == 0));
    CHECK_FALSE(pcap.next().has_value());
  }
}

TEST_CASE("a header that is cut is refused") {
  const Bytes whole = capture();
  for (std::size_t length = 0; length < kFileHeader; length++) {
    const TemporaryFile file(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
    CHECK_THROWS_AS(PcapFile(file.path()), SourceError);
  }
}

TEST_CASE("a capture with spoiled bytes ends or is refused, and does no harm") {
  const std::uint32_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 500; round++) {
    Bytes bytes = capture();
    for (int i = 0; i < 3; i++) bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    const TemporaryFile file(bytes);
    try {
      PcapFile pcap(file.path());
      readAll(pcap);
    } catch (const SourceError& error) {
      CHECK(std::string(error.what()).find(file.path()) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace floodwall
