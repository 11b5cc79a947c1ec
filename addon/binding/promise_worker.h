// One call of the core on a thread of the pool, so that the event loop goes on; settles a promise.
#pragma once

#include <napi.h>

#include <functional>
#include <optional>
#include <utility>

namespace floodwall::binding {

template <typename Result>
class PromiseWorker : public Napi::AsyncWorker {
 public:
  using Call = std::function<Result()>;
  using Convert = std::function<Napi::Value(const Napi::Env&, const Result&)>;

  /// `call` runs on the thread of the pool, `convert` on JavaScript's. What `call` throws rejects the promise.
  static Napi::Promise start(const Napi::Env& env, Call call, Convert convert) {
    // Node-API deletes it once it has settled its promise.
    auto* worker = new PromiseWorker(env, std::move(call), std::move(convert));
    const Napi::Promise promise = worker->deferred_.Promise();
    worker->Queue();
    return promise;
  }

 protected:
  void Execute() override { result_ = call_(); }
  void OnOK() override { deferred_.Resolve(convert_(Env(), *result_)); }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  PromiseWorker(const Napi::Env& env, Call call, Convert convert)
      : Napi::AsyncWorker(env), deferred_(env), call_(std::move(call)), convert_(std::move(convert)) {}

  Napi::Promise::Deferred deferred_;
  Call call_;
  Convert convert_;
  std::optional<Result> result_;
};

}  // namespace floodwall::binding
