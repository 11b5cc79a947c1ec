/** Protocol Buffers messages, assembled from encoded parts. */
import type { UnknownField } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";

/** Encodings of one message type, each with some of the fields: concatenated they are a message with all of them. */
export type EncodedMessage = readonly Uint8Array[];

export function encodedBytes(message: EncodedMessage): number {
  let bytes = 0;
  for (const part of message) bytes += part.length;
  return bytes;
}

/**
 * The values of a repeated field, for a message created without them. They are passed as unknown fields, which the
 * encoder writes unchanged, although the type knows the field.
 */
export function encodedField(no: number, messages: readonly EncodedMessage[]): UnknownField[] {
  const writer = new BinaryWriter();
  messages.forEach((message, i) => {
    // The encoder writes the first value's tag with the field.
    if (i > 0) writer.tag(no, WireType.LengthDelimited);
    writer.uint32(encodedBytes(message));
    for (const part of message) writer.raw(part);
  });
  return [{ no, wireType: WireType.LengthDelimited, data: writer.finish() }];
}

/** Caches the result of `make` for each key object, as long as the key is in use. */
export function cachedByKey<Key extends object, Made extends object>(make: (key: Key) => Made): (key: Key) => Made {
  const known = new WeakMap<Key, Made>();
  return (key) => {
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = make(key);
    known.set(key, made);
    return made;
  };
}
