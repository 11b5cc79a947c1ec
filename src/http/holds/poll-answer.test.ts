import { describe, expect, test } from "bun:test";
import { uncompressed } from "../../nodes/polled-document.ts";
import { documentAnswer, unchangedAnswer } from "./poll-answer.ts";

const PLAIN = uncompressed('{"version":1,"zones":["a.example"]}');
const BOTH = { ...PLAIN, gzipped: new Blob(["as if in gzip"]) };

function asked(coding: string | null): Request {
  return new Request("http://h/", coding === null ? {} : { headers: { "accept-encoding": coding } });
}

function headOf({ headers }: Response) {
  return [headers.get("etag"), headers.get("vary"), headers.get("content-encoding"), headers.get("content-type")];
}

describe("a document", () => {
  test.each(["gzip", "GZIP", "gzip, deflate, br, zstd", "br;q=1.0, gzip;q=0.5", "br ; q=1 , gzip ; q=0.001"])(
    "is compressed for a caller that accepts %s",
    async (coding) => {
      const answer = documentAnswer(BOTH, asked(coding));
      expect(headOf(answer)).toEqual([BOTH.etag, "accept-encoding", "gzip", "application/json"]);
      expect(await answer.text()).toBe("as if in gzip");
    },
  );

  test.each([null, "", "identity", "br", "*", "gzip;q=0", "gzip;q=0.000", "gzip;level=1", "gzip;q=.", "x-gzip"])(
    "is not compressed for a caller that accepts %p",
    async (coding) => {
      const answer = documentAnswer(BOTH, asked(coding));
      expect(headOf(answer)).toEqual([BOTH.etag, "accept-encoding", null, "application/json"]);
      expect(await answer.text()).toBe(await PLAIN.body.text());
    },
  );

  test("that has no compressed form is sent unchanged to all", () => {
    expect(headOf(documentAnswer(PLAIN, asked("gzip")))[2]).toBeNull();
  });

  test("has the same tag in both forms", () => {
    expect(headOf(unchangedAnswer(BOTH)).slice(0, 2)).toEqual([BOTH.etag, "accept-encoding"]);
  });
});
