// Attaches an XDP program to an interface without ever replacing another one, and detaches it when its owner goes,
// however it goes: the BPF link lives as long as its descriptor, so that a killed process leaves nothing attached. Only
// a link that was pinned stays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/unique_fd.h"
#include "device/network_device.h"
#include "program/bpf_process.h"

namespace floodwall {

enum class XdpMode : std::uint8_t {
  /// Native where the driver can, else generic.
  automatic,
  /// In the driver.
  native,
  /// In the network stack, after the kernel built its own packet: any driver, several times slower.
  generic,
};

class XdpLink {
 public:
  /// Throws SourceError that names interface, cause and remedy; of a program in the way its id and name.
  /// `automatic` turns to generic only when the driver refuses, not when something else is in the way.
  static XdpLink attach(int programFd, const NetworkDevice& device, XdpMode wanted);
  /// The link pinned at `path`, if it is attached to this very device; absent otherwise. Throws SourceError when that
  /// is not known.
  static std::optional<XdpLink> adopt(const std::string& path, const NetworkDevice& device);
  XdpLink(XdpLink&&) noexcept = default;
  XdpLink& operator=(XdpLink&&) noexcept = default;
  /// Detached when this returns; some kernels would do it a moment after the descriptor is closed.
  ~XdpLink();

  /// Replaces the link's program at once: each packet meets either the old or the new one. Throws SourceError.
  void update(int programFd);
  /// Pins the link to a path on a BPF file system. Throws SourceError.
  void pin(const std::string& path) const;
  /// Leaves a pinned link attached when this goes.
  void keep() noexcept { fd_ = UniqueFd(); }

  [[nodiscard]] bool isNative() const noexcept { return mode_ == XdpMode::native; }
  /// "native", "generic", or "generic (the driver has no native XDP)" where native was tried.
  [[nodiscard]] std::string modeText() const;
  /// False once the interface is gone: the link stays, attached to nothing. True while the kernel does not answer.
  [[nodiscard]] bool isAttached() const noexcept;

 private:
  XdpLink(UniqueFd fd, XdpMode mode, std::string refusal)
      : fd_(std::move(fd)), mode_(mode), refusal_(std::move(refusal)) {}

  UniqueFd fd_;
  XdpMode mode_;
  /// Why native was not possible, when it was tried.
  std::string refusal_;
};

struct AttachedProgram {
  std::uint32_t id = 0;
  /// Empty: this process may not read it.
  std::string name;
  bool isGeneric = false;
};

/// The XDP program on an interface; absent: none is attached.
[[nodiscard]] std::optional<AttachedProgram> attachedProgram(const NetworkDevice& device);

/// Throws SourceError when a program is attached to the interface. An early check only: attach() decides.
void requireNoProgram(const NetworkDevice& device);

}  // namespace floodwall
