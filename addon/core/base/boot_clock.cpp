#include "base/boot_clock.h"

#include <algorithm>
#include <ctime>

namespace floodwall {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
/// 30 years: what expires later than that never expires before a reboot.
constexpr double kFarthestMs = 30.0 * 365 * 86'400'000;

std::int64_t readNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

}  // namespace

std::uint64_t bootNs() { return static_cast<std::uint64_t>(readNs(CLOCK_BOOTTIME)); }

std::uint64_t bootNsFromWallMs(double wallMs) {
  const double aheadMs = wallMs - static_cast<double>(readNs(CLOCK_REALTIME)) / kNsPerMs;
  const auto aheadNs = static_cast<std::int64_t>(std::clamp(aheadMs, -kFarthestMs, kFarthestMs) * kNsPerMs);
  return static_cast<std::uint64_t>(std::max<std::int64_t>(readNs(CLOCK_BOOTTIME) + aheadNs, 1));
}

double wallMsFromBootNs(std::uint64_t boot) {
  const std::int64_t aheadNs = static_cast<std::int64_t>(boot) - readNs(CLOCK_BOOTTIME);
  return static_cast<double>(readNs(CLOCK_REALTIME) + aheadNs) / kNsPerMs;
}

}  // namespace floodwall
