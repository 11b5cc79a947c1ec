#include "filter/pinned_filter.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/boot_clock.h"
#include "filter/forwarder.h"
#include "filter/pin_directory.h"
#include "filter/prefix_sets.h"
#include "program/xdp_attach.h"

namespace floodwall {
namespace {

PinnedFilter::Link linkOf(const std::string& directory, const std::string& fileName) {
  PinnedFilter::Link found{.interface = PinDirectory::interfaceOfLink(fileName)};
  const UniqueFd fd(bpf_obj_get((directory + "/" + fileName).c_str()));
  bpf_link_info info{};
  __u32 length = sizeof info;
  const bool isAttached = fd && bpf_obj_get_info_by_fd(fd.get(), &info, &length) == 0 && info.xdp.ifindex != 0;
  if (isAttached) found.program = info.prog_id;
  return found;
}

void readMaps(const FilterMaps& maps, PinnedFilter& found) {
  const std::uint64_t now = bootNs();
  for (std::size_t row = 0; row < maps.pairs().size(); row++) {
    if (maps.pairs()[row].expires != 0 && maps.pairRows()[row].expires_at_ns > now) found.pairs++;
  }
  for (const filter_entry& entry : activeEntries(maps, FILTER_RULES)) {
    if (entry.rule < maps.rules().size() && maps.rules()[entry.rule].expires_at_ns > now) found.rules++;
  }
  found.stats = maps.stats();
  found.setNames = namesInForce(maps);
}

bool isLocked(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return fd && flock(fd.get(), LOCK_SH | LOCK_NB) != 0;
}

}  // namespace

PinnedFilter readPinned(const std::string& pinPath) {
  prepareBpf();
  const UniqueFd directory(open(pinPath.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory && errno == EACCES)
    throw FilterError("no permission to look into " + pinPath + ": " + kPermissionRemedy);
  PinnedFilter found;
  found.schemas = PinDirectory::schemasIn(pinPath);
  found.isOwned = isLocked(pinPath);
  std::error_code error;
  const std::string links = PinDirectory::linksIn(pinPath);
  for (const auto& entry : std::filesystem::directory_iterator(links, error)) {
    found.links.push_back(linkOf(links, entry.path().filename().string()));
  }
  if (found.schemas.empty()) return found;
  const auto maps = FilterMaps::open(PinDirectory::mapsIn(pinPath), false);
  if (!maps) {
    found.state = PinnedFilter::State::wrongSchema;
    return found;
  }
  readMaps(*maps, found);
  const UniqueFd forward(bpf_obj_get((PinDirectory::forwardIn(pinPath) + "/" + Forwarder::kStatsName).c_str()));
  if (forward) found.forward = ForwardMaps::statsOf(forward.get());
  const bool isOn = !found.links.empty() && std::all_of(found.links.begin(), found.links.end(),
                                                        [](const auto& link) { return link.program != 0; });
  found.state = isOn ? PinnedFilter::State::healthy : PinnedFilter::State::detached;
  return found;
}

}  // namespace floodwall
