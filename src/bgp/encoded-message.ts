/** Messages of Protocol Buffers put together from parts that are encoded already. */
import type { UnknownField } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** Encodings of one message type, each with some of the fields: one after the other they encode a message with all. */
export type EncodedMessage = readonly Uint8Array[];

export function encodedBytes(message: EncodedMessage): number {
  let bytes = 0;
  for (const part of message) bytes += part.length;
  return bytes;
}

/**
 * The values of a repeated field, for a message that is made without them. What a message has beyond the fields that its
 * type knows is written as it is: here, the values of a field that it does know.
 */
export function encodedField(no: number, messages: readonly EncodedMessage[]): UnknownField[] {
  const writer = new BinaryWriter();
  messages.forEach((message, i) => {
    // The first value's tag is written with the field.
    if (i > 0) writer.tag(no, WireType.LengthDelimited);
    writer.uint32(encodedBytes(message));
    for (const part of message) writer.raw(part);
  });
  return [{ no, wireType: WireType.LengthDelimited, data: writer.finish() }];
}

/** Keeps what was made of an object, for as long as that is used. */
export function madeOnce<Key extends object, Made extends object>(make: (key: Key) => Made): (key: Key) => Made {
  const known = new WeakMap<Key, Made>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = make(key);
    known.set(key, made);
    return made;
  };
}
