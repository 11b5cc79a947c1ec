// The loaded XDP program of a mirror port with its maps. Steers nothing until it is attached (xdp_attach.h).
#pragma once

#include <cstdint>
#include <memory>

#include "program/program_load.h"

struct xdp_mirror_bpf;

namespace floodwall {

class MirrorProgram {
 public:
  /// For RX queues 0 to `queues` - 1. `takesPieces`: frames longer than a buffer come in several. `size`: see
  /// LoadOrder. Throws SourceError.
  MirrorProgram(std::uint32_t queues, bool takesPieces, ProgramSize* size = nullptr);

  [[nodiscard]] int programFd() const;
  [[nodiscard]] int socketsFd() const;
  /// Frames of a queue that no socket took.
  [[nodiscard]] std::uint64_t passed(std::uint32_t queue) const;

 private:
  struct Close {
    void operator()(xdp_mirror_bpf* skeleton) const;
  };
  std::unique_ptr<xdp_mirror_bpf, Close> skeleton_;
};

}  // namespace floodwall
