// Link headers of captured frames, of libpcap's many linktypes, in the form that the parser reads.
#pragma once

#include <string>

#include "parse/frame.h"

namespace floodwall {

class PcapLink {
 public:
  /// Throws SourceError that names `origin` when the linktype (libpcap's DLT_ number) is not read.
  PcapLink(int dlt, const std::string& origin);

  [[nodiscard]] Link link() const { return dlt_ == kEthernet ? Link::ethernet : Link::rawIp; }
  /// The frame without the capture's own header. Frames without IP come back so that the parser reports them as such.
  [[nodiscard]] Frame strip(const Frame& frame) const;

 private:
  /// DLT_EN10MB.
  static constexpr int kEthernet = 1;

  int dlt_;
};

}  // namespace floodwall
