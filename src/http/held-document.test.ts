import { describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { documentAnswer, heldDocument, unchangedAnswer } from "./held-document.ts";

const LARGE = heldDocument({ version: 1, zones: Array.from({ length: 200 }, (_, i) => `z${i}.example`) });
const SMALL = heldDocument({ version: 1, zones: [] });

function asked(coding: string | null): Request {
  return new Request("http://h/", coding === null ? {} : { headers: { "accept-encoding": coding } });
}

function headOf({ headers }: Response) {
  return [headers.get("etag"), headers.get("vary"), headers.get("content-encoding"), headers.get("content-type")];
}

describe("a document", () => {
  test.each(["gzip", "GZIP", "gzip, deflate, br, zstd", "br;q=1.0, gzip;q=0.5"])(
    "is packed for whoever takes %s",
    async (coding) => {
      const answer = documentAnswer(LARGE, asked(coding));
      expect(headOf(answer)).toEqual([LARGE.etag, "accept-encoding", "gzip", "application/json"]);
      const bytes = await answer.bytes();
      expect(bytes.length).toBeLessThan(LARGE.body.size / 3);
      expect(gunzipSync(bytes).toString()).toBe(await LARGE.body.text());
    },
  );

  test.each([null, "", "identity", "br", "*", "gzip;q=0"])("comes as it is to whoever takes %p", async (coding) => {
    const answer = documentAnswer(LARGE, asked(coding));
    expect(headOf(answer)).toEqual([LARGE.etag, "accept-encoding", null, "application/json"]);
    expect(await answer.text()).toBe(await LARGE.body.text());
  });

  test("that is short comes as it is to all", () => {
    expect(headOf(documentAnswer(SMALL, asked("gzip")))[2]).toBeNull();
  });

  test("is packed once", () => {
    expect(LARGE.packed).toBe(LARGE.packed);
  });

  test("has one tag, however it came", () => {
    expect(headOf(unchangedAnswer(LARGE)).slice(0, 2)).toEqual([LARGE.etag, "accept-encoding"]);
  });
});
