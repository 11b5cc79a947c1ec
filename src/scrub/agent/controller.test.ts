/** Against real servers: which parts of an answer count, and the deadlines. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Certificate, selfSigned } from "../../../test/fixtures/edge/certificate.ts";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { eventually } from "../../../test/fixtures/service.ts";
import { HttpController } from "./controller.ts";
import { RULE_DOCUMENT_BYTES_MAX } from "./rule-document.ts";

const TEXT = '{"version":1,"bans":[]}';

let clock: ManualClock;
let answer: (request: Request) => Response | Promise<Response>;
let seen: { url: string; method: string; headers: Headers; body: string }[];
let server: Bun.Server<undefined>;
const controllers: HttpController[] = [];

function serve(tls: Certificate | null = null): Bun.Server<undefined> {
  return Bun.serve({
    port: 0,
    ...(tls === null ? {} : { tls }),
    fetch: async (request) => {
      const { url, method, headers } = request;
      seen.push({ url: new URL(url).pathname + new URL(url).search, method, headers, body: await request.text() });
      return answer(request);
    },
  });
}

function controller(
  url: string | URL = server.url,
  { token = "s3cret", authority = "" }: { token?: string | null; authority?: string } = {},
): HttpController {
  const made = new HttpController({
    url: new URL(url),
    node: "scrub1",
    token: () => token,
    authority: authority === "" ? null : () => authority,
    timers: new ManualTimers(clock),
  });
  controllers.push(made);
  return made;
}

beforeEach(() => {
  clock = new ManualClock();
  seen = [];
  answer = () => new Response(TEXT, { headers: { etag: '"a"' } });
  server = serve();
});
afterEach(async () => {
  for (const one of controllers.splice(0)) one.close();
  await server.stop(true);
});

test("asks as its node, with its token and the tag that it holds", async () => {
  await controller().poll('"a"');
  expect(seen[0]).toMatchObject({ url: "/api/v1/dataplane/rules?node=scrub1", method: "GET" });
  expect(seen[0]?.headers.get("authorization")).toBe("Bearer s3cret");
  expect(seen[0]?.headers.get("if-none-match")).toBe('"a"');
  await controller(server.url, { token: null }).poll(null);
  expect(seen[1]?.headers.has("authorization")).toBe(false);
  expect(seen[1]?.headers.has("if-none-match")).toBe(false);
});

test("a document comes with its tag and the service's time", async () => {
  const at = "Sun, 01 Mar 2026 12:00:00 GMT";
  answer = () => new Response(TEXT, { headers: { etag: '"a"', date: at } });
  const polled = await controller().poll(null);
  expect(polled).toEqual({ kind: "document", text: TEXT, etag: '"a"', sentAtMs: Date.parse(at) });
  answer = () => new Response(null, { status: 304 });
  expect(await controller().poll('"a"')).toEqual({ kind: "unchanged" });
});

test("a report is JSON under the node's name", async () => {
  answer = () => new Response(null, { status: 204 });
  expect(await controller().report({ version: "1" })).toEqual({ kind: "stored" });
  expect(seen[0]).toMatchObject({
    url: "/api/v1/dataplane/nodes/scrub1/report",
    method: "POST",
    body: '{"version":"1"}',
  });
  expect(seen[0]?.headers.get("content-type")).toBe("application/json");
});

test("a refusal carries what the service says, cut, and nothing of other servers", async () => {
  answer = () => Response.json({ error: "x".repeat(300) }, { status: 404 });
  expect(await controller().poll(null)).toEqual({ kind: "refused", status: 404, detail: "x".repeat(200) });
  answer = () => Response.json({ error: "\u009b2Jno" }, { status: 404 });
  expect(await controller().poll(null)).toEqual({ kind: "refused", status: 404, detail: "?2Jno" });
  answer = () => new Response("<h1>Bad gateway</h1>", { status: 502 });
  expect(await controller().poll(null)).toEqual({ kind: "refused", status: 502, detail: "" });
  answer = () => new Response("x".repeat(1e6), { status: 500 });
  expect(await controller().report({})).toEqual({ kind: "refused", status: 500, detail: "" });
});

test("a redirect is not followed: it would carry the token elsewhere", async () => {
  answer = () => Response.redirect(`${server.url.href}elsewhere`);
  expect(await controller().poll(null)).toEqual({ kind: "refused", status: 302, detail: "" });
  expect(seen).toHaveLength(1);
});

describe("a document that cannot be used", () => {
  test("too large", async () => {
    const chunk = new Uint8Array(1 << 20).fill(0x20);
    const send = (chunks: number, more: number) => () =>
      new Response(
        new ReadableStream({
          start(stream) {
            for (let i = 0; i < chunks; i++) stream.enqueue(chunk);
            if (more > 0) stream.enqueue(chunk.subarray(0, more));
            stream.close();
          },
        }),
      );
    answer = send(32, 0);
    const whole = await controller().poll(null);
    expect(whole.kind === "document" && whole.text.length).toBe(RULE_DOCUMENT_BYTES_MAX);
    answer = send(32, 1);
    expect(await controller().poll(null)).toEqual({
      kind: "unusable",
      reason: `it has more than ${RULE_DOCUMENT_BYTES_MAX} bytes`,
    });
  });

  test.each([
    ["too long", `"${"x".repeat(259)}"`],
    ["no ASCII", '"\u00ff"'],
  ])("with an ETag that is %s", async (_, etag) => {
    answer = () => new Response(TEXT, { headers: { etag } });
    const reason = "its ETag is too long, or has more than visible ASCII";
    expect(await controller().poll(null)).toEqual({ kind: "unusable", reason });
  });

  test("compressed: it is not unpacked", async () => {
    const bomb = Bun.gzipSync(new Uint8Array(RULE_DOCUMENT_BYTES_MAX + 1));
    answer = () => new Response(bomb, { headers: { "content-encoding": "gzip" } });
    expect(await controller().poll(null)).toEqual({ kind: "unusable", reason: "it is not UTF-8" });
  });

  test("no UTF-8", async () => {
    answer = () => new Response(Uint8Array.of(0x7b, 0xff));
    expect(await controller().poll(null)).toEqual({ kind: "unusable", reason: "it is not UTF-8" });
  });
});

describe("an unreachable service", () => {
  test("a closed port", async () => {
    await server.stop(true);
    expect(await controller().poll(null)).toEqual({ kind: "unreachable", reason: "ECONNREFUSED" });
  });

  test.each([
    ["a fresh poll", null, 10_000],
    ["a parked poll", '"a"', 45_000],
  ])("silence: %s waits for this time", async (_, etag, ms) => {
    answer = () => new Promise(() => {});
    const polled = controller().poll(etag);
    await eventually(() => seen.length === 1, "no request");
    clock.advance(ms - 1);
    const first = await Promise.race([polled, new Promise((resolve) => setImmediate(resolve, "waits"))]);
    expect<unknown>(first).toBe("waits");
    clock.advance(1);
    expect(await polled).toEqual({ kind: "unreachable", reason: "no answer in time" });
  });

  test("a body that stops in the middle", async () => {
    answer = () => new Response(new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array([0x7b])) }));
    let isOver = false;
    const polled = controller()
      .poll(null)
      .finally(() => {
        isOver = true;
      });
    await eventually(() => {
      clock.advance(1000);
      return isOver;
    }, "it waits for ever");
    expect(await polled).toEqual({ kind: "unreachable", reason: "no answer in time" });
  });

  test("a close ends what is under way, and all that comes later", async () => {
    answer = () => new Promise(() => {});
    const one = controller();
    const polled = one.poll('"a"');
    await eventually(() => seen.length === 1, "no request");
    one.close();
    expect((await polled).kind).toBe("unreachable");
    expect((await one.report({})).kind).toBe("unreachable");
    expect([seen.length, clock.pending]).toEqual([1, 0]);
  });
});

describe("over TLS", () => {
  const certificate = selfSigned();

  test("a certificate must be signed by whom we trust", async () => {
    const tls = serve(certificate);
    try {
      expect(await controller(tls.url).poll(null)).toEqual({
        kind: "unreachable",
        reason: "DEPTH_ZERO_SELF_SIGNED_CERT",
      });
      expect(seen).toEqual([]);
      const trusted = await controller(tls.url, { authority: certificate.cert }).poll(null);
      expect(trusted.kind).toBe("document");
    } finally {
      await tls.stop(true);
    }
  });

  test("and must be for the name that we asked", async () => {
    const tls = serve(certificate);
    try {
      const other = `https://127.0.0.2:${tls.port}`;
      const polled = await controller(other, { authority: certificate.cert }).poll(null);
      expect(polled).toEqual({ kind: "unreachable", reason: "ERR_TLS_CERT_ALTNAME_INVALID" });
    } finally {
      await tls.stop(true);
    }
  });
});
