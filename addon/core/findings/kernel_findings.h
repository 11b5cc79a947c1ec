// Properties of the kernel and of this process that are read before BPF is used. Changes nothing but the limit of
// locked memory of this process, which is raised as far as it goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "filter/pin_directory.h"

namespace floodwall {

struct KernelFindings {
  std::string release;
  bool hasBtf = false;
  /// Absent: this process may not read it, or not in its network namespace.
  std::optional<bool> isJitOn;
  /// "none", "integrity", "confidentiality"; absent: the kernel has no lockdown, or does not show it.
  std::optional<std::string> lockdown;
  /// Bytes that this process may lock; absent: as many as it wants.
  std::optional<std::uint64_t> lockedBytesMost;
  /// See effectiveCapabilities() and missingForLoading().
  std::vector<std::string> capabilities;
  std::vector<std::string> missingForLoading;
  std::uint32_t possibleCpus = 1;
  /// Absent if none was requested.
  std::optional<PinPathFindings> pinPath;
};

/// `pinPath` empty: none.
[[nodiscard]] KernelFindings readKernel(const std::string& pinPath);

}  // namespace floodwall
