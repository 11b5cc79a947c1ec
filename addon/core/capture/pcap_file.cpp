#include "capture/pcap_file.h"

#include <pcap/pcap.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "capture/capture_source.h"

namespace floodwall {
namespace {

/// Opened here and not by libpcap, which takes "-" for the standard input and waits for ever for a pipe's writer.
std::FILE* openRegular(const std::string& path) {
  const std::string origin = "capture file " + path;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    throw SourceError("cannot open " + origin + ": " + strerror(errno) + "; correct capture.pcap_file");
  }
  if (!S_ISREG(status.st_mode)) throw SourceError(origin + " is not a regular file: give a capture that was saved");
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) throw SourceError("cannot open " + origin + ": " + strerror(errno) + "; check its permissions");
  return file;
}

/// Numbers of files are libpcap's own but for raw IP, which has another on each system.
int dltOf(std::uint16_t linktype) {
  constexpr std::uint16_t kRaw = 101;
  return linktype == kRaw ? DLT_RAW : linktype;
}

}  // namespace

void PcapFile::Close::operator()(pcap* handle) const { pcap_close(handle); }

PcapFile::PcapFile(std::string path) : path_(std::move(path)), file_(openRegular(path_)) {
  if (PcapngReader::isPcapng(file_.get())) {
    reader_.emplace(file_.get());
    first_ = nextOfPcapng();
    return;
  }
  std::array<char, PCAP_ERRBUF_SIZE> message{};
  handle_.reset(pcap_fopen_offline_with_tstamp_precision(file_.get(), PCAP_TSTAMP_PRECISION_NANO, message.data()));
  if (!handle_) {
    throw SourceError("capture file " + path_ + " is not a capture (" + message.data() +
                      "): give a pcap or pcapng file");
  }
  static_cast<void>(file_.release());
  link_.emplace(pcap_datalink(handle_.get()), "capture file " + path_);
}

std::optional<PcapFile::Record> PcapFile::next() {
  if (first_) return std::exchange(first_, std::nullopt);
  if (!error_.empty()) return std::nullopt;
  return reader_ ? nextOfPcapng() : nextOfPcap();
}

std::optional<PcapFile::Record> PcapFile::nextOfPcap() {
  pcap_pkthdr* header = nullptr;
  const u_char* data = nullptr;
  const int result = pcap_next_ex(handle_.get(), &header, &data);
  if (result == 1) {
    frames_++;
    const auto seconds = static_cast<std::uint64_t>(std::max(header->ts.tv_sec, time_t{0}));
    const auto nanos = static_cast<std::uint64_t>(std::clamp<suseconds_t>(header->ts.tv_usec, 0, 999'999'999));
    const Frame frame{data, header->caplen, std::max(header->len, header->caplen)};
    return Record{link_->strip(frame), link_->link(), seconds * 1'000'000'000 + nanos};
  }
  if (result == PCAP_ERROR) setDamaged(pcap_geterr(handle_.get()));
  return std::nullopt;
}

/// Throws for a first frame of a linktype that is not read; a later one ends the file with an error.
std::optional<PcapFile::Record> PcapFile::nextOfPcapng() {
  const auto packet = reader_->next();
  if (!packet) {
    if (!reader_->error().empty()) setDamaged(reader_->error());
    return std::nullopt;
  }
  try {
    if (linktype_ != packet->linktype) link_.emplace(dltOf(packet->linktype), "capture file " + path_);
  } catch (const SourceError& error) {
    if (frames_ == 0) throw;
    error_ = error.what();
    return std::nullopt;
  }
  linktype_ = packet->linktype;
  frames_++;
  const auto captured = static_cast<std::uint32_t>(packet->data.size());
  const Frame frame{packet->data.data(), captured, std::max(packet->wire, captured)};
  return Record{link_->strip(frame), link_->link(), packet->timeNs};
}

void PcapFile::setDamaged(const std::string& how) {
  error_ = "capture file " + path_ + " is damaged after " + std::to_string(frames_) + " frames (" + how +
           "): what came before is counted; capture it again";
}

}  // namespace floodwall
