import { describe, expect, test } from "bun:test";
import { BODY_DEPTH_MAX, isJson, parseJson, readBody } from "./body.ts";

const utf8 = new TextEncoder();

/** A request whose body comes in pieces and without a length. */
function chunked(pieces: Iterable<Uint8Array>, onCancel: () => void = () => {}): Request {
  const iterator = pieces[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const { done, value } = iterator.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: onCancel,
    },
    // Nothing is read ahead, so that a test sees which parts were read.
    { highWaterMark: 0 },
  );
  return new Request("http://h/", { method: "POST", body });
}

describe("the media type", () => {
  test.each([
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8;x=y",
    " application/json ",
  ])("%p is JSON", (value) => expect(isJson(value)).toBe(true));

  test.each([
    null,
    "",
    "text/plain",
    "application/jsonp",
    "application/json-patch+json",
    "application/problem+json",
    "application/json, text/plain",
    "application/json; charset=utf-8, text/plain",
    "text/plain; application/json",
    "multipart/form-data",
  ])("%p is not", (value) => expect(isJson(value)).toBe(false));
});

describe("a body", () => {
  test.each([0, 15, 16])("of %d bytes of 16 is read whole", async (size) => {
    const bytes = new Uint8Array(size).fill(7);
    expect(await readBody(chunked([bytes.slice(0, 5), bytes.slice(5)]), 16)).toMatchObject({ kind: "bytes" });
    const read = await readBody(new Request("http://h/", { method: "POST", body: bytes }), 16);
    expect(read.kind === "bytes" && Array.from(read.bytes)).toEqual(Array.from(bytes));
  });

  test("one byte above the limit is refused, and the rest is not read", async () => {
    let pieces = 0;
    let isCancelled = false;
    function* endless() {
      for (;;) {
        pieces++;
        yield new Uint8Array(4);
      }
    }
    const request = chunked(endless(), () => {
      isCancelled = true;
    });
    expect(await readBody(request, 16)).toEqual({ kind: "body_too_large", limitBytes: 16 });
    expect(isCancelled).toBe(true);
    expect(pieces).toBeLessThan(10);
  });

  describe("of a declared length", () => {
    const declared = (bytes: number, come: number, more: Readonly<Record<string, string>> = {}) => {
      const request = chunked([new Uint8Array(come).fill(7)]);
      request.headers.set("content-length", String(bytes));
      for (const [name, value] of Object.entries(more)) request.headers.set(name, value);
      return request;
    };

    test("is read whole", async () => {
      const read = await readBody(declared(16, 16), 16);
      expect(read.kind === "bytes" && Array.from(read.bytes)).toEqual(Array(16).fill(7));
    });

    test("is refused where more comes than the limit", async () => {
      const tooLarge = { kind: "body_too_large", limitBytes: 16 };
      expect(await readBody(declared(16, 17), 16)).toEqual(tooLarge as never);
      expect(await readBody(declared(16, 17, { "transfer-encoding": "chunked" }), 16)).toEqual(tooLarge as never);
    });

    test("that breaks off is a refusal", async () => {
      const body = new ReadableStream({ pull: (controller) => controller.error(new Error("reset by peer")) });
      const request = new Request("http://h/", { method: "POST", body, headers: { "content-length": "9" } });
      expect(await readBody(request, 16)).toEqual({ kind: "body_cut_short" });
    });
  });

  test("that declares more than the limit is refused before a byte is read", async () => {
    let pieces = 0;
    function* counted() {
      pieces++;
      yield new Uint8Array(1);
    }
    const request = chunked(counted());
    request.headers.set("content-length", "17");
    expect(await readBody(request, 16)).toEqual({ kind: "body_too_large", limitBytes: 16 });
    expect(pieces).toBe(0);
  });

  test("that breaks off is a refusal, not an error of ours", async () => {
    const body = new ReadableStream({
      pull(controller) {
        controller.error(new Error("reset by peer"));
      },
    });
    expect(await readBody(new Request("http://h/", { method: "POST", body }), 16)).toEqual({ kind: "body_cut_short" });
  });

  test("may be missing", async () => {
    const read = await readBody(new Request("http://h/", { method: "POST" }), 16);
    expect(read.kind === "bytes" && read.bytes.length).toBe(0);
  });
});

describe("JSON", () => {
  test("is parsed from UTF-8", () => {
    expect(parseJson(utf8.encode('{"a":"ü€😀"}'))).toEqual({
      kind: "json",
      value: { a: "ü€😀" },
      text: '{"a":"ü€😀"}',
    });
  });

  test.each([
    ["a byte that UTF-8 does not have", [0x22, 0xff, 0x22]],
    ["an overlong slash", [0x22, 0xc0, 0xaf, 0x22]],
    ["half a surrogate pair", [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ["a character cut short", [0x22, 0xe2, 0x82]],
  ])("with %s is refused, not repaired", (_, bytes) => {
    expect(parseJson(new Uint8Array(bytes))).toEqual({ kind: "invalid_body", detail: "not UTF-8" });
  });

  test.each(["{", '{"a":1}x', "{a:1}", "undefined", "NaN", "'a'", '\ufeff{"a":1}', "[".repeat(60_000)])(
    "is not %.20p",
    (text) => expect(parseJson(utf8.encode(text)).kind).toBe("invalid_body"),
  );

  test.each(["", "  \n"])("is not %p: nothing was sent", (text) => {
    expect(parseJson(utf8.encode(text))).toEqual({ kind: "invalid_body", detail: "empty" });
  });

  test("of equal keys takes the last", () => {
    expect(parseJson(utf8.encode('{"ip":"192.0.2.1","ip":"192.0.2.2"}'))).toMatchObject({
      kind: "json",
      value: { ip: "192.0.2.2" },
    });
  });

  const nested = (levels: number, open = "[", close = "]") => `${open.repeat(levels)}${close.repeat(levels)}`;
  test.each([
    [nested(BODY_DEPTH_MAX), "json"],
    [nested(BODY_DEPTH_MAX + 1), "invalid_body"],
    [nested(20_000), "invalid_body"],
    [`${'{"a":'.repeat(BODY_DEPTH_MAX)}1${"}".repeat(BODY_DEPTH_MAX)}`, "json"],
    [`${'{"a":'.repeat(BODY_DEPTH_MAX + 1)}1${"}".repeat(BODY_DEPTH_MAX + 1)}`, "invalid_body"],
    [`[${Array(1000).fill("[{}]").join()}]`, "json"],
    [JSON.stringify({ a: nested(100), b: ['"', "[[[[", "\\", '\\"{', "{".repeat(100)] }), "json"],
    [`["\\"${"[".repeat(100)}", "\\\\", ${nested(BODY_DEPTH_MAX - 1)}]`, "json"],
    [`["\\\\", ${nested(BODY_DEPTH_MAX)}]`, "invalid_body"],
  ])("nested as in %.40p is %s", (text, kind) => {
    const parsed = parseJson(utf8.encode(text));
    expect(parsed.kind as string).toBe(kind);
    if (kind === "invalid_body")
      expect(parsed).toMatchObject({ detail: `nested deeper than ${BODY_DEPTH_MAX} levels` });
  });
});
