// Loads an opened BPF object into the kernel: the only place that does. A refusal comes with all that the operator
// needs to know: kernel, program, error, the verifier's last message, and what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "program/bpf_process.h"

struct bpf_object_skeleton;

namespace floodwall {

/// The oldest Linux that takes XDP frames in pieces and has bpf_xdp_load_bytes().
inline constexpr unsigned kLeastMajor = 5, kLeastMinor = 18;

/// The properties of a loaded program.
struct ProgramSize {
  /// Instructions of the program as the kernel keeps it.
  std::uint32_t instructions = 0;
  /// As the verifier counted them, each as often as it came by.
  std::uint32_t verifiedInstructions = 0;
  std::uint32_t totalStates = 0;
  std::uint32_t peakStates = 0;
  /// Machine code; 0: the JIT is off.
  std::uint32_t jitedBytes = 0;
};

struct LoadOrder {
  /// The program and its variant, as errors call it: "the XDP filter (xdp_filter, frames in pieces)".
  std::string name;
  /// The functions that work without the program; the end of a sentence.
  std::string alternative;
  /// The setting that makes its maps smaller; the end of a sentence.
  std::string lessMemory;
  /// Where to put the size of the program; null: not read, which loads it faster.
  ProgramSize* size = nullptr;
};

/// Loads the maps and programs of a skeleton. Absent: all are in the kernel. Else why they are not, for the operator,
/// in one line. A program that the verifier of this kernel refused is not tried again by this process: it would be
/// refused again, at the cost of a good part of a second each time.
[[nodiscard]] std::optional<std::string> loadProgram(bpf_object_skeleton* skeleton, const LoadOrder& order);

/// The details of a refusal.
struct LoadFailure {
  int error = 0;
  /// See reasonIn().
  std::string reason;
  /// The map that could not be made; empty: not because of one.
  std::string map;
};

/// EPERM is a missing permission only where one is missing, and so is a refusal of the verifier, which lets a program
/// do less without CAP_PERFMON.
[[nodiscard]] std::string loadRefusal(const LoadOrder& order, const LoadFailure& failure, const KernelRelease& kernel,
                                      const std::vector<std::string>& missingCapabilities);

}  // namespace floodwall
