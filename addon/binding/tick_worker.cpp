#include "tick_worker.h"

#include <chrono>

namespace floodwall::binding {

TickWorker::TickWorker(const Napi::Env& env, std::shared_ptr<Engine> engine, std::shared_ptr<bool> isTicking)
    : Napi::AsyncWorker(env), deferred_(env), engine_(std::move(engine)), isTicking_(std::move(isTicking)) {}

void TickWorker::Execute() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  summary_ =
      engine_->fold(static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()));
}

void TickWorker::OnOK() {
  *isTicking_ = false;
  Napi::Object object = Napi::Object::New(Env());
  object.Set("trackedHosts", summary_.trackedHosts);
  object.Set("screened", summary_.screened);
  object.Set("foldMicros", summary_.foldMicros);
  object.Set("foldedRows", summary_.foldedRows);
  object.Set("rising", summary_.rising);
  deferred_.Resolve(object);
}

void TickWorker::OnError(const Napi::Error& error) {
  *isTicking_ = false;
  deferred_.Reject(error.Value());
}

}  // namespace floodwall::binding
