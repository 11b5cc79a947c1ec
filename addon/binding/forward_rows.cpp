#include "forward_rows.h"

#include <algorithm>
#include <bit>
#include <string>

#include "arguments.h"
#include "constants.h"
#include "filter_rows.h"

namespace floodwall::binding {
namespace {

constexpr std::uint32_t kPortMax = 65'535, kVniBits = 8;

std::span<const std::uint8_t> exactBytesOf(const Napi::Object& object, const char* key, std::size_t bytes) {
  const Napi::Value value = object.Get(key);
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != napi_uint8_array) {
    throw Napi::TypeError::New(object.Env(), std::string(key) + " must be a Uint8Array");
  }
  const auto array = value.As<Napi::Uint8Array>();
  if (bytes != 0 && array.ByteLength() != bytes) {
    throw Napi::RangeError::New(object.Env(), std::string(key) + " must have " + std::to_string(bytes) + " bytes");
  }
  return {array.Data(), array.ByteLength()};
}

std::uint16_t shortOf(const Napi::Object& object, const char* key) {
  const std::uint32_t number = uint32Of(object, key);
  if (number <= kPortMax) return static_cast<std::uint16_t>(number);
  throw Napi::RangeError::New(object.Env(), std::string(key) + " must be at most 65535");
}

void copyTo(std::span<const std::uint8_t> bytes, __u8* to) { std::copy(bytes.begin(), bytes.end(), to); }

template <typename Number>
Number inNetworkOrder(Number number) {
  if constexpr (std::endian::native == std::endian::big) return number;
  return sizeof number == 2 ? static_cast<Number>(__builtin_bswap16(static_cast<std::uint16_t>(number)))
                            : static_cast<Number>(__builtin_bswap32(number));
}

ForwardTunnel tunnelOf(const Napi::Object& object) {
  ForwardTunnel tunnel;
  forward_tunnel& form = tunnel.form;
  form.kind = static_cast<std::uint8_t>(choiceOf(object, "kind", kTunnelKinds));
  copyTo(exactBytesOf(object, "local", sizeof form.local), form.local.bytes);
  copyTo(exactBytesOf(object, "remote", sizeof form.remote), form.remote.bytes);
  copyTo(exactBytesOf(object, "mac", sizeof form.destination_mac), form.destination_mac);
  form.has_key = object.Get("key").IsNull() ? 0 : 1;
  const std::uint32_t key = form.has_key != 0 ? uint32Of(object, "key") : 0;
  form.key = inNetworkOrder(form.kind == FORWARD_VXLAN ? key << kVniBits : key);
  form.port = inNetworkOrder(shortOf(object, "port"));
  form.mtu = shortOf(object, "mtu");
  form.mss4 = shortOf(object, "mss4");
  form.mss6 = shortOf(object, "mss6");
  tunnel.networks = prefixesOf(object.Env(), exactBytesOf(object, "addresses", 0), exactBytesOf(object, "lengths", 0));
  return tunnel;
}

}  // namespace

std::optional<std::vector<ForwardTunnel>> forwardOf(const Napi::Object& options, const char* key) {
  const Napi::Value value = options.Get(key);
  if (value.IsNull()) return std::nullopt;
  if (!value.IsObject() || !value.As<Napi::Object>().Get("tunnels").IsArray()) {
    throw Napi::TypeError::New(options.Env(), std::string(key) + " must be null or an object with an array of tunnels");
  }
  const auto array = value.As<Napi::Object>().Get("tunnels").As<Napi::Array>();
  std::vector<ForwardTunnel> tunnels;
  for (std::uint32_t i = 0; i < array.Length(); i++) {
    const Napi::Value tunnel = array[i];
    if (!tunnel.IsObject()) throw Napi::TypeError::New(options.Env(), "tunnels must be objects");
    tunnels.push_back(tunnelOf(tunnel.As<Napi::Object>()));
  }
  return tunnels;
}

Napi::Value forwardObject(const Napi::Env& env, const forward_stats& stats) {
  Napi::Object outcomes = Napi::Object::New(env);
  for (std::size_t i = 0; i < kForwardOutcomes.size(); i++) {
    Napi::Object count = Napi::Object::New(env);
    count.Set("packets", numberOf(stats.outcomes[i].packets));
    count.Set("bytes", numberOf(stats.outcomes[i].bytes));
    outcomes.Set(kForwardOutcomes.at(i), count);
  }
  Napi::Object object = Napi::Object::New(env);
  object.Set("outcomes", outcomes);
  object.Set("clamped", numberOf(stats.clamped));
  return object;
}

}  // namespace floodwall::binding
