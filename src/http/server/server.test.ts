import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { selfSigned } from "../../../test/fixtures/edge/certificate.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import { RawHttp, rawRequest } from "../../../test/fixtures/http/raw-http.ts";
import { eventually } from "../../../test/fixtures/service.ts";
import { TemporaryFolder } from "../../../test/fixtures/temporary-folder.ts";
import { ListenError } from "./listen-error.ts";

const COMMAND_HEAD = "POST /api/v1/ban HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
});
afterEach(() => server.http.stop());

describe("paths and methods", () => {
  test.each([
    "/api/v1",
    "/api/v1/status/",
    "//api/v1/status",
    "/api//v1/status",
    "/api/v1/STATUS",
    "/api/v1%2Fstatus",
    "/api/v1/%73tatus",
    "/api/v1/status%00",
    "/api/v1/status;x=1",
    "/api/v2/status",
    "/healthz/",
    "/metricsx",
  ])("GET %s is not found", async (path) => {
    const { status, body } = await rawRequest(server.port, "GET", path);
    expect({ status, body }).toEqual({ status: 404, body: '{"error":"not found"}' });
  });

  test.each(["/api/v1/status", "/api/v1/hosts", "/metrics", "/healthz"])(
    "HEAD %s is GET without the body",
    async (path) => {
      const get = await server.get(path);
      const head = await fetch(server.base + path, { method: "HEAD" });
      expect(head.status).toBe(200);
      expect(head.headers.get("content-type")).toBe(get.headers.get("content-type"));
      expect(Number(head.headers.get("content-length"))).toBeGreaterThan(0);
      expect(await head.text()).toBe("");
    },
  );
});

describe("many at once", () => {
  test("200 parallel requests of all kinds are each answered as alone", async () => {
    const kinds: [() => Promise<Response>, number][] = [
      [() => server.get("/api/v1/status"), 200],
      [() => server.get("/api/v1/hosts"), 200],
      [() => server.get("/nowhere"), 404],
      [() => server.post("/api/v1/ban", '{"ip":"192.0.2.1"}'), 200],
      [() => server.post("/api/v1/ban", "{"), 400],
    ];
    const answers = await Promise.all(
      Array.from({ length: 200 }, async (_, i) => {
        const [request, status] = kinds[i % kinds.length] as (typeof kinds)[number];
        const answer = await request();
        await answer.arrayBuffer();
        return [answer.status, status];
      }),
    );
    for (const [got, expected] of answers) expect(got).toBe(expected as number);
  });

  test("a body that comes byte by byte keeps no one else waiting", async () => {
    const body = '{"ip":"192.0.2.1"}';
    const slow = await RawHttp.connect(server.port);
    await slow.write(`${COMMAND_HEAD}Content-Length: ${body.length}\r\n\r\n`);
    for (const byte of body) {
      expect((await server.get("/healthz")).status).toBe(200);
      expect(server.backend.calls).toEqual([]);
      await slow.write(byte);
    }
    expect((await slow.answer()).status).toBe(200);
    expect(server.backend.calls).toEqual(['ban 192.0.2.1 by ""']);
    slow.close();
  });

  test("a body that breaks off bans no one and is no fault of ours", async () => {
    const ended = /^svc_api_requests_total\{route="ban",method="POST",status="400"\} (\d+)$/m;
    const count = async () => Number(ended.exec(await server.metrics.text())?.[1] ?? 0);
    const before = await count();
    const client = await RawHttp.connect(server.port);
    await client.write(`${COMMAND_HEAD}Content-Length: 18\r\n\r\n{"ip":`);
    expect((await server.get("/healthz")).status).toBe(200);
    client.close();
    await eventually(async () => (await count()) === before + 1, "the request never ended");
    expect(server.backend.calls).toEqual([]);
    expect(server.logged).toEqual([]);
  });
});

describe("start and stop", () => {
  test("a port that is in use is named, with what to do", () => {
    const { http } = new TestServer(server.port);
    expect(() => http.start()).toThrow(ListenError);
    expect(() => http.start()).toThrow(
      `cannot listen on 127.0.0.1:${server.port}: the port is in use; see who holds it with ` +
        `\`ss -ltnp 'sport = :${server.port}'\`, or change api.listen`,
    );
  });

  test("a server that was never started, or was stopped, is stopped already", async () => {
    const { http } = new TestServer();
    await http.stop();
    await server.http.stop();
    await server.http.stop();
  });

  test("a stop closes the port, lets a request in progress end, and leaves no timer", async () => {
    const { port } = server;
    await (await server.get("/api/v1/hosts")).arrayBuffer();
    const client = await halfRequest();
    const stopped = server.http.stop();
    await client.write('"192.0.2.1"}');
    expect((await client.answer()).status).toBe(200);
    client.close();
    await stopped;
    expect(server.clock.pending).toBe(0);
    expect(await RawHttp.connect(port).catch((cause: unknown) => cause)).toBeInstanceOf(Error);
  });

  test("a stop cuts what has not ended three seconds later", async () => {
    const client = await halfRequest();
    const stopped = server.http.stop();
    server.clock.advance(3000);
    await stopped;
    await client.closed();
  });

  test("a stop ends the polls also while the port cannot be opened again for a renewed certificate", async () => {
    using folder = new TemporaryFolder("renewed");
    const files = { certFile: folder.at("cert.pem"), keyFile: folder.at("key.pem") };
    const put = ({ cert, key }: { cert: string; key: string }) => {
      writeFileSync(files.certFile, cert);
      writeFileSync(files.keyFile, key);
      return cert;
    };
    const ca = put(selfSigned());
    const { http, clock } = new TestServer(0, files);
    http.start();
    const ask = (path: string, headers = {}) =>
      fetch(`https://localhost:${http.port}${path}`, { headers, keepalive: false, tls: { ca } });
    const etag = (await ask("/api/v1/dataplane/rules")).headers.get("etag") ?? "";
    const poll = ask("/api/v1/dataplane/rules", { "if-none-match": etag });
    // The text of the metrics is made once a second.
    const isParked = async () => {
      clock.advance(1000);
      return (await (await ask("/metrics")).text()).includes('svc_api_holds{channel="rules"} 1');
    };
    await eventually(isParked, "the poll is not parked");
    put(selfSigned());
    const serve = spyOn(Bun, "serve").mockImplementation(() => {
      throw new Error("too many open files");
    });
    clock.advance(5000);
    expect(serve).toHaveBeenCalled();
    serve.mockRestore();
    await http.stop();
    expect([clock.pending, (await poll).status]).toEqual([0, 304]);
  });

  /** A command whose body waits for its second half. */
  async function halfRequest(): Promise<RawHttp> {
    const client = await RawHttp.connect(server.port);
    await client.write(`${COMMAND_HEAD}Content-Length: 18\r\n\r\n{"ip":`);
    // The listener accepts connections in order: once this one is answered, the first is in progress.
    expect((await server.get("/healthz")).status).toBe(200);
    return client;
  }
});
