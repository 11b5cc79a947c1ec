/**
 * Two whole services that are a pair, each its own process with a state of its own, over real TLS: what operators order
 * at one is in force at the other. Control plane alone: no packet is counted.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { Authority } from "../fixtures/cluster/authority.ts";
import { ServicePair } from "../fixtures/cluster/service-pair.ts";

let authority: Authority;
let pair: ServicePair;

beforeAll(() => {
  authority = new Authority();
  for (const name of ["brain1", "brain2"]) authority.issue(name);
});
afterAll(() => authority.remove());
beforeEach(async () => {
  pair = await ServicePair.start(authority);
});
afterEach(() => pair.stop());

const IP = "192.0.2.7";

describe("an order at one brain is in force at the other", () => {
  test("a ban, with its id's begin and end, and its unban", async () => {
    const answer = await pair.first.post<BanWire>("/api/v1/ban", { ip: IP, reason: "ticket 7" });
    expect([answer.status, "shared" in answer.body, "unconfirmed_by" in answer.body]).toEqual([200, false, false]);
    const there = await pair.bansAt(pair.second);
    expect(there).toMatchObject([
      {
        target: IP,
        state: "active",
        manual: true,
        order_reason: "ticket 7",
        started_at: answer.body.started_at,
        expires_at: answer.body.expires_at,
      },
    ]);
    const lifted = await pair.second.post<BanWire>("/api/v1/unban", { ip: IP });
    expect([lifted.status, lifted.body.state, "shared" in lifted.body]).toEqual([200, "withdrawn", false]);
    expect(await pair.bansAt(pair.first)).toMatchObject([{ target: IP, state: "withdrawn", reason: "manual unban" }]);
  });
});
