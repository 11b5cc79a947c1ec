#include "capture/mirror_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <cerrno>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "capture/capture_source.h"
#include "xdp_mirror.skel.h"

namespace floodwall {

void MirrorProgram::Close::operator()(xdp_mirror_bpf* skeleton) const { xdp_mirror_bpf__destroy(skeleton); }

MirrorProgram::MirrorProgram(std::uint32_t queues, bool takesPieces, ProgramSize* size) {
  prepareBpf();
  skeleton_.reset(xdp_mirror_bpf__open());
  if (!skeleton_) throw SourceError(std::string("cannot open the XDP mirror program: ") + strerror(errno));
  bpf_program__set_flags(skeleton_->progs.xdp_mirror, takesPieces ? BPF_F_XDP_HAS_FRAGS : 0);
  bpf_map__set_max_entries(skeleton_->maps.sockets, queues);
  bpf_map__set_max_entries(skeleton_->maps.passed, queues);
  const auto refusal =
      loadProgram(skeleton_->skeleton, {.name = takesPieces ? "the XDP mirror program (xdp_mirror, frames in pieces)"
                                                            : "the XDP mirror program (xdp_mirror)",
                                        .alternative = "set backend to pcap on the interface",
                                        .lessMemory = "name fewer queues",
                                        .size = size});
  if (refusal) throw SourceError(*refusal);
}

int MirrorProgram::programFd() const { return bpf_program__fd(skeleton_->progs.xdp_mirror); }

int MirrorProgram::socketsFd() const { return bpf_map__fd(skeleton_->maps.sockets); }

std::uint64_t MirrorProgram::passed(std::uint32_t queue) const {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(libbpf_num_possible_cpus()));
  if (bpf_map_lookup_elem(bpf_map__fd(skeleton_->maps.passed), &queue, counts.data()) != 0) return 0;
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace floodwall
