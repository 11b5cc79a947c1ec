// The command line of the traffic source.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace floodwall::lab {

/// Of a client; the others follow upwards.
constexpr std::uint16_t kFirstPort = 20000;

struct TrafficOptions {
  std::string device;
  std::string profile = "udp";
  /// First destination and first source; the others follow upwards. An empty source is chosen by family.
  std::string destination;
  std::string source;
  std::uint32_t hosts = 1;
  std::uint32_t sources = 1;
  std::uint32_t ports = 1;
  /// Of a frame of the profile udp, without check sum.
  std::uint32_t frameBytes = 60;
  /// 0: as fast as it goes.
  double packetsPerSecond = 1000;
  double seconds = 1;
  /// 0: bounded by time alone.
  std::uint64_t packets = 0;
  /// Counted from 1; 0: none.
  std::uint64_t markedPacket = 0;
  /// Empty: by rate.
  std::string path;
  /// Negative: not pinned.
  int cpu = -1;
};

/// A command line that cannot be obeyed; what() is for the user.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

[[nodiscard]] TrafficOptions parseOptions(std::span<char* const> arguments);
extern const char* const kUsage;

}  // namespace floodwall::lab
