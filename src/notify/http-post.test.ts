import { afterAll, beforeEach, expect, test } from "bun:test";
import { Receiver } from "../../test/fixtures/notify/notify.ts";
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

test("is broken off by its signal", async () => {
  server.answers = [() => new Promise<never>(() => {})];
  const delivery = new AbortController();
  const outcome = posted(delivery.signal);
  delivery.abort();
  expect(await outcome).toMatchObject({ name: "DeliveryFault" });
});
