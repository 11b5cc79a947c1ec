#include "source_status.h"

#include "arguments.h"
#include "constants.h"

namespace floodwall::binding {
namespace {

Napi::Object parseErrorsObject(const Napi::Env& env, const ShardStats& shard) {
  Napi::Object object = Napi::Object::New(env);
  for (std::size_t i = 0; i < kParseErrors; i++) object.Set(kParseErrorNames[i], numberOf(shard.parseErrors[i]));
  return object;
}

Napi::Object encapsulatedObject(const Napi::Env& env, const ShardStats& shard) {
  Napi::Object object = Napi::Object::New(env);
  for (std::size_t i = 0; i < kEncapsulations; i++) object.Set(kEncapsulationNames[i], numberOf(shard.encapsulated[i]));
  return object;
}

Napi::Object queueObject(const Napi::Env& env, const QueueStats& queue) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("interface", queue.interface);
  object.Set("queue", queue.queue);
  object.Set("receivedPackets", numberOf(queue.shard.receivedPackets));
  object.Set("receivedBytes", numberOf(queue.shard.receivedBytes));
  object.Set("countedPackets", numberOf(queue.shard.countedPackets));
  object.Set("untrackedPackets", numberOf(queue.shard.untrackedPackets));
  object.Set("foreignPackets", numberOf(queue.shard.foreignPackets));
  object.Set("parseErrors", parseErrorsObject(env, queue.shard));
  object.Set("encapsulated", encapsulatedObject(env, queue.shard));
  object.Set("droppedRingFull", numberOf(queue.droppedRingFull));
  object.Set("droppedFillEmpty", numberOf(queue.droppedFillEmpty));
  object.Set("droppedKernel", numberOf(queue.droppedKernel));
  object.Set("lostSamples", numberOf(queue.lostSamples));
  object.Set("refused", numberOf(queue.refused));
  return object;
}

}  // namespace

Napi::Object statusObject(const Napi::Env& env, const SourceStatus& status) {
  Napi::Array queues = Napi::Array::New(env, status.queues.size());
  for (std::uint32_t i = 0; i < status.queues.size(); i++) queues.Set(i, queueObject(env, status.queues[i]));
  Napi::Object object = Napi::Object::New(env);
  object.Set("state", kSourceStates.at(static_cast<std::size_t>(status.state)));
  object.Set("mode", status.mode);
  object.Set("error", status.error.empty() ? env.Null() : Napi::String::New(env, status.error).As<Napi::Value>());
  object.Set("queues", queues);
  return object;
}

}  // namespace floodwall::binding
