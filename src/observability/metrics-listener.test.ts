import { afterEach, beforeEach, expect, test } from "bun:test";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { MetricsListenError, MetricsListener } from "./metrics-listener.ts";

const OPTIONS = {
  host: "127.0.0.1",
  port: 0,
  contentType: "text/plain; version=0.0.4",
  text: async () => "svc_x 1\n",
  clock: new ManualClock(),
};

let listener: MetricsListener;
beforeEach(() => {
  listener = new MetricsListener(OPTIONS);
});
afterEach(() => listener.close());

const ask = (path: string, method = "GET") => fetch(`http://127.0.0.1:${listener.port}${path}`, { method });

test("answers GET /metrics and nothing else", async () => {
  const metrics = await ask("/metrics");
  expect([metrics.status, metrics.headers.get("content-type"), await metrics.text()]).toEqual([
    200,
    OPTIONS.contentType,
    "svc_x 1\n",
  ]);
  expect((await ask("/")).status).toBe(404);
  expect((await ask("/metrics", "POST")).status).toBe(405);
});

test("a port that is in use is refused by name", () => {
  expect(() => new MetricsListener({ ...OPTIONS, port: listener.port })).toThrow(MetricsListenError);
  expect(() => new MetricsListener({ ...OPTIONS, port: listener.port })).toThrow(
    `cannot listen on 127.0.0.1 port ${listener.port}: `,
  );
});
