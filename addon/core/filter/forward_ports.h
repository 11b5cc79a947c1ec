// Which interfaces packets are forwarded from and to: follows those that come, go, or change, and writes them into the
// kernel's tables.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "device/link_list.h"
#include "filter/forward_maps.h"

namespace floodwall {

/// Whether frames that are redirected to the interface leave by it. `features`: null where the kernel does not say, as
/// before Linux 6.3; then only drivers that are known to send while a program of theirs runs count.
[[nodiscard]] bool takesRedirects(const ListedLink& link, const std::uint64_t* features, const std::string& driver);

/// One thread at a time.
class ForwardPorts {
 public:
  /// `interfaces`: those that the filter is on.
  ForwardPorts(const ForwardMaps& maps, std::vector<std::string> interfaces);

  /// Looks at all interfaces. Ports about which the kernel does not answer now stay as they were.
  void follow();
  /// Names of those that packets can leave by.
  [[nodiscard]] const std::vector<std::string>& egress() const noexcept { return egress_; }

 private:
  void putArrivals(const std::vector<ListedLink>& links);
  void putEgress(const std::vector<ListedLink>& links);

  const ForwardMaps& maps_;
  std::vector<std::string> interfaces_;
  std::set<std::uint32_t> arrivals_;
  std::unordered_map<std::uint32_t, std::string> leaving_;
  std::vector<std::string> egress_;
};

}  // namespace floodwall
