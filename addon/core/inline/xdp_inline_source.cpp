#include "inline/xdp_inline_source.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>

#include "capture/capture_thread.h"
#include "filter/filter_program.h"
#include "inline/inline_program.h"
#include "inline/inline_reader.h"
#include "inline/reading_pace.h"

namespace floodwall {
namespace {

/// Until networks that the kernel refused are tried again.
constexpr std::uint64_t kRefusedPauseMs = 1000;

/// The networks, which each session takes at its next reading.
class NetworksBox {
 public:
  void set(std::shared_ptr<const InlinePrefixes> networks) {
    const std::lock_guard lock(mutex_);
    networks_ = std::move(networks);
  }
  [[nodiscard]] std::shared_ptr<const InlinePrefixes> get() const {
    const std::lock_guard lock(mutex_);
    return networks_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const InlinePrefixes> networks_;
};

std::uint64_t monotonicMs() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count());
}

/// Called before anything is loaded: loading takes a good part of a second, which each retry would waste.
NetworkDevice requireFreeDevice(const NetworkDevices& devices, const XdpInlineOptions& options) {
  NetworkDevice device = devices.require(options.interface);
  if (!options.filter) {
    requireNoProgram(device);
  } else if (const PortStatus port = options.filter->portStatus(device.name); !port.isAttached) {
    throw SourceError(port.error);
  }
  return device;
}

/// How the program is attached: by a link of its own, or in place of the program of the filter that it has inside.
class Attachment {
 public:
  Attachment(const InlineProgram& program, const NetworkDevice& device, const XdpInlineOptions& options) {
    if (options.filter) {
      loan_.emplace(options.filter, device.name, program.programFd());
    } else {
      link_ = XdpLink::attach(program.programFd(), device, options.xdpMode);
    }
  }
  [[nodiscard]] std::string modeText() const {
    return loan_ ? loan_->status().mode + ", filtering" : link_->modeText();
  }
  [[nodiscard]] bool isAttached() const { return loan_ ? loan_->status().isAttached : link_->isAttached(); }

 private:
  std::optional<XdpLink> link_;
  std::optional<FilterLoan> loan_;
};

class InlineSession final : public CaptureSession {
 public:
  InlineSession(const XdpInlineOptions& options, const NetworksBox& box, QueueShards& shards)
      : device_(requireFreeDevice(devices_, options)),
        sampleEvery_(options.sampleEvery),
        program_({.maxHosts = options.maxHosts,
                  .countOutgoing = options.countOutgoing,
                  .sampleEvery = options.sampleEvery,
                  .hasFragments = device_.mtu > kSingleBufferMtu,
                  .decapsulated = options.decapsulated,
                  .vxlanPorts = options.vxlanPorts,
                  .filter = options.filter ? &options.filter->maps() : nullptr,
                  .forwardCall = options.filter ? options.filter->forwardCall(device_.mtu > kSingleBufferMtu) : -1}),
        shard_(shards.forQueue(device_.name, -1)),
        reader_(program_, shard_, options.idleMs),
        box_(box) {
    takeNetworks();
    attachment_.emplace(program_, device_, options);
    const ReadingPace pace(options.tickMs);
    thread_ = std::make_unique<CaptureThread>("inline-" + device_.name, cpuFor(options.cpus, 0),
                                              [this, pace](int stopFd) { readAll(pace, stopFd); });
  }

  [[nodiscard]] std::string mode() const override {
    const std::string samples = sampleEvery_ == 0 ? "no samples" : "1 header in " + std::to_string(sampleEvery_);
    return attachment_->modeText() + ", inline, " + samples;
  }

  [[nodiscard]] SessionHealth health() override {
    using Kind = SessionHealth::Kind;
    const std::string interface = "interface " + device_.name;
    const auto now = devices_.find(device_.name);
    if (!now) return {Kind::lost, interface + " is gone: create it again, counting goes on by itself"};
    if (now->index != device_.index) return {Kind::lost, interface + " was replaced: counting starts again by itself"};
    if (!attachment_->isAttached())
      return {Kind::lost, interface + " lost our XDP program: another process detached it"};
    if (!error().empty()) return {Kind::impaired, interface + ": " + error()};
    std::string fault = linkFault(*now);
    const Kind kind = fault.empty() ? Kind::good : Kind::impaired;
    return {kind, std::move(fault)};
  }

  [[nodiscard]] std::vector<QueueStats> drops() const override {
    return {{.interface = device_.name,
             .queue = -1,
             .shard = {},
             .droppedRingFull = 0,
             .droppedFillEmpty = 0,
             .droppedKernel = 0,
             .lostSamples = program_.stats().lost_samples}};
  }

 private:
  /// Reads until it must stop.
  void readAll(const ReadingPace& pace, int stopFd) {
    std::uint32_t tookMs = 0;
    const auto pauseMs = [&] {
      return static_cast<int>(pace.pauseMs(monotonicMs(), tookMs, shard_.foldedMs(), shard_.hasRising()));
    };
    while (waitReadable(-1, stopFd, pauseMs()) != Wakeup::stop) {
      const std::uint64_t start = monotonicMs();
      shard_.leaveIdle();
      takeNetworks();
      reader_.read(start);
      shard_.enterIdle();
      tookMs = static_cast<std::uint32_t>(monotonicMs() - start);
    }
    attachment_.reset();
    shard_.leaveIdle();
    reader_.read(monotonicMs());
    shard_.enterIdle();
  }

  void takeNetworks() {
    auto wanted = box_.get();
    const std::uint64_t now = monotonicMs();
    if (wanted == taken_ || (wanted == refused_ && now - refusedAtMs_ < kRefusedPauseMs)) return;
    try {
      reader_.setNetworks(*wanted);
      taken_ = std::move(wanted);
      setError({});
    } catch (const SourceError& error) {
      // The networks before stay in force. Descriptors or memory may be there later.
      refused_ = std::move(wanted);
      refusedAtMs_ = now;
      setError(error.what());
    }
  }

  void setError(std::string error) {
    const std::lock_guard lock(errorMutex_);
    error_ = std::move(error);
  }
  [[nodiscard]] std::string error() const {
    const std::lock_guard lock(errorMutex_);
    return error_;
  }

  NetworkDevices devices_;
  NetworkDevice device_;
  std::uint32_t sampleEvery_;
  InlineProgram program_;
  Shard& shard_;
  InlineReader reader_;
  const NetworksBox& box_;
  std::shared_ptr<const InlinePrefixes> taken_;
  std::shared_ptr<const InlinePrefixes> refused_;
  std::uint64_t refusedAtMs_ = 0;
  mutable std::mutex errorMutex_;
  std::string error_;
  std::optional<Attachment> attachment_;
  std::unique_ptr<CaptureThread> thread_;
};

class XdpInlineSource final : public CaptureSource {
 public:
  XdpInlineSource(const XdpInlineOptions& options, AddShard addShard)
      : source_(std::move(addShard), [this, options](QueueShards& shards) {
          return std::make_unique<InlineSession>(options, box_, shards);
        }) {}

  [[nodiscard]] SourceStatus status() const override { return source_.status(); }

  void setNetworks(const NetworksColumns& columns) override {
    auto made = std::make_shared<InlinePrefixes>();
    for (std::size_t i = 0; i < columns.lengths.size(); i++) {
      PrefixValue prefix{.address = {}, .length = columns.lengths[i], .value = columns.networks[i]};
      std::copy_n(columns.addresses.begin() + static_cast<std::ptrdiff_t>(i * 16), 16, prefix.address.bytes.begin());
      made->prefixes.push_back(prefix);
    }
    made->networkCount = columns.networkCount;
    made->table = PrefixTable(made->prefixes);
    box_.set(std::move(made));
  }

 private:
  // Made first: sessions read it.
  NetworksBox box_;
  SupervisedSource source_;
};

}  // namespace

std::unique_ptr<CaptureSource> openXdpInline(const XdpInlineOptions& options, AddShard addShard) {
  return std::make_unique<XdpInlineSource>(options, std::move(addShard));
}

}  // namespace floodwall
