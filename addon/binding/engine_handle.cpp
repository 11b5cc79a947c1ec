#include "engine_handle.h"

#include "arguments.h"
#include "constants.h"
#include "errors.h"
#include "filter_handle.h"
#include "flow_options.h"
#include "open_source.h"
#include "tick_worker.h"

namespace floodwall::binding {
namespace {

constexpr napi_type_tag kEngineTag = {0x6b5a1f0e9d3c4782, 0x9e21c7f4a8d05b36};

/// Hands a slot to a new handle.
template <typename Slot>
Napi::Value newHandle(const Napi::FunctionReference& constructor, std::shared_ptr<Slot> slot) {
  return constructor.New({Napi::External<std::shared_ptr<Slot>>::New(constructor.Env(), &slot)});
}

/// For a capture, whose sender is not there: a replay repeats itself.
constexpr std::uint64_t kReplaySeed = 0x46574c31;

}  // namespace

Napi::Value chunkObject(const Napi::Env& env, const HostChunk& chunk) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("next", static_cast<double>(chunk.next));
  object.Set("count", chunk.count);
  return object;
}

EngineHandle::Networks::Networks(const NetworksColumns& columns)
    : addresses(columns.addresses.begin(), columns.addresses.end()),
      lengths(columns.lengths.begin(), columns.lengths.end()),
      networks(columns.networks.begin(), columns.networks.end()),
      groups(columns.groups.begin(), columns.groups.end()),
      networkCount(columns.networkCount),
      groupCount(columns.groupCount) {}

NetworksColumns EngineHandle::Networks::columns() const {
  return {.addresses = addresses,
          .lengths = lengths,
          .networks = networks,
          .groups = groups,
          .networkCount = networkCount,
          .groupCount = groupCount};
}

Napi::Function EngineHandle::define(const Napi::Env& env) {
  return DefineClass(env, "Engine",
                     {InstanceMethod<&EngineHandle::setNetworks>("setNetworks"),
                      InstanceMethod<&EngineHandle::setScreens>("setScreens"),
                      InstanceMethod<&EngineHandle::setWatched>("setWatched"),
                      InstanceMethod<&EngineHandle::openSource>("openSource"),
                      InstanceMethod<&EngineHandle::openFlowSource>("openFlowSource"),
                      InstanceMethod<&EngineHandle::openReplay>("openReplay"),
                      InstanceMethod<&EngineHandle::tick>("tick"),
                      InstanceMethod<&EngineHandle::readScreened>("readScreened"),
                      InstanceMethod<&EngineHandle::readRising>("readRising"),
                      InstanceMethod<&EngineHandle::readHosts>("readHosts"),
                      InstanceMethod<&EngineHandle::readHost>("readHost"),
                      InstanceMethod<&EngineHandle::readCounts>("readCounts"),
                      InstanceMethod<&EngineHandle::readGroups>("readGroups"),
                      InstanceMethod<&EngineHandle::readSamples>("readSamples"),
                      InstanceMethod<&EngineHandle::readSamplesOf>("readSamplesOf"),
                      InstanceMethod<&EngineHandle::readSamplesOfAsync>("readSamplesOfAsync"),
                      InstanceMethod<&EngineHandle::setProfileDelay>("setProfileDelay"),
                      InstanceMethod<&EngineHandle::readProfile>("readProfile"),
                      InstanceMethod<&EngineHandle::readProfiles>("readProfiles"),
                      InstanceMethod<&EngineHandle::keepIntervals>("keepIntervals"),
                      InstanceMethod<&EngineHandle::takeIntervals>("takeIntervals"),
                      InstanceMethod<&EngineHandle::readInterval>("readInterval"),
                      InstanceMethod<&EngineHandle::learnHosts>("learnHosts"),
                      InstanceMethod<&EngineHandle::learnHostsAsync>("learnHostsAsync"),
                      InstanceMethod<&EngineHandle::stats>("stats"),
                      InstanceMethod<&EngineHandle::close>("close")});
}

EngineHandle::EngineHandle(const Napi::CallbackInfo& info) : Napi::ObjectWrap<EngineHandle>(info) {
  const Napi::Object options = objectArgument(info, 0, "options");
  options_ = {.maxHosts = uint32Of(options, "maxHosts"),
              .windowMs = uint32Of(options, "windowMs"),
              .tickMs = uint32Of(options, "tickMs"),
              .countOutgoing = booleanOf(options, "countOutgoing"),
              .idleMs = uint32Of(options, "idleMs")};
  hasCaptureClock_ = choiceOf(options, "clock", kClocks) == 1;
  if (hasCaptureClock_) options_.hashSeed = kReplaySeed;
  engine_ = guarded(info.Env(), [&] { return std::make_shared<Engine>(options_); });
  Value().TypeTag(&kEngineTag);
}

Engine& EngineHandle::engine(const Napi::CallbackInfo& info) const {
  requireTag(info, kEngineTag, "engine");
  if (!engine_) throwClosed(info.Env(), "engine");
  return *engine_;
}

void EngineHandle::setNetworks(const Napi::CallbackInfo& info) {
  Engine& core = engine(info);
  const NetworksColumns columns = networksArgument(info, 0);
  guarded(info.Env(), [&] {
    auto networks = std::make_unique<Networks>(columns);
    core.setNetworks(columns);
    networks_ = std::move(networks);
    dropClosed();
    for (const auto& slot : sources_) slot->source->setNetworks(columns);
  });
}

void EngineHandle::setScreens(const Napi::CallbackInfo& info) {
  Engine& core = engine(info);
  const auto screens = doublesArgument(info, 0, "screens");
  guarded(info.Env(), [&] { core.setScreens(screens); });
}

void EngineHandle::setWatched(const Napi::CallbackInfo& info) {
  Engine& core = engine(info);
  const auto addresses = bytesArgument(info, 0, "addresses");
  guarded(info.Env(), [&] { core.setWatched(addresses); });
}

Napi::Value EngineHandle::openSource(const Napi::CallbackInfo& info) {
  engine(info);
  const Napi::Object options = objectArgument(info, 0, "options");
  if (hasCaptureClock_) throw Napi::TypeError::New(info.Env(), "an engine with the capture clock takes only a replay");
  return guarded(info.Env(), [&] {
    dropClosed();
    auto slot = std::make_shared<SourceSlot>();
    // The source may add shards later, from its own thread: it holds the engine.
    slot->source = binding::openSource(options, options_, FilterHandle::unwrap(info[1]),
                                       [engine = engine_] { return engine->addShard(); });
    if (networks_) slot->source->setNetworks(networks_->columns());
    sources_.push_back(slot);
    return newHandle(info.Env().GetInstanceData<Constructors>()->source, slot);
  });
}

Napi::Value EngineHandle::openFlowSource(const Napi::CallbackInfo& info) {
  engine(info);
  const Napi::Object options = objectArgument(info, 0, "options");
  if (hasCaptureClock_) throw Napi::TypeError::New(info.Env(), "an engine with the capture clock takes only a replay");
  return guarded(info.Env(), [&] {
    dropClosed();
    auto slot = std::make_shared<SourceSlot>();
    FlowOptions parsed = flowOptions(options);
    parsed.tickMs = options_.tickMs;
    slot->source = floodwall::openFlowSource(std::move(parsed), exporterRules(options.Get("exporters")), exporters_,
                                             [engine = engine_] { return engine->addShard(); });
    sources_.push_back(slot);
    return newHandle(info.Env().GetInstanceData<Constructors>()->flowSource, slot);
  });
}

Napi::Value EngineHandle::openReplay(const Napi::CallbackInfo& info) {
  engine(info);
  if (!hasCaptureClock_) throw Napi::TypeError::New(info.Env(), "a replay needs an engine with the capture clock");
  if (!info[0].IsString()) throw Napi::TypeError::New(info.Env(), "path must be a string");
  return guarded(info.Env(), [&] {
    dropClosed();
    auto slot = std::make_shared<ReplaySlot>();
    Decapsulation wanted;
    if (info[1].IsObject()) {
      const auto options = info[1].As<Napi::Object>();
      wanted = {.kinds = decapsulationOf(options), .vxlanPorts = vxlanPortsOf(options)};
    }
    slot->replay = std::make_unique<CaptureReplay>(engine_, options_, info[0].As<Napi::String>().Utf8Value(), wanted);
    replays_.push_back(slot);
    return newHandle(info.Env().GetInstanceData<Constructors>()->replay, slot);
  });
}

Napi::Value EngineHandle::tick(const Napi::CallbackInfo& info) {
  engine(info);
  if (hasCaptureClock_) throw Napi::TypeError::New(info.Env(), "with the capture clock, replay.advance() ticks");
  if (*isTicking_) throw Napi::Error::New(info.Env(), "the tick before has not ended");
  auto worker = std::make_unique<TickWorker>(info.Env(), engine_, isTicking_);
  const Napi::Promise promise = worker->promise();
  *isTicking_ = true;
  // Once queued, an AsyncWorker deletes itself when it is done.
  worker.release()->Queue();
  return promise;  // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks)
}

Napi::Value EngineHandle::readScreened(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  const HostColumns out = hostRowsArgument(info, 0);
  return Napi::Number::New(info.Env(), guarded(info.Env(), [&] { return core.readScreened(out); }));
}

Napi::Value EngineHandle::readRising(const Napi::CallbackInfo& info) {
  Engine& core = engine(info);
  if (*isTicking_) throw Napi::Error::New(info.Env(), "the tick before has not ended");
  const HostColumns out = hostRowsArgument(info, 0);
  return Napi::Number::New(info.Env(), guarded(info.Env(), [&] { return core.readRising(out); }));
}

Napi::Value EngineHandle::readHosts(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  if (!info[0].IsNumber()) throw Napi::TypeError::New(info.Env(), "cursor must be a number");
  const HostColumns out = hostRowsArgument(info, 1);
  const std::int64_t cursor = info[0].As<Napi::Number>().Int64Value();
  return chunkObject(info.Env(), guarded(info.Env(), [&] { return core.readHosts(cursor, out); }));
}

Napi::Value EngineHandle::readHost(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  const Address address = addressArgument(info, 0);
  const HostColumns out = hostRowsArgument(info, 1);
  return Napi::Boolean::New(info.Env(), guarded(info.Env(), [&] { return core.readHost(address, out); }));
}

Napi::Value EngineHandle::readCounts(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  if (!info[0].IsNumber()) throw Napi::TypeError::New(info.Env(), "first must be a number");
  const std::uint32_t first = info[0].As<Napi::Number>().Uint32Value();
  const CountColumns out = countRowsArgument(info, 1);
  return Napi::Number::New(info.Env(), guarded(info.Env(), [&] { return core.readCounts(first, out); }));
}

Napi::Value EngineHandle::readGroups(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  const HostColumns out = hostRowsArgument(info, 0);
  return Napi::Number::New(info.Env(), guarded(info.Env(), [&] { return core.readGroups(out); }));
}

Napi::Value EngineHandle::readSamples(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  const Address address = addressArgument(info, 0);
  const auto out = bytesArgument(info, 1, "out");
  const std::uint32_t length = lengthArgument(info, 2);
  return Napi::Number::New(info.Env(), guarded(info.Env(), [&] { return core.readSamples(address, out, length); }));
}

void EngineHandle::keepIntervals(const Napi::CallbackInfo& info) {
  Engine& core = engine(info);
  guarded(info.Env(), [&] { core.keepIntervals(); });
}

Napi::Value EngineHandle::takeIntervals(const Napi::CallbackInfo& info) {
  Engine& core = engine(info);
  if (!info[0].IsNumber()) throw Napi::TypeError::New(info.Env(), "cursor must be a number");
  const IntervalColumns out = intervalRowsArgument(info, 1);
  const std::int64_t cursor = info[0].As<Napi::Number>().Int64Value();
  return chunkObject(info.Env(), guarded(info.Env(), [&] { return core.takeIntervals(cursor, out); }));
}

Napi::Value EngineHandle::readInterval(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  const Address address = addressArgument(info, 0);
  const IntervalColumns out = intervalRowsArgument(info, 1);
  return Napi::Boolean::New(info.Env(), guarded(info.Env(), [&] { return core.readInterval(address, out); }));
}

Napi::Value EngineHandle::stats(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  const EngineStats stats = guarded(info.Env(), [&] { return core.stats(); });
  auto untracked = Napi::Float64Array::New(info.Env(), stats.untrackedPackets.size());
  for (std::size_t i = 0; i < stats.untrackedPackets.size(); i++) {
    untracked[i] = static_cast<double>(stats.untrackedPackets[i]);
  }
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("trackedHosts", stats.trackedHosts);
  object.Set("refusedHosts", static_cast<double>(stats.refusedHosts));
  object.Set("untrackedPackets", untracked);
  object.Set("deferredRows", static_cast<double>(stats.deferredRows));
  object.Set("memoryBytes", static_cast<double>(stats.memoryBytes));
  object.Set("replacedHosts", static_cast<double>(stats.replacedHosts));
  object.Set("evictedRows", static_cast<double>(stats.evictedRows));
  return object;
}

/// A tick under way keeps the core alive until its promise is settled.
void EngineHandle::close(const Napi::CallbackInfo& info) {
  requireTag(info, kEngineTag, "engine");
  for (const auto& slot : sources_) slot->source.reset();
  for (const auto& slot : replays_) slot->replay.reset();
  sources_.clear();
  replays_.clear();
  engine_.reset();
}

void EngineHandle::dropClosed() {
  std::erase_if(sources_, [](const auto& slot) { return !slot->source; });
  std::erase_if(replays_, [](const auto& slot) { return !slot->replay; });
}

}  // namespace floodwall::binding
