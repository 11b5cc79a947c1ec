// The loaded XDP program that forwards what the filter passes, in the one slot that the filter's programs call. Frames
// in pieces take a variant of its own, since a program calls only those of its kind.
#pragma once

#include <memory>

#include "filter/forward_maps.h"
#include "program/program_load.h"

struct xdp_forward_bpf;

namespace floodwall {

struct ForwardProgramOptions {
  bool hasFragments = false;
  /// See forward_settings.
  std::uint64_t refreshNs = 1'000'000'000;
  std::uint32_t answersPerSecond = 1000;
  std::uint64_t keepNs = 10'000'000;
  /// See LoadOrder.
  ProgramSize* size = nullptr;
};

class ForwardProgram {
 public:
  /// Throws FilterError.
  ForwardProgram(const ForwardMaps& maps, const ForwardProgramOptions& options);

  [[nodiscard]] int fd() const;
  /// Descriptor of the map that the filter's programs call it by.
  [[nodiscard]] int callFd() const { return call_.get(); }

 private:
  struct Close {
    void operator()(xdp_forward_bpf* skeleton) const;
  };
  std::unique_ptr<xdp_forward_bpf, Close> skeleton_;
  UniqueFd call_;
};

/// Has a program of the filter that was opened and not loaded call the one in this map. Throws FilterError.
void useForwardCall(bpf_object* program, int callFd);

}  // namespace floodwall
