// Learning from an engine's hosts: a slice of a pass over all of them, on the caller's thread or on one of the pool.
#include "arguments.h"
#include "baselines_handle.h"
#include "engine_handle.h"
#include "errors.h"
#include "prefix_sums_handle.h"
#include "promise_worker.h"

namespace floodwall::binding {
namespace {

struct Slice {
  std::shared_ptr<HostLearner> learner;
  /// null: prefixes are not summed.
  std::shared_ptr<GuardedSums> sums;
  std::int64_t cursor;

  [[nodiscard]] std::int64_t learn(const Engine& engine) const {
    return learner->learnHosts(engine, cursor, sums.get());
  }
};

Slice sliceArguments(const Napi::CallbackInfo& info) {
  if (!info[2].IsNumber()) throw Napi::TypeError::New(info.Env(), "cursor must be a number");
  return {.learner = BaselinesHandle::unwrap(info[0]),
          .sums = PrefixSumsHandle::unwrapOrNull(info[1]),
          .cursor = info[2].As<Napi::Number>().Int64Value()};
}

Napi::Value cursorNumber(const Napi::Env& env, std::int64_t cursor) {
  return Napi::Number::New(env, static_cast<double>(cursor));
}

}  // namespace

Napi::Value EngineHandle::learnHosts(const Napi::CallbackInfo& info) {
  const Engine& core = engine(info);
  const Slice slice = sliceArguments(info);
  return cursorNumber(info.Env(), guarded(info.Env(), [&] { return slice.learn(core); }));
}

Napi::Value EngineHandle::learnHostsAsync(const Napi::CallbackInfo& info) {
  engine(info);
  return PromiseWorker<std::int64_t>::start(
      info.Env(), [engine = engine_, slice = sliceArguments(info)] { return slice.learn(*engine); },
      [](const Napi::Env& env, const std::int64_t& next) { return cursorNumber(env, next); });
}

}  // namespace floodwall::binding
