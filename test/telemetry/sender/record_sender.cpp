// Plays exporters of flow records: sends the requested number, at a rate, and says exactly what it sent.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <random>
#include <system_error>
#include <utility>

#include "datagrams.h"

namespace floodwall::telemetry {

namespace {

/// Different datagrams; each host has its share of them.
constexpr std::size_t kBodies = 512;
constexpr unsigned kBatch = 32;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
/// What is due within this time goes out together: waking for each would cost more than sending it.
constexpr std::uint64_t kWakeUpNs = 100'000;
/// What is missing may only be late until then.
constexpr std::uint64_t kFarewellNs = 1'200'000'000;

std::uint64_t clockNs(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

void sleepUntil(std::uint64_t ns) {
  timespec time{static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr);
}

sockaddr_in socketAddress(std::uint32_t address, std::uint16_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr.s_addr = htonl(address);
  result.sin_port = htons(port);
  return result;
}

/// One exporter: an address of its own, and the state that its datagrams report.
class Exporter {
 public:
  Exporter(const SenderOptions& options, std::uint32_t index) : socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    state.address = options.source + index;
    sockaddr_in local = socketAddress(state.address, 0);
    sockaddr_in remote = socketAddress(options.destination, options.port);
    if (socket_ < 0 || bind(socket_, reinterpret_cast<sockaddr*>(&local), sizeof(local)) != 0 ||
        connect(socket_, reinterpret_cast<sockaddr*>(&remote), sizeof(remote)) != 0) {
      throw std::system_error(errno, std::generic_category(), "socket of exporter " + std::to_string(index));
    }
  }
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;
  Exporter(Exporter&& other) noexcept : state(other.state), socket_(std::exchange(other.socket_, -1)) {}
  ~Exporter() {
    if (socket_ >= 0) close(socket_);
  }

  /// All of them. What the kernel refuses, as for a collector that is not there yet, is sent again and counted.
  void send(std::span<mmsghdr> messages, std::uint64_t& refused) const {
    for (int refusals = 0; !messages.empty();) {
      int sent = sendmmsg(socket_, messages.data(), static_cast<unsigned>(messages.size()), 0);
      if (sent > 0) {
        messages = messages.subspan(static_cast<std::size_t>(sent));
        continue;
      }
      bool isTransient = errno == ECONNREFUSED || errno == EAGAIN || errno == ENOBUFS || errno == EINTR;
      if (!isTransient || ++refusals > 1000) throw std::system_error(errno, std::generic_category(), "sendmmsg");
      ++refused;
    }
  }

  ExporterState state;

 private:
  int socket_;
};

/// When each datagram is due.
class Pace {
 public:
  Pace(const SenderOptions& options, std::uint64_t beganNs, std::mt19937_64& random)
      : gapNs_(options.rate > 0 ? 1e9 * options.perDatagram / options.rate : 0),
        burstNs_(options.burstMs * 1e6),
        isPoisson_(options.isPoisson),
        beganNs_(beganNs),
        random_(random) {
    if (isPoisson_) next();
  }

  /// Of the next datagram, without bursts.
  std::uint64_t scheduledNs() const { return beganNs_ + static_cast<std::uint64_t>(passedNs_); }
  /// With bursts all of a period is due at its end.
  std::uint64_t dueNs() const {
    if (burstNs_ <= 0) return scheduledNs();
    return beganNs_ + static_cast<std::uint64_t>((std::floor(passedNs_ / burstNs_) + 1) * burstNs_);
  }
  bool isExact() const { return burstNs_ > 0 || isPoisson_; }
  void next() { passedNs_ += isPoisson_ ? gapNs_ * std::exponential_distribution<>()(random_) : gapNs_; }

 private:
  double gapNs_;
  double burstNs_;
  bool isPoisson_;
  std::uint64_t beganNs_;
  std::mt19937_64& random_;
  double passedNs_ = 0;
};

/// The numbers that are printed.
struct Sent {
  std::uint64_t datagrams = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t refused = 0;
  std::uint64_t firstWallNs = 0;
  std::uint64_t durationNs = 0;
  std::uint64_t markedNs = 0;
  std::uint64_t lateNs = 0;
};

class RecordSender {
 public:
  explicit RecordSender(const SenderOptions& options)
      : options_(options), datagrams_(datagramsOf(options)), random_(options.seed) {
    for (std::uint32_t i = 0; i < options.exporters; ++i) exporters_.emplace_back(options, i);
    makeBodies();
    slots_.resize(kBatch);
    messages_.resize(kBatch);
    parts_.resize(kBatch);
  }

  Sent run() {
    startNs_ = clockNs(CLOCK_MONOTONIC);
    const std::uint64_t recordsMax = options_.records > 0 ? options_.records : ~std::uint64_t{0};
    announceAll();
    std::uint64_t announcedNs = clockNs(CLOCK_MONOTONIC);
    const std::uint64_t endNs = announcedNs + static_cast<std::uint64_t>(options_.seconds * 1e9);
    Pace pace(options_, announcedNs, random_);
    for (std::size_t exporter = 0; sent_.records < recordsMax; exporter = (exporter + 1) % exporters_.size()) {
      std::uint64_t datagramsMax = (recordsMax - sent_.records - 1) / options_.perDatagram + 1;
      unsigned count = static_cast<unsigned>(std::min<std::uint64_t>(countDue(pace, endNs), datagramsMax));
      if (count == 0) break;
      std::uint64_t nowNs = clockNs(CLOCK_MONOTONIC);
      if (options_.templatesEvery > 0 && static_cast<double>(nowNs - announcedNs) >= options_.templatesEvery * 1e9) {
        announcedNs = nowNs;
        announceAll();
      }
      sendRecords(exporters_[exporter], count);
    }
    for (int farewell = 0; options_.hasFarewell && farewell < 2; ++farewell) {
      sleepUntil(clockNs(CLOCK_MONOTONIC) + kFarewellNs);
      for (Exporter& exporter : exporters_) sendRecords(exporter, 1);
    }
    return sent_;
  }

  void writeTotals() const {
    struct Total {
      std::uint64_t records = 0, packets = 0, bytes = 0;
    };
    std::map<std::uint32_t, Total> hosts;
    for (std::size_t body = 0; body < kBodies; ++body) {
      for (const Content& content : contents(body)) {
        Total& total = hosts[content.destination];
        total.records += timesSent_[body];
        total.packets += timesSent_[body] * content.packets;
        total.bytes += timesSent_[body] * content.packets * datagrams_->countedBytes(content);
      }
    }
    std::FILE* file = std::fopen(options_.totals.c_str(), "w");
    if (file == nullptr) throw std::system_error(errno, std::generic_category(), options_.totals);
    std::fputs("{\"hosts\":{", file);
    const char* comma = "";
    for (auto& [address, total] : hosts) {
      std::fprintf(file, "%s\n\"%s\":{\"records\":%" PRIu64 ",\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", comma,
                   text(address).c_str(), total.records, total.packets, total.bytes);
      comma = ",";
    }
    std::fputs("},\n\"exporters\":{", file);
    comma = "";
    for (const Exporter& exporter : exporters_) {
      std::fprintf(file, "%s\n\"%s\":%" PRIu32, comma, text(exporter.state.address).c_str(), exporter.state.records);
      comma = ",";
    }
    std::fputs("}}\n", file);
    std::fclose(file);
  }

 private:
  static std::string text(std::uint32_t address) {
    char buffer[INET_ADDRSTRLEN] = "";
    in_addr value{htonl(address)};
    inet_ntop(AF_INET, &value, buffer, sizeof(buffer));
    return buffer;
  }

  std::span<const Content> contents(std::size_t body) const {
    return std::span(contents_).subspan(body * options_.perDatagram, options_.perDatagram);
  }

  void makeBodies() {
    bool isSampled = options_.protocol == Protocol::sflow;
    for (std::size_t i = 0; i < kBodies * options_.perDatagram; ++i) {
      Content content;
      content.source = 0xc6120000 + static_cast<std::uint32_t>(random_() % 65536);
      content.destination = options_.firstHost + static_cast<std::uint32_t>(i % options_.hosts);
      content.sourcePort = static_cast<std::uint16_t>(1024 + random_() % 60'000);
      content.destinationPort = static_cast<std::uint16_t>(1 + random_() % 1000);
      std::uint32_t packets = static_cast<std::uint32_t>(1 + random_() % 16);
      std::uint32_t frame = static_cast<std::uint32_t>(64 + random_() % (1515 - 64));
      content.packets = isSampled ? 1 : options_.packets > 0 ? options_.packets : packets;
      content.packetBytes = (options_.bytes > 0 ? options_.bytes : frame) - 14;
      contents_.push_back(content);
    }
    for (std::size_t body = 0; body < kBodies; ++body) bodies_.push_back(datagrams_->make(contents(body)));
    timesSent_.resize(kBodies);
  }

  Now now() const {
    std::uint64_t passedMs = (clockNs(CLOCK_MONOTONIC) - startNs_) / 1'000'000;
    // They have been up for an hour, so that flows can have begun before now.
    return {.wallMs = clockNs(CLOCK_REALTIME) / 1'000'000,
            .uptimeMs = static_cast<std::uint32_t>(3'600'000 + options_.durationMs + passedMs)};
  }

  void announceAll() {
    for (Exporter& exporter : exporters_) {
      for (Bytes& bytes : datagrams_->announcements(exporter.state, now())) {
        iovec part{bytes.data(), bytes.size()};
        mmsghdr message{};
        message.msg_hdr.msg_iov = &part;
        message.msg_hdr.msg_iovlen = 1;
        exporter.send(std::span(&message, 1), sent_.refused);
        ++sent_.datagrams;
        sent_.bytes += bytes.size();
      }
    }
  }

  /// Waits until datagrams are due, and says how many are; 0: none until the end.
  unsigned countDue(Pace& pace, std::uint64_t endNs) {
    if (options_.rate <= 0) return clockNs(CLOCK_MONOTONIC) < endNs ? kBatch : 0;
    if (pace.scheduledNs() >= endNs) return 0;
    std::uint64_t nowNs = clockNs(CLOCK_MONOTONIC);
    if (nowNs < pace.dueNs()) {
      sleepUntil(pace.isExact() ? pace.dueNs() : std::max(pace.dueNs(), nowNs + kWakeUpNs));
      nowNs = clockNs(CLOCK_MONOTONIC);
    }
    sent_.lateNs = std::max(sent_.lateNs, nowNs - std::min(nowNs, pace.dueNs()));
    unsigned count = 0;
    while (count < kBatch && pace.scheduledNs() < endNs && pace.dueNs() <= nowNs) {
      pace.next();
      ++count;
    }
    return count;
  }

  void sendRecords(Exporter& exporter, unsigned count) {
    Now at = now();
    for (unsigned i = 0; i < count; ++i) {
      const std::size_t index = nextBody_;
      nextBody_ = (nextBody_ + 1) % kBodies;
      ++timesSent_[index];
      slots_[i].assign(bodies_[index].begin(), bodies_[index].end());
      datagrams_->stamp(slots_[i], exporter.state, at);
      parts_[i] = {slots_[i].data(), slots_[i].size()};
      messages_[i] = {};
      messages_[i].msg_hdr.msg_iov = &parts_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
      sent_.bytes += slots_[i].size();
    }
    if (sent_.records == 0) {
      sent_.firstWallNs = clockNs(CLOCK_REALTIME);
      firstNs_ = clockNs(CLOCK_MONOTONIC);
    }
    exporter.send(std::span(messages_).first(count), sent_.refused);
    sent_.datagrams += count;
    std::uint64_t before = sent_.records;
    sent_.records += std::uint64_t{count} * options_.perDatagram;
    sent_.durationNs = clockNs(CLOCK_MONOTONIC) - firstNs_;
    if (before < options_.markedRecord && options_.markedRecord <= sent_.records) sent_.markedNs = sent_.durationNs;
  }

  const SenderOptions& options_;
  std::unique_ptr<Datagrams> datagrams_;
  std::mt19937_64 random_;
  std::vector<Exporter> exporters_;
  std::vector<Content> contents_;
  std::vector<Bytes> bodies_;
  std::vector<std::uint64_t> timesSent_;
  std::size_t nextBody_ = 0;
  std::vector<Bytes> slots_;
  std::vector<mmsghdr> messages_;
  std::vector<iovec> parts_;
  std::uint64_t startNs_ = 0;
  std::uint64_t firstNs_ = 0;
  Sent sent_;
};

int run(std::span<char* const> arguments) {
  SenderOptions options = parseOptions(arguments);
  RecordSender sender(options);
  Sent sent = sender.run();
  if (!options.totals.empty()) sender.writeTotals();
  std::printf("{\"datagrams\":%" PRIu64 ",\"records\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"refused\":%" PRIu64
              ",\"first_wall_ns\":%" PRIu64 ",\"duration_ns\":%" PRIu64 ",\"marked_ns\":%" PRIu64
              ",\"late_ns\":%" PRIu64 "}\n",
              sent.datagrams, sent.records, sent.bytes, sent.refused, sent.firstWallNs, sent.durationNs, sent.markedNs,
              sent.lateNs);
  return 0;
}

}  // namespace

}  // namespace floodwall::telemetry

int main(int argc, char** argv) {
  std::span<char* const> arguments(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0));
  if (arguments.size() == 1 && std::strcmp(arguments[0], "--help") == 0) {
    std::fputs(floodwall::telemetry::kUsage, stdout);
    return 0;
  }
  try {
    return floodwall::telemetry::run(arguments);
  } catch (const floodwall::telemetry::UsageError& error) {
    std::fprintf(stderr, "record_sender: %s\nTry --help.\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "record_sender: %s\n", error.what());
    return 1;
  }
}
