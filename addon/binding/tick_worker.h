// One fold on a thread of the pool, so that the event loop goes on; settles a promise.
#pragma once

#include <napi.h>

#include <memory>

#include "count/engine.h"

namespace floodwall::binding {

class TickWorker : public Napi::AsyncWorker {
 public:
  /// Clears `isTicking` when it is done, before the promise is settled.
  TickWorker(const Napi::Env& env, std::shared_ptr<Engine> engine, std::shared_ptr<bool> isTicking);

  [[nodiscard]] Napi::Promise promise() const { return deferred_.Promise(); }

 protected:
  void Execute() override;
  void OnOK() override;
  void OnError(const Napi::Error& error) override;

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<bool> isTicking_;
  TickSummary summary_;
};

}  // namespace floodwall::binding
