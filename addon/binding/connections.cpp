#include "connections.h"

#include "arguments.h"
#include "connections/connection_cap.h"
#include "errors.h"

namespace floodwall::binding {

Napi::Value limitConnections(const Napi::CallbackInfo& info) {
  const Napi::Object options = objectArgument(info, 0, "options");
  const ConnectionCap cap{.port = static_cast<std::uint16_t>(uint32Of(options, "port")),
                          .total = uint32Of(options, "total"),
                          .perAddress = uint32Of(options, "perAddress")};
  const Napi::Env env = info.Env();
  const ConnectionCount count = guarded(env, [&] { return floodwall::limitConnections(cap); });
  Napi::Object object = Napi::Object::New(env);
  object.Set("open", count.open);
  object.Set("closedOfAddress", count.closedOfAddress);
  object.Set("closedOfTotal", count.closedOfTotal);
  return object;
}

}  // namespace floodwall::binding
