// Datagrams that are nearly right: recorded ones, and templates and data of random fields, each with a few mutations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flow/flow_exporter.h"

namespace floodwall::fuzz {

using Datagram = std::vector<std::uint8_t>;

/// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  /// Nearly uniform over [0, bound), for small bounds.
  std::uint32_t below(std::size_t bound) { return static_cast<std::uint32_t>((bits() >> 32) * bound >> 32); }
  bool oneIn(std::size_t count) { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

class DatagramMaker {
 public:
  static constexpr std::size_t kBytesMax = 2048;

  /// `recorded`: of this protocol; without one there are only those of random fields.
  DatagramMaker(FlowProtocol protocol, std::span<const Datagram> recorded) : protocol_(protocol), recorded_(recorded) {}

  /// The next one. Its place in the sequence is right most of the time, so that it is no duplicate of another.
  const Datagram& next(Random& random, std::uint32_t number);

 private:
  void makeTemplates(Random& random);
  void makeData(Random& random);
  void makeHeader(Random& random);
  void setNumber(std::uint32_t number);
  void mutate(Random& random);
  [[nodiscard]] bool hasTemplates() const;

  FlowProtocol protocol_;
  std::span<const Datagram> recorded_;
  Datagram made_;
};

/// Of one file with each datagram after its length in two bytes; throws for a file that cannot be read.
std::vector<Datagram> recordedIn(const std::string& path);
/// As its first bytes say.
FlowProtocol protocolOf(const Datagram& datagram);

}  // namespace floodwall::fuzz
