// The PrefixSums of native-learning.d.ts.
#pragma once

#include <napi.h>

#include <memory>

#include "learn/prefix_sums.h"

namespace floodwall::binding {

class PrefixSumsHandle : public Napi::ObjectWrap<PrefixSumsHandle> {
 public:
  static Napi::Function define(const Napi::Env& env);
  /// Takes the number of prefixes.
  explicit PrefixSumsHandle(const Napi::CallbackInfo& info);

  /// The open sums that a JavaScript value is, or null for null; throws for anything else.
  static std::shared_ptr<GuardedSums> unwrapOrNull(const Napi::Value& value);

 private:
  // In the order of native-learning.d.ts.
  void setNetworks(const Napi::CallbackInfo& info);
  void begin(const Napi::CallbackInfo& info);
  Napi::Value stats(const Napi::CallbackInfo& info);
  void read(const Napi::CallbackInfo& info);
  void readNames(const Napi::CallbackInfo& info);
  void setAttacked(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  GuardedSums& guardedSums(const Napi::CallbackInfo& info) const;

  std::shared_ptr<GuardedSums> sums_;
};

}  // namespace floodwall::binding
