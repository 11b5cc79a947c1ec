/** Errors of the edge channel: each status in its case (docs/interface.md#errors), over a real listener. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ZONES_HOLD_MS } from "../../src/limits.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";
import { agent } from "../fixtures/http/node-channel.ts";

const WWW = "www.example.net";
const MANUAL = { mode: "manual", ttl_seconds: 60 };

let channel: EdgeChannelServer;

beforeEach(() => {
  channel = new EdgeChannelServer();
});
afterEach(() => channel.stop());

async function expectError(answer: Response | Promise<Response>, status: number, error: string): Promise<void> {
  const response = await answer;
  expect([response.status, await response.json()]).toEqual([status, { error }]);
  expect(response.headers.get("content-type")).toBe("application/json");
}

test("answer 304 when the ETag of a long poll is still current after the hold, with the ETag and no body", async () => {
  const { answer, etag } = await channel.parked();
  channel.server.clock.advance(ZONES_HOLD_MS);
  const { status, headers } = await answer;
  expect([status, headers.get("etag"), await (await answer).text()]).toEqual([304, etag, ""]);
});

test("error 401 for a parked poll whose token was removed", async () => {
  const { answer } = await channel.parked();
  channel.admit(agent("bound2", "e2"));
  await expectError(answer, 401, "missing or invalid bearer token");
});

test("error 403 for a bound agent token that names another node or none", async () => {
  for (const node of ["e2", null]) {
    await expectError(channel.poll({ node }), 403, "this token is bound to another node");
  }
});

describe("error 404", () => {
  test("for an unknown edge node", async () => {
    await expectError(channel.poll({ token: "unbound", node: "e9" }), 404, "unknown edge node");
    const as = { node: "e9", token: "unbound" };
    await expectError(channel.slot({ zone: WWW }, as), 404, "unknown edge node");
    await expectError(channel.publish({}, as), 404, "unknown edge node");
  });

  test("for an unknown zone, and for a lever clear of a nonexistent zone", async () => {
    await expectError(channel.slot({ zone: "nowhere.example.net" }), 404, "unknown zone");
    await expectError(channel.lever("nowhere.example.net", MANUAL), 404, "unknown zone");
    await expectError(channel.clearLever("nowhere.example.net"), 404, "unknown zone");
  });
});

describe("error 409", () => {
  test("for a live ACME challenge with a different key authorization", async () => {
    await channel.slot({ zone: WWW });
    await channel.publish();
    const error = "the live challenge of this token has another key authorization";
    await expectError(channel.publish({ key_authorization: "tok_1.other" }), 409, error);
  });

  test("for a lever on a zone in mode none", async () => {
    const error = "the zone's policy.mode is none: its requests are not decided, there is nothing to challenge";
    await expectError(channel.lever("bare.example.net", MANUAL), 409, error);
  });
});

test("error 429 for too many concurrent zone holds, with Retry-After: 1", async () => {
  for (let i = 0; i < 4; i++) await channel.parked();
  const answer = await channel.poll({ etag: await channel.etag() });
  expect(answer.headers.get("retry-after")).toBe("1");
  await expectError(answer, 429, "too many concurrent zone holds");
});
