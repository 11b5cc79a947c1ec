/**
 * The bounds of the edge channel: at each, one below and one above (docs/interface.md#limits), over a real listener.
 */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";

const WWW = "www.example.net";

let channel: EdgeChannelServer;

beforeEach(() => {
  channel = new EdgeChannelServer();
});
afterEach(() => channel.stop());

const clock = () => channel.server.clock;
const lever = async (body: object) => (await channel.lever(WWW, { mode: "manual", ttl_seconds: 60, ...body })).status;

test("limit zones poll hold is 25 s", async () => {
  const { answer } = await channel.parked();
  clock().advance(24_999);
  expect(await channel.holds()).toBe(1);
  clock().advance(1);
  expect((await answer).status).toBe(304);
});

test("limit parked zone polls are 4 per token name", async () => {
  for (let i = 0; i < 4; i++) await channel.parked();
  expect((await channel.poll({ etag: await channel.etag() })).status).toBe(429);
});

test("limit challenge fan-out is ten minutes, and live challenges per node are 16", async () => {
  await channel.slot({ zone: WWW });
  const publish = async (i: number) => (await channel.publish({ token: `t${i}`, key_authorization: `t${i}.k` })).status;
  for (let i = 0; i < 16; i++) expect(await publish(i)).toBe(204);
  expect(await publish(16)).toBe(429);
  clock().advance(599_999);
  expect((await channel.document()).acme_challenges).toHaveLength(16);
  clock().advance(1);
  expect((await channel.document()).acme_challenges).toHaveLength(0);
  await channel.slot({ zone: WWW });
  expect(await publish(16)).toBe(204);
});

test("limit lever ttl_seconds is 60..86400", async () => {
  const statuses = await Promise.all([59, 60, 86_400, 86_401].map((ttl) => lever({ ttl_seconds: ttl })));
  expect(statuses).toEqual([400, 200, 200, 400]);
});

test("limit lever reason is at most 200 characters", async () => {
  const statuses = await Promise.all([199, 200, 201].map((length) => lever({ reason: "é".repeat(length) })));
  expect(statuses).toEqual([200, 200, 400]);
});

test("limit clearance key validity is 48 h each", async () => {
  for (const { clearance_keys: keys } of (await channel.document()).zones) {
    for (const { not_before, not_after } of keys as { not_before: string; not_after: string }[]) {
      expect(Date.parse(not_after) - Date.parse(not_before)).toBe(48 * 3_600_000);
    }
  }
});

test("limit edge stale_after_seconds is 15 s on defaults", async () => {
  await channel.poll();
  clock().advance(15_000);
  expect(channel.edge.nodes.isAlive("e1")).toBe(true);
  clock().advance(1);
  expect(channel.edge.nodes.isAlive("e1")).toBe(false);
});
