#include "collector/flow_worker.h"

#include <cerrno>
#include <chrono>
#include <thread>

#include "capture/capture_thread.h"
#include "capture/worker_priority.h"
#include "collector/flow_socket.h"

namespace floodwall {
namespace {

/// How often what readers see is renewed.
constexpr std::uint64_t kPublishMs = 100;
/// Batches after which the worker is idle for a moment, so that a fold does not wait: about a millisecond.
constexpr unsigned kBatchesATurn = 16;
/// A worker that found so many datagrams pauses and looks again: to be woken for each of them costs more than they do.
/// The receive buffer holds what comes in the meantime.
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
    receivedLast_ = drain();
    shard_.releaseDue(now_.ms);
    shard_.enterIdle();
    if (now_.ms - publishedMs_ >= kPublishMs) publish();
  } while (failure() == 0 && !mustStop(stopFd));
  // What the socket lost to the end.
  publish();
}

bool FlowWorker::mustStop(int stopFd) const {
  if (receivedLast_ < kWorthAPause) return waitReadable(socket_.get(), stopFd, waitMs_) == Wakeup::stop;
  const bool hasMore = receivedLast_ == kBatchesATurn * DatagramBatch::kDatagrams;
  if (!hasMore) std::this_thread::sleep_for(kPause);
  return waitReadable(-1, stopFd, 0) == Wakeup::stop;
}

unsigned FlowWorker::drain() {
  readClocks();
  adoptRules();
  unsigned datagrams = 0;
  for (unsigned i = 0; i < kBatchesATurn; i++) {
    const int received = batch_.receive(socket_.get());
    if (received < 0) failure_.store(errno, std::memory_order_relaxed);
    if (received <= 0) break;
    decodeBatch(static_cast<unsigned>(received));
    datagrams += static_cast<unsigned>(received);
    if (static_cast<unsigned>(received) < DatagramBatch::kDatagrams) break;
  }
  return datagrams;
}

void FlowWorker::decodeBatch(unsigned datagrams) {
  std::uint64_t bytes = 0;
  for (unsigned i = 0; i < datagrams; i++) {
    if (i + 1 < datagrams) batch_.prefetch(i + 1);
    const auto datagram = batch_.bytes(i);
    bytes += datagram.size();
    exporter_ = thread_.table.find(batch_.source(i), now_.ms);
    if (exporter_ != nullptr) exporter_->decode({datagram, batch_.port(i)}, now_.ms, now_.wallMs, *this);
  }
  add(thread_.datagrams, datagrams);
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
