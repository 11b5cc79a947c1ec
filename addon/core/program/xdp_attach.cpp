#include "program/xdp_attach.h"

#include <linux/bpf.h>
#include <linux/if_link.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/source_error.h"
#include "device/device_details.h"
#include "device/native_xdp.h"
#include "device/netdev_family.h"

namespace floodwall {
namespace {

/// Empty: not to be read, which takes CAP_SYS_ADMIN.
std::string programName(std::uint32_t id) {
  const UniqueFd fd(bpf_prog_get_fd_by_id(id));
  bpf_prog_info info{};
  __u32 length = sizeof info;
  if (!fd || bpf_obj_get_info_by_fd(fd.get(), &info, &length) != 0) return {};
  return info.name;
}

/// Empty when no program is attached.
std::string holderText(const NetworkDevice& device) {
  const auto holder = attachedProgram(device);
  if (!holder) return {};
  return "XDP program " + std::to_string(holder->id) + " (" + (holder->name.empty() ? "unknown" : holder->name) +
         ") is attached to interface " + device.name +
         " and is not replaced: stop its owner, or detach it with `ip link set " + device.name + " " +
         (holder->isGeneric ? "xdpgeneric" : "xdp") + " off`";
}

/// The link, or the errno as a negative descriptor.
int createLink(int programFd, const NetworkDevice& device, XdpMode mode) {
  LIBBPF_OPTS(bpf_link_create_opts, options);
  options.flags = mode == XdpMode::native ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
  return bpf_link_create(programFd, static_cast<int>(device.index), BPF_XDP, &options);
}

/// Throws what no other mode would cure.
void refuseLasting(const NetworkDevice& device, int error) {
  if (error == EPERM || error == EACCES) {
    throw SourceError("no permission to attach an XDP program to interface " + device.name + ": " + kPermissionRemedy);
  }
  if (error == ENODEV) throw SourceError("interface " + device.name + " is gone: create it again");
  if (error != EBUSY && error != EEXIST) return;
  const std::string holder = holderText(device);
  throw SourceError(holder.empty() ? "interface " + device.name + " is held by another XDP program: try again"
                                   : holder);
}

/// The device is read at this moment: an obstacle may have come after the last reading.
std::string refusalText(const NetworkDevice& device, int error) {
  const DeviceDetails details = readDeviceDetails(device.name);
  return nativeRefusal(device, details.driver, nativeObstacles(device, details, xdpFeatures(device.index)), error);
}

}  // namespace

XdpLink XdpLink::attach(int programFd, const NetworkDevice& device, XdpMode wanted) {
  std::string refusal;
  if (wanted != XdpMode::generic) {
    const int fd = createLink(programFd, device, XdpMode::native);
    if (fd >= 0) return {UniqueFd(fd), XdpMode::native, {}};
    refuseLasting(device, -fd);
    refusal = refusalText(device, -fd);
    if (wanted == XdpMode::native) {
      throw SourceError("native XDP on interface " + device.name + " failed: " + refusal +
                        "; xdp_mode auto or generic does without it");
    }
  }
  const int fd = createLink(programFd, device, XdpMode::generic);
  if (fd >= 0) return {UniqueFd(fd), XdpMode::generic, refusal};
  refuseLasting(device, -fd);
  throw SourceError("generic XDP on interface " + device.name + " failed: " + strerror(-fd) +
                    "; use the pcap backend on this interface");
}

std::optional<XdpLink> XdpLink::adopt(const std::string& path, const NetworkDevice& device) {
  const auto unknownState = [&](int error) {
    return SourceError("cannot determine whether " + path + " is attached to interface " + device.name + ": " +
                       strerror(error));
  };
  UniqueFd fd(bpf_obj_get(path.c_str()));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) throw unknownState(errno);
  bpf_link_info info{};
  __u32 length = sizeof info;
  if (bpf_obj_get_info_by_fd(fd.get(), &info, &length) != 0) throw unknownState(errno);
  LIBBPF_OPTS(bpf_xdp_query_opts, query);
  const int error = bpf_xdp_query(static_cast<int>(device.index), 0, &query);
  if (error != 0) throw unknownState(-error);
  // Interfaces of other network namespaces have the same indexes: the program shows whose link it is.
  const bool isGeneric = query.attach_mode == XDP_ATTACHED_SKB;
  if (info.xdp.ifindex != device.index || query.attach_mode == XDP_ATTACHED_NONE || info.prog_id != query.prog_id) {
    return std::nullopt;
  }
  return XdpLink(std::move(fd), isGeneric ? XdpMode::generic : XdpMode::native, {});
}

void XdpLink::update(int programFd) {
  const int error = bpf_link_update(fd_.get(), programFd, nullptr);
  if (error != 0) throw SourceError(std::string("cannot put a new XDP program in place: ") + strerror(-error));
}

void XdpLink::pin(const std::string& path) const {
  const int error = bpf_obj_pin(fd_.get(), path.c_str());
  if (error != 0) throw SourceError("cannot pin " + path + ": " + strerror(-error));
}

XdpLink::~XdpLink() {
  if (fd_) bpf_link_detach(fd_.get());
}

std::string XdpLink::modeText() const {
  if (mode_ == XdpMode::native) return "native";
  return refusal_.empty() ? "generic" : "generic (" + refusal_ + ")";
}

bool XdpLink::isAttached() const noexcept {
  bpf_link_info info{};
  __u32 length = sizeof info;
  return bpf_obj_get_info_by_fd(fd_.get(), &info, &length) != 0 || info.xdp.ifindex != 0;
}

std::optional<AttachedProgram> attachedProgram(const NetworkDevice& device) {
  LIBBPF_OPTS(bpf_xdp_query_opts, query);
  if (bpf_xdp_query(static_cast<int>(device.index), 0, &query) != 0 || query.attach_mode == XDP_ATTACHED_NONE)
    return std::nullopt;
  const bool isGeneric = query.attach_mode == XDP_ATTACHED_SKB;
  const std::uint32_t id = query.prog_id != 0 ? query.prog_id : isGeneric ? query.skb_prog_id : query.drv_prog_id;
  return AttachedProgram{.id = id, .name = programName(id), .isGeneric = isGeneric};
}

void requireNoProgram(const NetworkDevice& device) {
  const std::string holder = holderText(device);
  if (!holder.empty()) throw SourceError(holder);
}

}  // namespace floodwall
