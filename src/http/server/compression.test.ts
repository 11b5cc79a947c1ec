import { describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { jsonAnswer, jsonBlobAnswer } from "./answer.ts";
import { Compression } from "./compression.ts";

const LIST = { attacks: Array.from({ length: 1000 }, (_, i) => ({ id: `attack ${i}`, target: "203.0.113.7" })) };
const TEXT = JSON.stringify(LIST);

function asking(coding: string | null, method = "GET"): Request {
  return new Request("http://localhost/", { method, headers: coding === null ? {} : { "accept-encoding": coding } });
}

describe("a large list", () => {
  test("that was serialized before is compressed too #large-answers-are-compressed", async () => {
    const answer = await new Compression().apply(asking("gzip"), jsonBlobAnswer(new Blob([TEXT])));
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(gunzipSync(await answer.arrayBuffer()).toString()).toBe(TEXT);
  });

  test("is compressed for a caller that takes gzip, with all other headers #large-answers-are-compressed", async () => {
    const answer = await new Compression().apply(asking("br, gzip"), jsonAnswer(200, LIST));
    const bytes = new Uint8Array(await answer.arrayBuffer());
    expect(bytes.length).toBeLessThan(TEXT.length / 8);
    expect(gunzipSync(bytes).toString()).toBe(TEXT);
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(answer.headers.get("vary")).toBe("accept-encoding");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("content-type")).toBe("application/json");
  });

  test.each([[null], ["identity"], ["gzip;q=0"]])(
    "is as it was for a caller that takes no gzip (%p)",
    async (coding) => {
      const answer = await new Compression().apply(asking(coding), jsonAnswer(200, LIST));
      expect(answer.headers.get("content-encoding")).toBeNull();
      expect(await answer.text()).toBe(TEXT);
    },
  );

  test("is as it was while two others are compressed", async () => {
    const compression = new Compression();
    const answers = await Promise.all(
      [1, 2, 3].map(async () => compression.apply(asking("gzip"), jsonAnswer(200, LIST))),
    );
    expect(answers.map(({ headers }) => headers.get("content-encoding"))).toEqual(["gzip", "gzip", null]);
    const next = await compression.apply(asking("gzip"), jsonAnswer(200, LIST));
    expect(next.headers.get("content-encoding")).toBe("gzip");
  });
});

test("a small answer is never compressed", async () => {
  const answer = await new Compression().apply(asking("gzip"), jsonAnswer(200, { status: "ok" }));
  expect(answer.headers.get("content-encoding")).toBeNull();
  expect(answer.headers.get("vary")).toBeNull();
});
