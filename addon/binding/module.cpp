// The module of `require("floodwall.node")`: the Native of native.d.ts.
#include <napi.h>

#include "baselines_handle.h"
#include "capabilities.h"
#include "connections.h"
#include "engine_handle.h"
#include "filter_handle.h"
#include "findings.h"
#include "flow_source_handle.h"
#include "named_sets_handle.h"
#include "prefix_sums_handle.h"

namespace floodwall::binding {
namespace {

Napi::Value openEngine(const Napi::CallbackInfo& info) {
  return info.Env().GetInstanceData<Constructors>()->engine.New({info[0]});
}

Napi::Value openFilter(const Napi::CallbackInfo& info) {
  return info.Env().GetInstanceData<Constructors>()->filter.New({info[0]});
}

Napi::Value openBaselines(const Napi::CallbackInfo& info) {
  return info.Env().GetInstanceData<Constructors>()->baselines.New({info[0]});
}

Napi::Value openPrefixSums(const Napi::CallbackInfo& info) {
  return info.Env().GetInstanceData<Constructors>()->prefixSums.New({info[0]});
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  auto constructors = std::make_unique<Constructors>();
  constructors->engine = Napi::Persistent(EngineHandle::define(env));
  constructors->source = Napi::Persistent(SourceHandle::define(env));
  constructors->flowSource = Napi::Persistent(FlowSourceHandle::define(env));
  constructors->replay = Napi::Persistent(ReplayHandle::define(env));
  constructors->filter = Napi::Persistent(FilterHandle::define(env));
  constructors->namedSets = Napi::Persistent(NamedSetsHandle::define(env));
  constructors->baselines = Napi::Persistent(BaselinesHandle::define(env));
  constructors->prefixSums = Napi::Persistent(PrefixSumsHandle::define(env));
  // Node-API deletes it with the addon's instance.
  env.SetInstanceData(constructors.release());
  exports.Set("openEngine", Napi::Function::New(env, openEngine, "openEngine"));
  exports.Set("openBaselines", Napi::Function::New(env, openBaselines, "openBaselines"));
  exports.Set("openPrefixSums", Napi::Function::New(env, openPrefixSums, "openPrefixSums"));
  exports.Set("openFilter", Napi::Function::New(env, openFilter, "openFilter"));
  exports.Set("buildNamedSets", Napi::Function::New(env, buildNamedSets, "buildNamedSets"));
  exports.Set("readPinnedFilter", Napi::Function::New(env, readPinnedFilter, "readPinnedFilter"));
  exports.Set("probeProgram", Napi::Function::New(env, probeProgram, "probeProgram"));
  exports.Set("readInterface", Napi::Function::New(env, readInterface, "readInterface"));
  exports.Set("readKernel", Napi::Function::New(env, readKernel, "readKernel"));
  exports.Set("limitConnections", Napi::Function::New(env, limitConnections, "limitConnections"));
  exports.Set("dropCapabilities", Napi::Function::New(env, dropCapabilities, "dropCapabilities"));
  return exports;
}

}  // namespace

NODE_API_MODULE(floodwall, initialize)

}  // namespace floodwall::binding
