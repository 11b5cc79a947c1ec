// The Engine of native.d.ts. Owns the sources and replays that were opened on it, and closes them before itself.
#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "collector/engine_exporters.h"
#include "count/engine.h"
#include "source_handle.h"

namespace floodwall::binding {

class EngineHandle : public Napi::ObjectWrap<EngineHandle> {
 public:
  static Napi::Function define(const Napi::Env& env);
  /// Takes the EngineOptions of native.d.ts.
  explicit EngineHandle(const Napi::CallbackInfo& info);

 private:
  // In the order of native.d.ts.
  void setNetworks(const Napi::CallbackInfo& info);
  void setScreens(const Napi::CallbackInfo& info);
  void setWatched(const Napi::CallbackInfo& info);
  Napi::Value openSource(const Napi::CallbackInfo& info);
  Napi::Value openFlowSource(const Napi::CallbackInfo& info);
  Napi::Value openReplay(const Napi::CallbackInfo& info);
  Napi::Value tick(const Napi::CallbackInfo& info);
  Napi::Value readScreened(const Napi::CallbackInfo& info);
  Napi::Value readRising(const Napi::CallbackInfo& info);
  Napi::Value readHosts(const Napi::CallbackInfo& info);
  Napi::Value readHost(const Napi::CallbackInfo& info);
  Napi::Value readCounts(const Napi::CallbackInfo& info);
  Napi::Value readGroups(const Napi::CallbackInfo& info);
  Napi::Value readSamples(const Napi::CallbackInfo& info);
  Napi::Value readSamplesOf(const Napi::CallbackInfo& info);
  Napi::Value readSamplesOfAsync(const Napi::CallbackInfo& info);
  void setProfileDelay(const Napi::CallbackInfo& info);
  Napi::Value readProfile(const Napi::CallbackInfo& info);
  Napi::Value readProfiles(const Napi::CallbackInfo& info);
  void keepIntervals(const Napi::CallbackInfo& info);
  Napi::Value takeIntervals(const Napi::CallbackInfo& info);
  Napi::Value readInterval(const Napi::CallbackInfo& info);
  Napi::Value learnHosts(const Napi::CallbackInfo& info);
  Napi::Value learnHostsAsync(const Napi::CallbackInfo& info);
  Napi::Value stats(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  /// The present networks; sources that open later need them too.
  struct Networks {
    std::vector<std::uint8_t> addresses;
    std::vector<std::uint8_t> lengths;
    std::vector<std::uint32_t> networks;
    std::vector<std::uint32_t> groups;
    std::uint32_t networkCount = 0;
    std::uint32_t groupCount = 0;

    explicit Networks(const NetworksColumns& columns);
    [[nodiscard]] NetworksColumns columns() const;
  };

  /// Throws unless `this` is an open engine.
  Engine& engine(const Napi::CallbackInfo& info) const;
  void dropClosed();

  EngineOptions options_;
  bool hasCaptureClock_ = false;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Networks> networks_;
  std::shared_ptr<EngineExporters> exporters_ = std::make_shared<EngineExporters>();
  std::shared_ptr<bool> isTicking_ = std::make_shared<bool>(false);
  std::vector<std::shared_ptr<SourceSlot>> sources_;
  std::vector<std::shared_ptr<ReplaySlot>> replays_;
};

/// A HostChunk of native.d.ts.
[[nodiscard]] Napi::Value chunkObject(const Napi::Env& env, const HostChunk& chunk);

/// The constructors of the handles, kept for the addon's instance.
struct Constructors {
  Napi::FunctionReference engine;
  Napi::FunctionReference source;
  Napi::FunctionReference flowSource;
  Napi::FunctionReference replay;
  Napi::FunctionReference filter;
  Napi::FunctionReference namedSets;
  Napi::FunctionReference baselines;
  Napi::FunctionReference prefixSums;
};

}  // namespace floodwall::binding
