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
/** What the operator lets pass is dropped by no ban. */
const FRIENDS = "filter_rules: [{ name: friends, action: pass, source: 198.18.0.0/15 }]\n";

interface Attack {
  readonly volume?: { readonly packets: number; readonly passed_packets?: number };
}

const undo = new Undo();
afterEach(() => undo.all());

const unavailable = namespacesUnavailable();

describe.skipIf(unavailable !== null)(`a rung for attacks that are not held: ${unavailable ?? ""}`, () => {
  test.each([
    ["stays where the rung before holds it", "", "scrub"],
    ["is climbed where it gets through", FRIENDS, "blackhole"],
  ])(
    "%s",
    async (_, rules, method) => {
      const { attacker, service, bans } = await makeBoxLab(undo, { scrub: "{ tcp: reset }", more: LADDER + rules });
      const flooding = sendFrom(attacker, {
        ...{ profile: "syn", target: VICTIM, sources: 60_000, src: "198.18.0.1", path: "socket" },
        ...{ pps: 5 * THRESHOLD_PPS, seconds: method === "scrub" ? 7 : 11 },
      });
      const seen: string[] = [];
      const look = async () => {
        const [ban] = await bans();
        if (ban !== undefined && seen.at(-1) !== ban.method) seen.push(ban.method);
        return seen.at(-1) === method;
      };
      await eventually(look, () => `not ${method}, but ${seen.join()}:\n${service.output}`, 11_000, 200);
      await flooding;
      await look();
      // What is sent back to its sources did not get through either.
      const { active, recent } = (await service.get<{ active: Attack[]; recent: Attack[] }>("/api/v1/attacks")).body;
      const { packets = 1, passed_packets: passed = packets } = [...active, ...recent][0]?.volume ?? {};
      expect(passed / packets < 0.2).toBe(method === "scrub");
      expect(seen).toEqual(method === "scrub" ? ["scrub"] : ["scrub", "blackhole"]);
    },
    120_000,
  );
});
