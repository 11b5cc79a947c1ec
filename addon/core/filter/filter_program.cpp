#include "filter/filter_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "filter/forward_program.h"
// The skeleton needs the structs of filter_abi.h.
#include "xdp_filter.skel.h"

namespace floodwall {
namespace {

void reuse(bpf_object* program, const char* name, int fd) {
  bpf_map* map = bpf_object__find_map_by_name(program, name);
  const int error = map == nullptr ? -ENOENT : bpf_map__reuse_fd(map, fd);
  if (error != 0)
    throw FilterError(std::string("cannot give the XDP program its map ") + name + ": " + strerror(-error));
}

}  // namespace

void useFilterMaps(bpf_object* program, const FilterMaps& maps) {
  for (std::size_t i = 0; i < FilterMaps::kProgramMaps; i++) reuse(program, FilterMaps::kNames.at(i), maps.fd(i));
  reuse(program, FilterMaps::kStatsName, maps.statsFd());
  reuse(program, FilterMaps::kNamedSetsName, maps.namedSetsFd());
}

void FilterProgram::Close::operator()(xdp_filter_bpf* skeleton) const { xdp_filter_bpf__destroy(skeleton); }

FilterProgram::FilterProgram(const FilterMaps& maps, bool hasFragments, int forwardCall, ProgramSize* size) {
  prepareBpf();
  skeleton_.reset(xdp_filter_bpf__open());
  if (!skeleton_) throw FilterError(std::string("cannot open the XDP filter: ") + strerror(errno));
  // The skeleton declares .rodata const because it is so once loaded; before that it is ours to fill in.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  auto& settings = const_cast<filter_settings&>(skeleton_->rodata->settings);
  settings.has_fragments = hasFragments ? 1 : 0;
  settings.forwards = forwardCall >= 0 ? 1 : 0;
  if (hasFragments) bpf_program__set_flags(skeleton_->progs.xdp_filter, BPF_F_XDP_HAS_FRAGS);
  useFilterMaps(skeleton_->obj, maps);
  if (forwardCall >= 0) useForwardCall(skeleton_->obj, forwardCall);
  const auto refusal =
      loadProgram(skeleton_->skeleton, {.name = std::string("the XDP filter (xdp_filter") + fragmentsText(hasFragments),
                                        .alternative = "run without a data plane on this machine",
                                        .lessMemory = "lower dataplane.limits.max_dynamic_rules",
                                        .size = size});
  if (refusal) throw FilterError(*refusal);
}

int FilterProgram::fd() const { return bpf_program__fd(skeleton_->progs.xdp_filter); }

}  // namespace floodwall
