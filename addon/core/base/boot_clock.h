// The kernel's boot-time clock, by which entries of its maps expire: it goes on through a suspend, and no step of the
// wall clock moves it. The only place where kernel time is converted.
#pragma once

#include <cstdint>

namespace floodwall {

[[nodiscard]] std::uint64_t bootNs();

/// When a wall time in milliseconds since the epoch will be, on the boot-time clock. At least 1: 0 stands for no entry.
[[nodiscard]] std::uint64_t bootNsFromWallMs(double wallMs);

/// The other way, for people and records.
[[nodiscard]] double wallMsFromBootNs(std::uint64_t bootNs);

}  // namespace floodwall
