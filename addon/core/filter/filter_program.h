// The loaded XDP program that only filters, with the filter's maps. Drops nothing until it is attached (xdp_attach.h).
#pragma once

#include <memory>

#include "filter/filter_maps.h"
#include "program/program_load.h"

struct xdp_filter_bpf;
struct bpf_object;

namespace floodwall {

class FilterProgram {
 public:
  /// `forwardCall`: see Forwarder::callFd(); negative: what passes is the kernel's. `size`: see LoadOrder. Throws
  /// FilterError.
  FilterProgram(const FilterMaps& maps, bool hasFragments, int forwardCall = -1, ProgramSize* size = nullptr);

  [[nodiscard]] int fd() const;

 private:
  struct Close {
    void operator()(xdp_filter_bpf* skeleton) const;
  };
  std::unique_ptr<xdp_filter_bpf, Close> skeleton_;
};

/// Puts the filter's maps into a program that was opened and not loaded. Throws FilterError.
void useFilterMaps(bpf_object* program, const FilterMaps& maps);

/// Frames of longer packets come in several buffers, on every driver.
inline constexpr std::uint32_t kSingleBufferMtu = 1500;

/// How the name of a program ends whose variants differ in this.
inline const char* fragmentsText(bool hasFragments) { return hasFragments ? ", frames in pieces)" : ")"; }

}  // namespace floodwall
