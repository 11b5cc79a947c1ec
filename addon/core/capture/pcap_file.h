// Reads a capture file frame by frame (pcap in micro- or nanoseconds, pcapng). Knows neither pace nor counting.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "capture/pcap_link.h"

struct pcap;

namespace floodwall {

class PcapFile {
 public:
  struct Record {
    /// Valid until the next call.
    Frame frame;
    /// Nanoseconds since the epoch.
    std::uint64_t timeNs;
  };

  /// Throws SourceError that names the file, the cause and the remedy.
  explicit PcapFile(std::string path);

  /// Absent at the end, and where the file is damaged: then error() says so.
  [[nodiscard]] std::optional<Record> next();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Link link() const { return link_->link(); }
  /// Empty unless the file ended where it should not.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  struct Close {
    void operator()(pcap* handle) const;
  };

  std::string path_;
  std::unique_ptr<pcap, Close> handle_;
  std::optional<PcapLink> link_;
  std::uint64_t frames_ = 0;
  std::string error_;
};

}  // namespace floodwall
