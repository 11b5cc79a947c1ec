/** What an attack's volume says of each outcome, beside the packets that were sent and those that arrived. */
import { afterEach, describe, expect, test } from "bun:test";
import { eventually } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { type BoxLab, countAttackers, makeBoxLab, THRESHOLD_PPS } from "../lab/scrub/box-lab.ts";
import { VICTIM } from "../lab/scrub/scrub-network.ts";
import { sendFrom } from "../lab/world.ts";

interface Volume {
  readonly packets: number;
  readonly dropped_packets?: number;
  readonly passed_packets?: number;
  readonly dropped_by?: Readonly<Record<string, number>>;
}
interface Attack {
  readonly id: string;
  readonly volume?: Volume;
}

/** Of two sources, as many packets each. */
const [FIRST, SOURCES] = ["198.18.0.2", 2];
const HALF = "{ name: half, action: drop, source: 198.18.0.2/32 }";
const LIMIT = "{ name: limit, action: limit, source: 198.18.0.0/15, mbps: 1 }";
const PACKETS_PER_SECOND = 5 * THRESHOLD_PPS;
/** Of what was sent. */
const ERROR_MAX = 0.02;
const VOLUME_ERROR_MAX = 0.05;

const undo = new Undo();
afterEach(() => undo.all());

const unavailable = namespacesUnavailable();

async function floodedVolume({ attacker, service }: BoxLab, seen: Set<string>): Promise<{ sent: number } & Volume> {
  const { packets: sent } = await sendFrom(attacker, {
    ...{ profile: "udp", target: VICTIM, src: FIRST, sources: SOURCES, path: "socket" },
    ...{ pps: PACKETS_PER_SECOND, seconds: 4 },
  });
  const ended = async () => {
    const { recent } = (await service.get<{ recent: Attack[] }>("/api/v1/attacks")).body;
    return recent.filter(({ id }) => !seen.has(id));
  };
  await eventually(
    async () => (await ended()).length > 0,
    () => `no attack ended:\n${service.output}`,
    20_000,
    200,
  );
  const [attack] = await ended();
  if (attack?.volume === undefined) throw new Error("the attack has no volume");
  seen.add(attack.id);
  return { sent, ...attack.volume };
}

describe.skipIf(unavailable !== null)(`outcomes of a flood: ${unavailable ?? ""}`, () => {
  test.each([
    ["a ban that only counts", '{ tcp: "off", dry_run: true }', false],
    ["a ban that drops", '{ tcp: "off" }', true],
  ])(
    "%s, beside filter rules, a limit and a source block",
    async (_, scrub, drops) => {
      const lab = await makeBoxLab(undo, { scrub });
      const passed = countAttackers(lab);
      const seen = new Set<string>();
      const cases = [
        { more: "", isBlocked: false, causes: [] },
        { more: `filter_rules: [${HALF}]\n`, isBlocked: false, causes: ["filter_rules"] },
        { more: "", isBlocked: true, causes: ["source_blocks"] },
        { more: `filter_rules: [${LIMIT}]\n`, isBlocked: false, causes: ["filter_rules"] },
        { more: `filter_rules: [${LIMIT}]\n`, isBlocked: true, causes: ["filter_rules", "source_blocks"] },
      ];
      for (const { more, isBlocked, causes } of cases) {
        await lab.reload(more);
        const block = { source: FIRST, victim: VICTIM, ttl_seconds: 60 };
        if (isBlocked) expect((await lab.service.post("/api/v1/dataplane/sources", block)).status).toBe(200);
        const before = passed();
        const { sent, ...volume } = await floodedVolume(lab, seen);
        const arrived = passed() - before;
        const figures = JSON.stringify({ more, isBlocked, sent, arrived, ...volume });
        const by = volume.dropped_by ?? {};
        const isNear = (one: number, other: number, most: number) => Math.abs(one - other) <= most * sent;
        const stopped = isNear(volume.dropped_packets ?? Number.NaN, sent - arrived, ERROR_MAX);
        // A sender that begins slowly is below the threshold for some ticks, which are no part of the attack.
        const counted = isNear(volume.packets, sent, VOLUME_ERROR_MAX);
        expect(`${figures} stopped ${stopped} counted ${counted}`).toBe(`${figures} stopped true counted true`);
        // Each cause that is in force dropped some, and nothing else did; what the ban drops depends on what it found.
        const others = Object.keys(by).filter((cause) => !["rules", "limits"].includes(cause));
        expect(`${figures} ${others.sort().join()}`).toBe(`${figures} ${causes.join()}`);
        if (!drops || causes.length === 0)
          expect(`${figures} ${others.length < Object.keys(by).length}`).toBe(`${figures} ${drops}`);
        const sum = Object.values(by).reduce((total, packets) => total + packets, 0);
        expect(Math.abs(sum - (volume.dropped_packets ?? Number.NaN))).toBeLessThanOrEqual(causes.length + 1);
        expect((volume.dropped_packets ?? 0) + (volume.passed_packets ?? 0)).toBe(volume.packets);
        if (isBlocked) await lab.service.post("/api/v1/dataplane/sources/unblock", { source: FIRST, victim: VICTIM });
      }
    },
    180_000,
  );
});
