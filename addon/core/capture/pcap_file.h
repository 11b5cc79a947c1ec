// Reads a capture file frame by frame: pcap by libpcap (in micro- or nanoseconds), pcapng by a reader of our own. Knows
// neither pace nor counting.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "capture/pcap_link.h"
#include "capture/pcapng_reader.h"

struct pcap;

namespace floodwall {

class PcapFile {
 public:
  struct Record {
    /// Valid until the next call.
    Frame frame;
    /// Header with which the frame begins: interfaces of one file may differ.
    Link link;
    /// Nanoseconds since the epoch.
    std::uint64_t timeNs;
  };

  /// Throws SourceError that names the file, the cause and the remedy.
  explicit PcapFile(std::string path);

  /// Absent at the end, and where the file is damaged: then error() says so.
  [[nodiscard]] std::optional<Record> next();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Empty unless the file ended where it should not.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  struct Close {
    void operator()(pcap* handle) const;
  };

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  [[nodiscard]] std::optional<Record> nextOfPcap();
  [[nodiscard]] std::optional<Record> nextOfPcapng();
  void setDamaged(const std::string& how);

  std::string path_;
  /// The file of pcapng; that of a pcap file belongs to libpcap.
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::optional<PcapngReader> reader_;
  std::unique_ptr<pcap, Close> handle_;
  std::optional<PcapLink> link_;
  /// The linktype of pcapng that link_ is of.
  std::optional<std::uint16_t> linktype_;
  /// The first frame of a pcapng file, which was read to see whether its linktype is read.
  std::optional<Record> first_;
  std::uint64_t frames_ = 0;
  std::string error_;
};

}  // namespace floodwall
