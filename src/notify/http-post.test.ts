import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Receiver } from "../../test/fixtures/notify/notify.ts";
import { parseAddress } from "../net/address.ts";
import { post } from "./http-post.ts";

const server = new Receiver();
afterAll(() => server.stop());
beforeEach(() => {
  server.received.length = 0;
});

function posted(signal = new AbortController().signal): Promise<unknown> {
  return post({ url: new URL(server.url), headers: { a: "b" }, body: "x", signal, authority: null, reach: null }).then(
    () => "taken",
    (fault: unknown) => fault,
  );
}

test.each([200, 201, 204])("%d is taken", async (status) => {
  server.answers = [() => new Response(null, { status })];
  expect(await posted()).toBe("taken");
  expect(server.received[0]).toMatchObject({ body: "x" });
  expect(server.received[0]?.headers.get("user-agent")).toBe("Floodwall");
});

test.each([
  [400, true],
  [401, false],
  [404, false],
  [410, true],
  [413, true],
  [422, true],
  [429, false],
  [500, false],
  [503, false],
])("%d is a fault; final: %p", async (status, isFinal) => {
  server.answers = [() => new Response("some words", { status })];
  expect(await posted()).toMatchObject({ message: `answered ${status}`, isFinal, retryAfterMs: 0 });
});

test.each([
  ["7", 7_000],
  ["0", 0],
  ["Wed, 21 Oct 2015 07:28:00 GMT", 0],
  ["-1", 0],
  ["1e9", 0],
])("retry-after %s is %d ms", async (header, retryAfterMs) => {
  server.answers = [() => new Response(null, { status: 429, headers: { "retry-after": header } })];
  expect(await posted()).toMatchObject({ retryAfterMs });
});

test.each([
  ["Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:25:00 GMT", 180_000],
  ["Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:29:00 GMT", 0],
  ["7", "Wed, 21 Oct 2015 07:29:00 GMT", 7_000],
  ["1 2 3", "Wed, 21 Oct 2015 07:29:00 GMT", 0],
])("retry-after %s at %s of the receiver's clock is %d ms", async (header, date, retryAfterMs) => {
  server.answers = [() => new Response(null, { status: 429, headers: { "retry-after": header, date } })];
  expect(await posted()).toMatchObject({ retryAfterMs });
});

test("is broken off by its signal", async () => {
  server.answers = [() => new Promise<never>(() => {})];
  const delivery = new AbortController();
  const outcome = posted(delivery.signal);
  delivery.abort();
  expect(await outcome).toMatchObject({ name: "DeliveryFault" });
});

describe("a connection to a receiver of a tenant ends with the attempt, whatever the receiver does:", () => {
  const head = "HTTP/1.1";
  test.each([
    [
      "101 and an upgrade",
      `${head} 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n`,
      1,
      "answered 101",
    ],
    ["101 without one", `${head} 101 Switching Protocols\r\n\r\n`, 1, "answered 101"],
    ["an endless row of 100", `${head} 100 Continue\r\n\r\n`, 3, "given up"],
    ["half a head", `${head} 200 OK\r\nx: `, 1, "given up"],
    ["an endless body", `${head} 200 OK\r\n\r\nx`, 3, "taken"],
    ["nothing", "", 1, "given up"],
  ])("%s", async (_, answer, times, outcome) => {
    const address = parseAddress("127.0.0.1");
    if (address === null) throw new Error("no address");
    const delivery = new AbortController();
    const peer = Promise.withResolvers<Socket>();
    const receiver = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => {
        for (let i = 0; i < times; i++) socket.write(answer);
        peer.resolve(socket);
      });
    });
    receiver.listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const url = new URL(`http://hook.example:${(receiver.address() as AddressInfo).port}/`);
    const reach = async () => [{ address, family: 4 }] as const;
    const call = { url, headers: {}, body: "x", signal: delivery.signal, authority: null, reach };
    const posted = post(call).then(
      () => "taken",
      (fault: Error) => fault.message,
    );
    const socket = await peer.promise;
    const closed = new Promise((resolve) => socket.once("close", resolve));
    if (outcome === "given up") delivery.abort();
    expect(await posted).toBe(outcome);
    await closed;
    receiver.close();
  });
});
