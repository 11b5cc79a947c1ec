#include "collector/flow_worker.h"

#include <cerrno>
#include <chrono>
#include <thread>

#include "capture/capture_thread.h"
#include "capture/worker_priority.h"
#include "collector/flow_socket.h"
#include "flow/flow_work.h"

namespace floodwall {
namespace {

/// How often what readers see is renewed.
constexpr std::uint64_t kPublishMs = 100;
/// A worker that found this many datagrams pauses and looks again: to be woken for each of them costs more than they
/// do. The receive buffer holds what comes in the meantime.
constexpr unsigned kWorthAPause = 4;
constexpr std::chrono::microseconds kPause{500};

void add(std::atomic<std::uint64_t>& counter, std::uint64_t more) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

std::uint64_t msOf(auto time) noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
}

}  // namespace

FlowWorker::FlowWorker(const UniqueFd& socket, FlowThread& thread, Shard& shard, std::uint32_t tickMs)
    : socket_(socket), thread_(thread), shard_(shard), waitMs_(static_cast<int>(tickMs)) {}

void FlowWorker::run(int stopFd) {
  raisePriority();
  do {
    shard_.leaveIdle();
    receivedLast_ = turn();
    shard_.releaseDue(now_.ms);
    shard_.enterIdle();
    if (now_.ms - publishedMs_ >= kPublishMs) publish();
  } while (failure() == 0 && !mustStop(stopFd));
  // Losses of the socket to the end.
  publish();
}

bool FlowWorker::mustStop(int stopFd) const {
  if (!hasMore_ && receivedLast_ < kWorthAPause) return waitReadable(socket_.get(), stopFd, waitMs_) == Wakeup::stop;
  if (!hasMore_) std::this_thread::sleep_for(kPause);
  return waitReadable(-1, stopFd, 0) == Wakeup::stop;
}

unsigned FlowWorker::turn() {
  readClocks();
  adoptRules();
  workLeft_ = kWorkATurn;
  hasMore_ = true;
  unsigned datagrams = 0;
  while (workLeft_ > 0) {
    // The rest of the last turn's batch comes first.
    if (next_ == received_ && !(hasMore_ && receive())) break;
    const unsigned from = next_;
    decodeBatch();
    datagrams += next_ - from;
  }
  hasMore_ = workLeft_ <= 0;
  return datagrams;
}

bool FlowWorker::receive() {
  const int received = batch_.receive(socket_.get());
  if (received < 0) failure_.store(errno, std::memory_order_relaxed);
  next_ = 0;
  received_ = received <= 0 ? 0 : static_cast<unsigned>(received);
  // The last ones.
  hasMore_ = received_ == DatagramBatch::kDatagrams;
  return received_ != 0;
}

void FlowWorker::decodeBatch() {
  std::uint64_t bytes = 0;
  const unsigned from = next_;
  while (next_ < received_ && workLeft_ > 0) {
    const unsigned i = next_++;
    if (next_ < received_) batch_.prefetch(next_);
    const auto datagram = batch_.bytes(i);
    bytes += datagram.size();
    exporter_ = thread_.table.find(batch_.source(i), now_.ms);
    const std::uint64_t work = exporter_ == nullptr
                                   ? kDatagramWork
                                   : exporter_->decode({datagram, batch_.port(i)}, now_.ms, now_.wallMs, *this);
    workLeft_ -= static_cast<std::int64_t>(work);
  }
  add(thread_.datagrams, next_ - from);
  add(thread_.bytes, bytes);
}

void FlowWorker::take(std::span<FlowRecord> records) {
  const std::span<FlowRecord> counted = exporter_->judge(records);
  if (counted.empty()) return;
  if (!exporter_->decapsulated().isEmpty() || exporter_->hasTunnels()) {
    shard_.chooseLayers(counted, exporter_->decapsulated());
  }
  shard_.countRecords(counted);
}

void FlowWorker::publish() {
  publishedMs_ = now_.ms;
  readBuffer();
  const RecordStats records = shard_.recordStats();
  thread_.clampedRecords.store(records.clamped, std::memory_order_relaxed);
  thread_.unspreadRecords.store(records.unspread, std::memory_order_relaxed);
  thread_.table.publish(now_.ms, now_.wallMs);
}

void FlowWorker::adoptRules() {
  const std::uint64_t version = thread_.rules.version();
  if (version == thread_.rulesVersion) return;
  thread_.table.setRules(thread_.rules.get());
  thread_.rulesVersion = version;
}

void FlowWorker::readBuffer() {
  const SocketBuffer buffer = bufferOf(socket_);
  thread_.bufferGranted.store(buffer.granted, std::memory_order_relaxed);
  thread_.bufferUsed.store(buffer.used, std::memory_order_relaxed);
  add(overruns_, buffer.dropped - lastDropped_);
  lastDropped_ = buffer.dropped;
}

void FlowWorker::readClocks() noexcept {
  now_ = {msOf(std::chrono::steady_clock::now()), msOf(std::chrono::system_clock::now())};
}

}  // namespace floodwall
