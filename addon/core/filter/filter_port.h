// The filter on one interface: attaches it, adopts a pinned link of the process before, follows the interface when it
// goes and comes, and lets an inline source put its program, which has the filter inside, in place of the filter's own.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "filter/filter_program.h"
#include "filter/forwarder.h"
#include "program/xdp_attach.h"

namespace floodwall {

struct PortStatus {
  std::string interface;
  bool isAttached = false;
  /// "native", "generic (the driver has no native XDP)"; empty while not attached.
  std::string mode;
  /// Interface, cause and remedy, while something is wrong.
  std::string error;
};

/// One thread at a time, except for status().
class FilterPort {
 public:
  /// `forwarder`: null where the kernel forwards.
  FilterPort(std::string interface, XdpMode wanted, std::string linkPath, const FilterMaps& maps,
             Forwarder* forwarder = nullptr);

  /// Attaches, or sees that all is well and helps where it is not. The status has its faults.
  void check();
  /// Puts a program with the filter's maps in place of the filter's own. Throws SourceError.
  void lend(int programFd);
  void giveBack();
  /// Detaches, unless the link is to stay.
  void close(bool keep);

  [[nodiscard]] PortStatus status() const;
  [[nodiscard]] const std::string& interface() const noexcept { return interface_; }

 private:
  void attach(const NetworkDevice& device);
  void lose();
  void say(std::string error);
  [[nodiscard]] int program(const NetworkDevice& device);

  NetworkDevices devices_;
  std::string interface_;
  XdpMode wanted_;
  std::string linkPath_;
  const FilterMaps& maps_;
  Forwarder* forwarder_;
  std::optional<FilterProgram> own_;
  bool ownHasFragments_ = false;
  int lent_ = -1;
  std::optional<XdpLink> link_;
  unsigned deviceIndex_ = 0;
  mutable std::mutex statusMutex_;
  PortStatus status_;
};

}  // namespace floodwall
