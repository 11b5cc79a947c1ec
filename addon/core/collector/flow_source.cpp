#include "collector/flow_source.h"

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "capture/capture_thread.h"
#include "collector/flow_limits.h"
#include "collector/flow_worker.h"

namespace floodwall {
namespace {

/// The state that outlives the sessions.
struct FlowState {
  explicit FlowState(ExporterNumbers& numbers) : saved(numbers) {}

  FlowOptions options;
  SavedExporters saved;
  RulesInForce rules;
  std::vector<std::unique_ptr<FlowThread>> threads;
};

template <typename Clock>
std::uint64_t msOf() {
  using namespace std::chrono;
  return static_cast<std::uint64_t>(duration_cast<milliseconds>(Clock::now().time_since_epoch()).count());
}
std::uint64_t monotonicMs() { return msOf<std::chrono::steady_clock>(); }
std::uint64_t wallMs() { return msOf<std::chrono::system_clock>(); }

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

class FlowSession final : public CaptureSession {
 public:
  FlowSession(FlowState& state, QueueShards& shards);

  [[nodiscard]] std::string mode() const override;
  [[nodiscard]] SessionHealth health() override;
  [[nodiscard]] std::vector<QueueStats> drops() const override;

 private:
  FlowState& state_;
  std::string name_;
  /// Size of the receive buffer that the kernel granted.
  std::uint64_t granted_ = 0;
  // Destroyed from the last to the first: threads joined, sockets closed.
  std::vector<UniqueFd> sockets_;
  std::vector<std::unique_ptr<FlowWorker>> workers_;
  std::vector<std::unique_ptr<CaptureThread>> threads_;
};

FlowSession::FlowSession(FlowState& state, QueueShards& shards)
    : state_(state),
      name_("udp " + state.options.at.text()),
      sockets_(openFlowSockets(state.options.at, state.options.threads, state.options.receiveBuffer)) {
  granted_ = bufferOf(sockets_[0]).granted / 2;
  for (std::size_t i = 0; i < sockets_.size(); i++) {
    Shard& shard = shards.forQueue(name_, static_cast<int>(i));
    workers_.push_back(std::make_unique<FlowWorker>(sockets_[i], *state.threads[i], shard, state.options.tickMs));
    threads_.push_back(std::make_unique<CaptureThread>(
        "flow" + std::to_string(i) + "-" + std::to_string(state.options.at.port), cpuFor(state.options.cpus, i),
        [worker = workers_.back().get()](int stopFd) { worker->run(stopFd); }));
  }
}

std::string FlowSession::mode() const {
  const FlowOptions& options = state_.options;
  std::string text = "UDP " + options.at.text() + ", " + std::to_string(options.threads) +
                     (options.threads == 1 ? " thread" : " threads") + ", receive buffer of " + megabytes(granted_);
  if (options.threads != 1) text += " each";
  if (granted_ < options.receiveBuffer) {
    text += " of the " + megabytes(options.receiveBuffer) +
            " wanted (give the service CAP_NET_ADMIN, or set net.core.rmem_max to " +
            std::to_string(options.receiveBuffer) + ")";
  }
  if (state_.rules.get()->isEmpty()) {
    text += ", any exporter, at most " + std::to_string(kUnlistedExportersMax) + ": none is configured";
  }
  return text;
}

SessionHealth FlowSession::health() {
  using Kind = SessionHealth::Kind;
  for (const auto& worker : workers_) {
    if (const int error = worker->failure(); error != 0) {
      return {Kind::lost, "receiving flows at UDP " + state_.options.at.text() + " failed: " + strerror(error) +
                              "; the port is opened again"};
    }
  }
  return {};
}

std::vector<QueueStats> FlowSession::drops() const {
  std::vector<QueueStats> stats;
  for (std::size_t i = 0; i < workers_.size(); i++) {
    stats.push_back(
        {.interface = name_, .queue = static_cast<int>(i), .shard = {}, .droppedKernel = workers_[i]->overruns()});
  }
  return stats;
}

class UdpFlowSource final : public FlowSource {
 public:
  UdpFlowSource(FlowOptions options, std::vector<ExporterRule> rules, std::shared_ptr<EngineExporters> shared,
                AddShard addShard)
      : shared_(std::move(shared)),
        state_(shared_->numbers),
        supervised_(begin(std::move(options), std::move(rules), std::move(addShard))) {}

  [[nodiscard]] SourceStatus status() const override { return supervised_->status(); }
  void setExporters(std::vector<ExporterRule> rules) override {
    state_.rules.set(std::make_shared<const ExporterRules>(std::move(rules), shared_->presence));
  }
  [[nodiscard]] std::vector<ExporterStatus> exporters() const override;
  [[nodiscard]] FlowReceiverStatus receiver() const override;
  [[nodiscard]] std::vector<std::uint8_t> saved() const override;

 private:
  std::unique_ptr<SupervisedSource> begin(FlowOptions options, std::vector<ExporterRule> rules, AddShard addShard);

  std::shared_ptr<EngineExporters> shared_;
  FlowState state_;
  // Last, since its sessions use the state.
  std::unique_ptr<SupervisedSource> supervised_;
};

std::unique_ptr<SupervisedSource> UdpFlowSource::begin(FlowOptions options, std::vector<ExporterRule> rules,
                                                       AddShard addShard) {
  if (options.threads == 0 || options.threads > kFlowThreadsMax) {
    throw std::out_of_range("threads must be from 1 to " + std::to_string(kFlowThreadsMax));
  }
  if (options.receiveBuffer < kReceiveBufferMin || options.receiveBuffer > kReceiveBufferMax) {
    throw std::out_of_range("receiveBuffer must be from " + std::to_string(kReceiveBufferMin) + " to " +
                            std::to_string(kReceiveBufferMax));
  }
  state_.options = std::move(options);
  state_.saved.load(std::exchange(state_.options.saved, {}), monotonicMs(), wallMs());
  setExporters(std::move(rules));
  for (std::uint32_t i = 0; i < state_.options.threads; i++) {
    state_.threads.push_back(std::make_unique<FlowThread>(shared_->numbers, state_.rules, &state_.saved));
  }
  return std::make_unique<SupervisedSource>(
      std::move(addShard), [this](QueueShards& shards) { return std::make_unique<FlowSession>(state_, shards); });
}

std::vector<ExporterStatus> UdpFlowSource::exporters() const {
  std::vector<ExporterStatus> all;
  for (const auto& thread : state_.threads) {
    for (ExporterStatus& status : thread->table.statuses()) all.push_back(std::move(status));
  }
  return all;
}

std::vector<std::uint8_t> UdpFlowSource::saved() const {
  std::vector<SavedExporter> all;
  state_.saved.addTo(all, monotonicMs());
  for (const auto& thread : state_.threads) {
    for (SavedExporter& one : thread->table.saved()) all.push_back(std::move(one));
  }
  return packed(std::move(all));
}

FlowReceiverStatus UdpFlowSource::receiver() const {
  FlowReceiverStatus status;
  for (const auto& thread : state_.threads) {
    status.datagrams += thread->datagrams.load(std::memory_order_relaxed);
    status.bytes += thread->bytes.load(std::memory_order_relaxed);
    // The kernel doubles the requested size, and accounts for its own structures in both.
    status.receiveBuffer += thread->bufferGranted.load(std::memory_order_relaxed) / 2;
    status.receiveBufferUsed += thread->bufferUsed.load(std::memory_order_relaxed) / 2;
    status.refused += thread->table.refused();
    status.withoutRoom += thread->table.withoutRoom();
    status.records.clamped += thread->clampedRecords.load(std::memory_order_relaxed);
    status.records.unspread += thread->unspreadRecords.load(std::memory_order_relaxed);
    for (const RefusedAddress& refused : thread->table.refusedAddresses()) status.refusedAddresses.push_back(refused);
  }
  for (const QueueStats& queue : supervised_->status().queues) status.overruns += queue.droppedKernel;
  return status;
}

}  // namespace

std::unique_ptr<FlowSource> openFlowSource(FlowOptions options, std::vector<ExporterRule> rules,
                                           std::shared_ptr<EngineExporters> shared, AddShard addShard) {
  return std::make_unique<UdpFlowSource>(std::move(options), std::move(rules), std::move(shared), std::move(addShard));
}

}  // namespace floodwall
