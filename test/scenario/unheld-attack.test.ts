/** A ladder that goes on only while what this machine drops does not hold the attack, with real packets. */
import { afterEach, describe, expect, test } from "bun:test";
import { eventually } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { makeBoxLab, THRESHOLD_PPS } from "../lab/scrub/box-lab.ts";
import { VICTIM } from "../lab/scrub/scrub-network.ts";
import { sendFrom } from "../lab/world.ts";

const LADDER = `escalation:
  - { after_seconds: 0, action: scrub }
  - { after_seconds: 1, action: blackhole, unless_held: true }
`;
const HELD_MS = 7000;
/** What the operator lets pass is dropped by no ban. */
const FRIENDS = { name: "friends", action: "pass", source: "198.18.0.0/15", ttl_seconds: 600 };

interface Attack {
  readonly volume?: { readonly packets: number; readonly passed_packets?: number };
}

const undo = new Undo();
afterEach(() => undo.all());

const unavailable = namespacesUnavailable();

describe.skipIf(unavailable !== null)(`a rung for attacks that are not held: ${unavailable ?? ""}`, () => {
  test("is not climbed while the rung before holds the attack, and is once much of it gets through", async () => {
    const { attacker, service, bans } = await makeBoxLab(undo, { scrub: "{ tcp: reset }", more: LADDER });
    const flooding = sendFrom(attacker, {
      ...{ profile: "syn", target: VICTIM, sources: 60_000, src: "198.18.0.1", path: "socket" },
      ...{ pps: 5 * THRESHOLD_PPS, seconds: 22 },
    });
    const methodIs = async (method: string) =>
      eventually(
        async () => (await bans())[0]?.method === method,
        () => `not ${method}:\n${service.output}`,
        11_000,
        200,
      );
    await methodIs("scrub");
    // Longer than an attack that is not held stays on a rung.
    await Bun.sleep(HELD_MS);
    expect(await bans()).toMatchObject([{ method: "scrub" }]);
    // What is sent back to its sources did not get through either.
    const { active } = (await service.get<{ active: Attack[] }>("/api/v1/attacks")).body;
    const { packets = 1, passed_packets: passed = packets } = active[0]?.volume ?? {};
    expect(passed / packets).toBeLessThan(0.2);
    expect((await service.post("/api/v1/filter-rules", FRIENDS)).status).toBe(200);
    await methodIs("blackhole");
    await flooding;
  }, 120_000);
});
