/**
 * Two whole services that see the same packets, each its own process, over real TLS: one attack has one id, each event is
 * notified once, and a node that polls one of them is alive at both.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { IncidentsWire } from "../../src/http/wire/incident.ts";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { Authority } from "../fixtures/cluster/authority.ts";
import { JoinedServices, NodePoller } from "../fixtures/cluster/joined-services.ts";
import { BRAINS, type BrainName } from "../fixtures/cluster/service-pair.ts";
import { datagram } from "../fixtures/replay-command.ts";
import { eventually } from "../fixtures/service.ts";

const VICTIM = "192.0.2.7";
const NETWORK = `
networks: [192.0.2.0/24]
thresholds: {pps: 1000, mbps: 1000, flows_per_sec: 100000}
ban: {unban_hysteresis_seconds: 3}
`;
const STALE_S = 5;
/** Beside it nothing is diverted. */
const SCRUBBING = `
scrubbing: {stale_after_seconds: ${STALE_S}, on_all_nodes_lost: withdraw, nodes: [{name: s1, next_hop: 198.51.100.1}]}
`;

let authority: Authority;
let pair: JoinedServices;
let poller: NodePoller | null = null;

beforeAll(() => {
  authority = new Authority();
  for (const name of BRAINS) authority.issue(name);
});
afterAll(() => authority.remove());
afterEach(async () => {
  await poller?.stop();
  poller = null;
  await pair.stop();
}, 60_000);

/** Quiet for this time, then a flood of 3000 packets a second, then a calm. */
async function flood(quietSeconds: number, seconds: number): Promise<string> {
  const startMs = 1_700_000_000_000;
  const at = (s: number) => startMs + s * 1000;
  const calm = (fromS: number, forS: number) =>
    evenly(new Array<Uint8Array>(forS * 10).fill(datagram("192.0.2.200")), { startMs: at(fromS), stepMs: 100 });
  const attack = evenly(new Array<Uint8Array>(seconds * 3000).fill(datagram(VICTIM)), {
    startMs: at(quietSeconds),
    stepMs: 1 / 3,
  });
  const path = authority.path("flood.pcap");
  await Bun.write(path, pcapBytes([...calm(0, quietSeconds), ...attack, ...calm(quietSeconds + seconds, 30)]));
  return `capture: { pcap_file: ${path}, pace: real }\n`;
}

interface AttackRow {
  readonly id: string;
  readonly started_at: string;
}
type AttackRows = Readonly<Record<"active" | "recent", readonly AttackRow[]>>;
const attacksAt = async (brain: BrainName) => {
  const { active, recent } = await pair.get<AttackRows>(brain, "attacks");
  return [...active, ...recent];
};
const both = <T>(ask: (brain: BrainName) => Promise<T>) => Promise.all(BRAINS.map(ask));
const received = (count: number, deadlineMs = 30_000) =>
  eventually(
    () => pair.hook.events.length >= count,
    () => `received: ${pair.hook.said.join(", ")}\n${pair.services.brain1.output}\n${pair.services.brain2.output}`,
    deadlineMs,
  );

const incidentsAt = async (brain: BrainName) => (await pair.get<IncidentsWire>(brain, "incidents")).incidents;

interface AuditRow {
  readonly action: string;
  readonly source: string;
  readonly target: string;
  readonly operator?: string;
  readonly result: string;
}
const trailAt = async (brain: BrainName) => {
  const { events } = await pair.get<{ events: readonly AuditRow[] }>(brain, "audit");
  return events
    .map(({ action, source, target, operator = "", result }) =>
      [action, source, target, operator, result].filter((text) => text !== "").join(" "),
    )
    .toSorted();
};

describe("an attack that both see", () => {
  test("has one id and one start, is notified once, and is once in both audit trails, beside the orders of a split", async () => {
    pair = await JoinedServices.start(authority, NETWORK + SCRUBBING + (await flood(12, 4)));
    await pair.post("brain1", "ban", { ip: "192.0.2.8" });
    await pair.apart();
    await pair.post("brain2", "ban", { ip: "192.0.2.9" });
    await pair.healed();
    const ofAttack = () => pair.hook.events.filter(({ attack, ban }) => attack !== undefined || ban?.target === VICTIM);
    await eventually(
      () => ofAttack().length >= 4,
      () => `received: ${pair.hook.said.join(", ")}\n${pair.services.brain1.output}\n${pair.services.brain2.output}`,
      60_000,
    );
    // Whatever would be repeated is by then.
    await Bun.sleep(3000);
    expect(
      ofAttack()
        .map(({ event }) => event)
        .toSorted(),
    ).toEqual(["attack_ended", "attack_started", "ban_active", "ban_withdrawn"]);
    const [[first], [second]] = (await both(attacksAt)) as [AttackRow[], AttackRow[]];
    expect([first?.id, first?.started_at]).toEqual([second?.id, second?.started_at]);
    const ids = ofAttack().flatMap(({ attack }) => attack?.id ?? []);
    expect(ids).toEqual([first?.id ?? "", first?.id ?? ""]);
    for (const shown of await both((brain) => pair.get<AttackRow>(brain, `attacks/${ids[0]}`)))
      expect(shown.id).toBe(first?.id ?? "");
    const expected = [
      `ban auto ${VICTIM} active`,
      "ban api 192.0.2.8 noc active",
      "ban api 192.0.2.9 noc active",
      `unban auto ${VICTIM} withdrawn`,
    ].toSorted();
    let trails: readonly string[][] = [];
    await eventually(
      async () => {
        trails = await both(trailAt);
        return trails.every((rows) => rows.length >= expected.length);
      },
      () => `${JSON.stringify(trails)}\n${pair.services.brain2.output}`,
      30_000,
    );
    expect(trails).toEqual([expected, expected]);
    const [id = ""] = (await incidentsAt("brain1")).map((incident) => incident.id);
    await pair.post("brain1", `incidents/${id}`, { acknowledge: true });
    await pair.post("brain2", `incidents/${id}/notes`, { text: "seen" });
    let incidents: unknown;
    await eventually(
      async () => {
        const found = await both(incidentsAt);
        incidents = found;
        return found.every(
          ([one, ...others]) =>
            one?.id === id && one.acknowledged !== undefined && one.note_count === 1 && others.length === 0,
        );
      },
      () => JSON.stringify(incidents),
    );
  }, 90_000);

  test("in a split is notified by both, with one id for each after it", async () => {
    pair = await JoinedServices.start(authority, NETWORK + SCRUBBING + (await flood(24, 12)));
    await pair.apart();
    await eventually(async () => (await both(attacksAt)).every((rows) => rows.length === 1), "no attack", 40_000);
    await received(4);
    expect(pair.hook.said.toSorted()).toEqual([
      ...["attack_started by brain1", "attack_started by brain2"],
      ...["ban_active by brain1", "ban_active by brain2"],
    ]);
    await pair.healed();
    let shown: unknown;
    await eventually(
      async () => {
        const [[first], [second]] = (await both(attacksAt)) as [AttackRow[], AttackRow[]];
        shown = [first, second].map((row) => [row?.id, row?.started_at]);
        return first !== undefined && first.id === second?.id && first.started_at === second.started_at;
      },
      () => `the attacks are not joined: ${JSON.stringify(shown)}`,
    );
    await received(6);
    await Bun.sleep(3000);
    // By whichever saw them half a second before the other one.
    expect(
      pair.hook.events
        .slice(4)
        .map(({ event }) => event)
        .toSorted(),
    ).toEqual(["attack_ended", "ban_withdrawn"]);
  }, 90_000);
});

describe("the death of the brain that notifies", () => {
  test("before it has: the other one does, once, 15 s later", async () => {
    pair = await JoinedServices.start(authority, NETWORK + SCRUBBING);
    // Both know who notifies.
    await pair.post("brain2", "ban", { ip: "192.0.2.8" });
    await received(1);
    pair.hook.unanswered.add("brain1");
    await pair.post("brain2", "ban", { ip: VICTIM });
    await Bun.sleep(3000);
    pair.services.brain1.signal("SIGKILL");
    await received(2);
    await pair.post("brain2", "unban", { ip: VICTIM });
    await received(3);
    await Bun.sleep(2000);
    expect(pair.hook.events.map(({ event, by, ban }) => `${event} of ${ban?.target} by ${by}`)).toEqual([
      "ban_active of 192.0.2.8 by brain1",
      `ban_active of ${VICTIM} by brain2`,
      `ban_withdrawn of ${VICTIM} by brain2`,
    ]);
    expect(new Set(pair.hook.events.map(({ id }) => id)).size).toBe(3);
  }, 60_000);
});

describe("a scrub node that polls one brain", () => {
  const waitFor = (brain: BrainName, expected: object) => {
    let last: object = {};
    return eventually(
      async () => {
        last = (await pair.node(brain)) ?? {};
        return Bun.deepMatch(expected, last);
      },
      () => `${brain}: ${JSON.stringify(last)}, expected ${JSON.stringify(expected)}`,
      20_000,
    );
  };

  test("is alive at both, and unknown at the other one while that is out of reach: bans stay", async () => {
    pair = await JoinedServices.start(authority, `${NETWORK}${SCRUBBING}mitigation: divert\n`);
    poller = new NodePoller(pair, "brain2");
    await waitFor("brain1", { alive: true, holding: false });
    const ban = await pair.post<BanWire>("brain1", "ban", { ip: VICTIM });
    expect(ban).toMatchObject({ state: "active", method: "divert" });
    await pair.apart();
    await waitFor("brain1", { alive: false, unknown: true });
    await Bun.sleep(1000 * (STALE_S + 1));
    const { bans } = await pair.get<{ bans: readonly BanWire[] }>("brain1", "bans");
    expect(bans).toMatchObject([{ target: VICTIM, state: "active", method: "divert" }]);
    expect(await pair.node("brain1")).toMatchObject({ unknown: true, active_bans: 1 });
    await pair.healed();
    await waitFor("brain1", { alive: true });
    expect("unknown" in ((await pair.node("brain1")) ?? {})).toBe(false);
    await poller.stop();
    await waitFor("brain1", { alive: false });
    expect("unknown" in ((await pair.node("brain1")) ?? {})).toBe(false);
    await eventually(async () => {
      const { bans: after } = await pair.get<{ bans: readonly BanWire[] }>("brain1", "bans");
      return after[0]?.state === "withdrawn" && after[0].reason === "all scrubbing nodes lost";
    }, "the ban is still there");
  }, 60_000);
});
