import { describe, expect, test } from "bun:test";
import { inChunks, MESSAGE_BYTES_MAX } from "../chunks.ts";
import { FrameError, FrameReader, frameOf, type Message } from "./frames.ts";

const MESSAGES: Message[] = [
  { kind: "a", body: null },
  { kind: "ü", body: { text: "grün \u{1F30A}", list: [1, 2] } },
  { kind: "", body: "x".repeat(1000) },
];

describe("messages", () => {
  test.each([1, 2, 3, 5, 64, 1_000_000])("arrive as they were sent, in chunks of %d bytes", (size) => {
    const bytes = Buffer.concat(MESSAGES.map((message) => frameOf(message) as Buffer));
    const reader = new FrameReader();
    const read: Message[] = [];
    for (let at = 0; at < bytes.length; at += size) read.push(...reader.read(bytes.subarray(at, at + size)));
    expect(read).toEqual(MESSAGES);
  });

  test("have at most the bound, and a reader refuses a byte more before it has arrived", () => {
    const around = Buffer.byteLength(JSON.stringify({ kind: "a", body: "" }));
    const largest = frameOf({ kind: "a", body: "x".repeat(MESSAGE_BYTES_MAX - around) });
    expect(largest?.length).toBe(4 + MESSAGE_BYTES_MAX);
    expect([...new FrameReader().read(largest as Buffer)]).toHaveLength(1);
    expect(frameOf({ kind: "a", body: "x".repeat(MESSAGE_BYTES_MAX - around + 1) })).toBeNull();
    const length = Buffer.alloc(4);
    length.writeUInt32BE(MESSAGE_BYTES_MAX + 1);
    expect(() => [...new FrameReader().read(length)]).toThrow(FrameError);
  });
});

test("items go in chunks within the bound, each once and in order; one that is larger goes alone", () => {
  const items = ["a".repeat(10), "b".repeat(10), "c".repeat(50), "d"];
  expect([...inChunks(items, 30)]).toEqual([[items[0], items[1]], [items[2]], ["d"]] as string[][]);
  expect([...inChunks([], 30)]).toEqual([]);
});
