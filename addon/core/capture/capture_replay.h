// A capture file replayed on its own clock: as fast as it can be read, tick by tick, whatever the machine's time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "capture/capture_source.h"
#include "capture/frame_batch.h"
#include "capture/pcap_file.h"
#include "count/engine.h"

namespace floodwall {

class CaptureReplay {
 public:
  /// No other thread folds `engine`. Packets are taken out of what is wanted. Throws SourceError.
  CaptureReplay(std::shared_ptr<Engine> engine, const EngineOptions& options, std::string path,
                const Decapsulation& wanted = {});

  /// Counts frames up to the next tick of the capture's time and folds. Returns that time in nanoseconds since the
  /// epoch; absent once the capture and one window after it are over. Frames whose time goes back count to the
  /// present tick.
  std::optional<std::uint64_t> advance();
  [[nodiscard]] SourceStatus status() const;

 private:
  bool begin();
  void skipSilence();
  void countUntil(std::uint64_t endNs);
  void flush();

  std::shared_ptr<Engine> engine_;
  std::uint64_t tickNs_;
  std::uint64_t windowNs_;
  PcapFile file_;
  std::shared_ptr<Shard> shard_;
  FrameBatch batch_;
  /// The first frame that is not counted yet; absent at the end.
  std::optional<PcapFile::Record> pending_;
  bool hasBegun_ = false;
  /// The last tick folded, and the end of the last one that had frames.
  std::uint64_t nowNs_ = 0;
  std::uint64_t lastFramesNs_ = 0;
};

}  // namespace floodwall
