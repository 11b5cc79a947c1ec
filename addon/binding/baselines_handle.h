// The NativeBaselines of native-learning.d.ts.
#pragma once

#include <napi.h>

#include <memory>

#include "learn/host_learner.h"

namespace floodwall::binding {

class BaselinesHandle : public Napi::ObjectWrap<BaselinesHandle> {
 public:
  static Napi::Function define(const Napi::Env& env);
  /// Takes the BaselinesOptions of native-learning.d.ts.
  explicit BaselinesHandle(const Napi::CallbackInfo& info);

  /// The open baselines that a JavaScript value is; throws for anything else.
  static std::shared_ptr<HostLearner> unwrap(const Napi::Value& value);

 private:
  // In the order of native-learning.d.ts.
  void setGroups(const Napi::CallbackInfo& info);
  void addSeasons(const Napi::CallbackInfo& info);
  void beginPass(const Napi::CallbackInfo& info);
  void setSpared(const Napi::CallbackInfo& info);
  void learnRows(const Napi::CallbackInfo& info);
  void learn(const Napi::CallbackInfo& info);
  void read(const Napi::CallbackInfo& info);
  Napi::Value stats(const Napi::CallbackInfo& info);
  void copyRows(const Napi::CallbackInfo& info);
  void takeRows(const Napi::CallbackInfo& info);
  Napi::Value seasonRows(const Napi::CallbackInfo& info);
  void copySeasons(const Napi::CallbackInfo& info);
  void takeSeasons(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  HostLearner& learner(const Napi::CallbackInfo& info) const;

  std::shared_ptr<HostLearner> learner_;
};

}  // namespace floodwall::binding
