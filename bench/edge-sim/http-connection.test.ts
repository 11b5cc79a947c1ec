import { afterEach, beforeEach, expect, test } from "bun:test";
import { createServer, type Server, type Socket } from "node:net";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { HttpConnection, Unreachable } from "./http-connection.ts";

/** Answers each request with the next of these; null: it hangs up instead. */
let answers: (string | null)[];
let requests: string[];
let server: Server;
let sockets: Socket[];
let clock: ManualClock;
let connection: HttpConnection;

beforeEach(async () => {
  [answers, requests, sockets] = [[], [], []];
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      requests.push(bytes.toString());
      const answer = answers.shift();
      if (answer === null) socket.destroy();
      else if (answer !== undefined) socket.write(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  clock = new ManualClock();
  const port = typeof address === "object" ? address?.port : 0;
  connection = new HttpConnection(new URL(`http://127.0.0.1:${port}`), new ManualTimers(clock));
});

afterEach(() => {
  connection.close();
  for (const socket of sockets) socket.destroy();
  server.close();
});

const get = () => connection.ask({ method: "GET", target: "/t", headers: { "X-A": "1" }, deadlineMs: 1000 });

test("one request after the other goes over one connection, with and without bodies", async () => {
  answers = [
    'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 2\r\n\r\nhi',
    'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n',
    "HTTP/1.1 204 No Content\r\n\r\n",
  ];
  const first = await get();
  expect([first.status, first.headers.get("etag"), first.body.toString()]).toEqual([200, '"a"', "hi"]);
  expect((await get()).status).toBe(304);
  const post = { method: "POST", target: "/r", headers: {}, body: "{é}", deadlineMs: 1000 } as const;
  expect((await connection.ask(post)).status).toBe(204);
  expect(sockets).toHaveLength(1);
  expect(requests[0]).toMatch(/^GET \/t HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\nX-A: 1\r\n\r\n$/);
  expect(requests[2]).toEndWith("Content-Type: application/json\r\nContent-Length: 4\r\n\r\n{é}");
});

test("a body of many segments is whole", async () => {
  const body = Buffer.alloc(3_000_000, "0123456789").toString();
  answers = [`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`];
  expect((await get()).body.toString() === body).toBe(true);
});

test("a connection that ends is an answer that does not come, and the next request opens another", async () => {
  answers = [null, "HTTP/1.1 204 No Content\r\n\r\n"];
  expect(await get().catch((cause: unknown) => cause)).toBeInstanceOf(Unreachable);
  expect((await get()).status).toBe(204);
});

test("an answer that is not there in time does not come", async () => {
  const asked = get();
  asked.catch(() => {});
  while (requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  clock.advance(1000);
  expect(asked).rejects.toThrow("no answer in time");
  expect(clock.pending).toBe(0);
});

test.each([
  ["no HTTP", "nonsense\r\n\r\n", "no HTTP answer"],
  ["a body without a length", "HTTP/1.1 200 OK\r\n\r\n", "an answer without a length"],
  ["more than it says", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", "an answer is longer than it says"],
  ["a head without end", `HTTP/1.1 200 OK\r\nA: ${"a".repeat(20_000)}`, "a head of more than"],
])("%s is not taken", async (_, answer, message) => {
  answers = [answer];
  expect(get()).rejects.toThrow(message);
});

test("no service is there", async () => {
  server.close();
  for (const socket of sockets) socket.destroy();
  const alone = new HttpConnection(new URL("http://127.0.0.1:1"), new ManualTimers(clock));
  expect(alone.ask({ method: "GET", target: "/", headers: {}, deadlineMs: 1000 })).rejects.toThrow(Unreachable);
});
