#include "capture/pcap_file.h"

#include <pcap/pcap.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "capture/capture_source.h"

namespace floodwall {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// Opened here and not by libpcap, which takes "-" for the standard input and waits for ever for a pipe's writer.
File openRegular(const std::string& path) {
  const std::string origin = "capture file " + path;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    throw SourceError("cannot open " + origin + ": " + strerror(errno) + "; correct capture.pcap_file");
  }
  if (!S_ISREG(status.st_mode)) throw SourceError(origin + " is not a regular file: give a capture that was saved");
  File file(std::fopen(path.c_str(), "rbe"));
  if (!file) throw SourceError("cannot open " + origin + ": " + strerror(errno) + "; check its permissions");
  return file;
}

}  // namespace

void PcapFile::Close::operator()(pcap* handle) const { pcap_close(handle); }

PcapFile::PcapFile(std::string path) : path_(std::move(path)) {
  File file = openRegular(path_);
  std::array<char, PCAP_ERRBUF_SIZE> message{};
  handle_.reset(pcap_fopen_offline_with_tstamp_precision(file.get(), PCAP_TSTAMP_PRECISION_NANO, message.data()));
  if (!handle_) {
    throw SourceError("capture file " + path_ + " is not a capture (" + message.data() +
                      "): give a pcap or pcapng file");
  }
  static_cast<void>(file.release());
  link_.emplace(pcap_datalink(handle_.get()), "capture file " + path_);
}

std::optional<PcapFile::Record> PcapFile::next() {
  if (!error_.empty()) return std::nullopt;
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  const int result = pcap_next_ex(handle_.get(), &header, &data);
  if (result == 1) {
    frames_++;
    const auto seconds = static_cast<std::uint64_t>(std::max(header->ts.tv_sec, time_t{0}));
    const auto nanos = static_cast<std::uint64_t>(std::clamp<suseconds_t>(header->ts.tv_usec, 0, 999'999'999));
    const Frame frame{data, header->caplen, std::max(header->len, header->caplen)};
    return Record{link_->strip(frame), seconds * 1'000'000'000 + nanos};
  }
  if (result == PCAP_ERROR) {
    error_ = "capture file " + path_ + " is damaged after " + std::to_string(frames_) + " frames (" +
             pcap_geterr(handle_.get()) + "): what came before is counted; capture it again";
  }
  return std::nullopt;
}

}  // namespace floodwall
