// Whether the kernel's routes and rules choose a packet's way by its destination and the interface that it arrived on
// alone, for IPv4 and IPv6 of the process's network namespace.
#pragma once

#include "base/unique_fd.h"

namespace floodwall {

/// One thread at a time.
class RouteChoice {
 public:
  RouteChoice();

  /// Lists everything at the first call, and then follows what the kernel reports of changes. False as well where it
  /// does not answer in full, or reports more than there is room for. A result of false stays for 30 calls.
  [[nodiscard]] bool isByDestination();

 private:
  /// Those since the last call.
  [[nodiscard]] bool doChangesAskMore();

  UniqueFd changes_;
  bool isByDestination_ = false;
  /// Calls before everything is listed again.
  unsigned listIn_ = 0;
};

}  // namespace floodwall
