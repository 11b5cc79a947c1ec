import { describe, expect, test } from "bun:test";
import { EventLines } from "./event-lines.ts";

const TEXT =
  'retry: 2000\nid: 7\n\nevent: attack\nid: 8\ndata: {"id":"a"}\n\n:\nid: 9\n\nevent: ban\nid: 10\ndata: one\ndata: two\n\n';
const EVENTS = [
  { name: "attack", data: '{"id":"a"}' },
  { name: "ban", data: "one\ntwo" },
];

describe("a stream of events", () => {
  test("is taken apart, and the place in it kept, also that of heartbeats", () => {
    const lines = new EventLines();
    expect(lines.push(TEXT)).toEqual(EVENTS);
    expect(lines.lastId).toBe("10");
    expect(lines.push(":\nid: 11\n\n")).toEqual([]);
    expect(lines.lastId).toBe("11");
  });

  test.each([1, 2, 3, 7])("is the same in pieces of %d characters, with any end of line", (size) => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const lines = new EventLines();
      const text = TEXT.replaceAll("\n", end);
      const events = [];
      for (let at = 0; at < text.length; at += size) events.push(...lines.push(text.slice(at, at + size)));
      expect(events).toEqual(EVENTS);
      expect(lines.lastId).toBe("10");
    }
  });

  test("that breaks off in an event does not emit it", () => {
    expect(new EventLines().push("event: attack\ndata: half\n")).toEqual([]);
  });

  test("an event without a name is a message", () => {
    expect(new EventLines().push("data\n\n")).toEqual([{ name: "message", data: "" }]);
  });
});
