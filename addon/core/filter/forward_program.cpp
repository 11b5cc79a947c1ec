#include "filter/forward_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "filter/filter_program.h"
// The skeleton needs the structs of forward_abi.h.
#include "xdp_forward.skel.h"

namespace floodwall {
namespace {

constexpr const char* kCallName = "forward_call";
constexpr std::uint64_t kSecondNs = 1'000'000'000;

}  // namespace

void ForwardProgram::Close::operator()(xdp_forward_bpf* skeleton) const { xdp_forward_bpf__destroy(skeleton); }

ForwardProgram::ForwardProgram(const ForwardMaps& maps, const ForwardProgramOptions& options) {
  prepareBpf();
  skeleton_.reset(xdp_forward_bpf__open());
  if (!skeleton_) throw FilterError(std::string("cannot open the forwarding program: ") + strerror(errno));
  // The skeleton declares .rodata const because it is so once loaded; before that it is ours to fill in.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  auto& settings = const_cast<forward_settings&>(skeleton_->rodata->settings);
  settings.has_fragments = options.hasFragments ? 1 : 0;
  settings.refresh_ns = options.refreshNs;
  settings.answer_cost_ns = options.answersPerSecond == 0 ? 0 : kSecondNs / options.answersPerSecond;
  settings.keep_ns = options.keepNs;
  if (options.hasFragments) bpf_program__set_flags(skeleton_->progs.xdp_forward, BPF_F_XDP_HAS_FRAGS);
  maps.use(skeleton_->obj);
  const auto refusal = loadProgram(skeleton_->skeleton, {.name = std::string("the forwarding program (xdp_forward") +
                                                                 fragmentsText(options.hasFragments),
                                                         .alternative = "set dataplane.forward: kernel",
                                                         .lessMemory = "set dataplane.forward: kernel",
                                                         .size = options.size});
  if (refusal) throw FilterError(*refusal);
  call_ = UniqueFd(
      bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, kCallName, sizeof(std::uint32_t), sizeof(std::uint32_t), 1, nullptr));
  const std::uint32_t slot = 0;
  const int program = fd();
  if (call_ && bpf_map_update_elem(call_.get(), &slot, &program, BPF_ANY) == 0) return;
  throw FilterError(std::string("cannot make the forwarding program callable: ") + strerror(errno));
}

int ForwardProgram::fd() const { return bpf_program__fd(skeleton_->progs.xdp_forward); }

void useForwardCall(bpf_object* program, int callFd) {
  bpf_map* map = bpf_object__find_map_by_name(program, kCallName);
  const int error = map == nullptr ? -ENOENT : bpf_map__reuse_fd(map, callFd);
  if (error != 0)
    throw FilterError(std::string("cannot give the XDP program its map forward_call: ") + strerror(-error));
}

}  // namespace floodwall
