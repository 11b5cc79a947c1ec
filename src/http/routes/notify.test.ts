import { afterEach, beforeEach, expect, test } from "bun:test";
import { admitCallers, as } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";

let server: TestServer;
const tested: string[] = [];

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
  tested.length = 0;
  server.backend.notifyTargets = () => ({
    list: () => [
      { name: "noc", kind: "slack", waiting: 2, deliveredAt: null, lastFault: { atMs: 1000, cause: "answered 503" } },
      { name: "siem", kind: "syslog", waiting: 0, deliveredAt: 2000, lastFault: null },
    ],
    test: (target, by) => {
      if (target === "noc") tested.push(`${target} by ${by}`);
      return target === "noc";
    },
  });
});
afterEach(() => server.http.stop());

const order = (target: string, caller: Parameters<typeof as>[0]) =>
  fetch(`${server.base}/api/v1/notify/targets/${target}/test`, {
    method: "POST",
    headers: { ...as(caller), "content-type": "application/json" },
    body: "{}",
  });

test("each target is listed with what waits, its last delivery and its last failure #get-api-v1-notify-targets #notify-targets", async () => {
  const answer = await fetch(`${server.base}/api/v1/notify/targets`, { headers: as("viewer") });
  expect(await answer.json()).toEqual({
    targets: [
      { name: "noc", kind: "slack", waiting: 2, failed_at: "1970-01-01T00:00:01.000Z", failure: "answered 503" },
      { name: "siem", kind: "syslog", waiting: 0, delivered_at: "1970-01-01T00:00:02.000Z" },
    ],
  });
});

test("an operator tests one target, and a target that does not exist is 404 #post-api-v1-notify-targets-test", async () => {
  const answer = await order("noc", "operator");
  expect([answer.status, await answer.json()]).toEqual([200, { target: "noc", queued: true }]);
  const absent = await order("absent", "operator");
  expect(absent.status).toBe(404);
  expect((await order("noc", "viewer")).status).toBe(403);
  expect(tested).toEqual([expect.stringMatching(/^noc by /)]);
});
