import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { PAGE_TEXT, SCRIPT_TEXT } from "../../../test/fixtures/browser/dashboard-files.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import { rawRequest } from "../../../test/fixtures/http/raw-http.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  server.tokens = [{ name: "noc", tokenEnv: "NOC", role: "viewer", tenant: null, node: null }];
});
afterEach(() => server.http.stop());

/** As it came: nothing is unpacked. */
function ask(path: string, headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<Response> {
  return fetch(server.base + path, {
    method,
    headers: { "accept-encoding": "identity", ...headers },
    decompress: false,
  });
}

describe("dashboard page #dashboard-page", () => {
  test("is open to all, may load and send nothing elsewhere, and is validated each time", async () => {
    const answer = await ask("/");
    expect([answer.status, await answer.text()]).toEqual([200, PAGE_TEXT]);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      vary: "accept-encoding",
      "content-security-policy":
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    });
  });

  test("a part of it whose name has its hash is kept for good", async () => {
    const answer = await ask("/assets/main.js");
    expect([answer.status, await answer.text()]).toEqual([200, SCRIPT_TEXT]);
    expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(answer.headers.get("content-type")).toBe("text/javascript");
  });

  test.each([
    "/assets/none.js",
    "/assets/",
    "/assets",
    "/index.html",
    "/assets/../main.js",
    "/assets/%2e%2e%2fx",
    "/assets/%ff",
  ])("%s is unknown, like every other", async (path) => {
    const answer = await rawRequest(server.port, "GET", path);
    expect([answer.status, answer.body]).toEqual([404, '{"error":"not found"}']);
  });

  test("is unknown when the configuration says so, like every other path, from the next request on", async () => {
    const unknown = await ask("/nowhere");
    const body = await unknown.text();
    server.isDashboardShown = false;
    for (const path of ["/", "/assets/main.js"]) {
      const answer = await ask(path);
      expect([answer.status, await answer.text()]).toEqual([404, body]);
      expect(Object.keys(Object.fromEntries(answer.headers))).toEqual(Object.keys(Object.fromEntries(unknown.headers)));
    }
    server.isDashboardShown = true;
    expect((await ask("/")).status).toBe(200);
  });

  test("is read only: another method is unknown, HEAD is GET without the body", async () => {
    expect((await ask("/", {}, "POST")).status).toBe(404);
    const head = await ask("/", {}, "HEAD");
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, '"a1-identity"', ""]);
  });
});

describe("codings", () => {
  const unpack = {
    br: (bytes: Uint8Array) => brotliDecompressSync(bytes).toString(),
    gzip: (bytes: Uint8Array) => gunzipSync(bytes).toString(),
  };

  test.each([
    ["gzip, deflate, br, zstd", "br"],
    ["GZIP", "gzip"],
    ["br;q=0, gzip;q=0.5", "gzip"],
    ["gzip;q=1.0, br ; q=0.1", "br"],
  ] as const)("%p: %s", async (accepted, coding) => {
    const answer = await ask("/", { "accept-encoding": accepted });
    expect(answer.headers.get("content-encoding")).toBe(coding);
    expect(answer.headers.get("etag")).toBe(`"a1-${coding}"`);
    expect(unpack[coding](await answer.bytes())).toBe(PAGE_TEXT);
  });

  test.each(["", "identity", "*", "gzip;q=0", "deflate", "nonsense;;,"])("%p: as it is", async (accepted) => {
    const answer = await ask("/", { "accept-encoding": accepted });
    expect(answer.headers.get("content-encoding")).toBeNull();
    expect(await answer.text()).toBe(PAGE_TEXT);
  });
});

describe("a browser that has it", () => {
  test.each(['"a1-identity"', 'W/"a1-identity"', '"x", "a1-identity"', "*"])(
    "%s: 304 without the body",
    async (tag) => {
      const answer = await ask("/", { "if-none-match": tag });
      expect([answer.status, await answer.text()]).toEqual([304, ""]);
      expect(answer.headers.get("etag")).toBe('"a1-identity"');
    },
  );

  test.each(['"a1-br"', '"a0-identity"', ""])("in another coding or version, %s: gets it", async (tag) => {
    expect((await ask("/", { "if-none-match": tag })).status).toBe(200);
  });
});
