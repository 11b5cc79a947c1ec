// Whether this kernel takes a program of ours: loads it with maps as small as can be, attaches it to nothing, and lets
// it go. Takes up to a few tenths of a second of the calling thread.
#pragma once

#include <cstdint>
#include <string>

#include "parse/encapsulation.h"
#include "program/program_load.h"

namespace floodwall {

enum class ProgramKind : std::uint8_t { mirror, filter, inlineCounter };

struct ProgramVariant {
  ProgramKind kind = ProgramKind::mirror;
  /// Not of the mirror program, which always takes frames in pieces.
  bool hasFragments = false;
  /// Options of the inline counter: it filters too, it counts outgoing traffic, and the number of hosts it has room
  /// for.
  bool filters = false;
  bool countsOutgoing = false;
  std::uint32_t maxHosts = 1;
  Encapsulations decapsulated{};
};

struct ProgramProbe {
  /// Zeros where the kernel refused.
  ProgramSize size;
  /// Why the kernel refused the program; empty: it takes it.
  std::string error;
};

/// Never throws what the kernel says: that is in the result.
[[nodiscard]] ProgramProbe probeProgram(const ProgramVariant& variant);

}  // namespace floodwall
