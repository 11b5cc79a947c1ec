/** Two ban engines that say to each other which bans they have. */
import { describe, expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { attackOn, classified, harness, under, victim } from "../../test/fixtures/mitigation/ban-engine.ts";
import type { Attack } from "../detection/attack/attack.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { BanEngine } from "../mitigation/ban-engine.ts";
import type { RuleMaker } from "../mitigation/circumstances.ts";
import type { MitigationPolicy } from "../mitigation/policy.ts";
import { ruleText, wideRule } from "../mitigation/rules/rule.ts";
import { exactly } from "../net/range.ts";
import { ClusterBans, TRIED_MS } from "./cluster-bans.ts";

const NAMES = ["brain1", "brain2"] as const;
type Name = (typeof NAMES)[number];

let clock: ManualClock;
let brains: JoinedBrains;
let unread: string[];
let engines: Record<Name, BanEngine>;
/** The brain that holds the lease. */
let holder: Name;
/** Ports of the rules that each finds, and those that it accepts from others. */
let ports: Record<Name, number>;
let accepts: Record<Name, boolean>;
/** How long the attack has not been held. */
let overMs: number;
/** As the clock of brain1 is read. */
let onTime: () => number;

function begin(policy: Partial<MitigationPolicy> = {}): void {
  clock = new ManualClock();
  brains = new JoinedBrains(...NAMES);
  [unread, holder, overMs, onTime] = [[], "brain1", 0, () => 0];
  [ports, accepts] = [
    { brain1: 1, brain2: 2 },
    { brain1: true, brain2: true },
  ];
  engines = Object.fromEntries(NAMES.map((name) => [name, engineOf(name, policy)])) as Record<Name, BanEngine>;
  brains.link("brain1", "brain2");
}

function engineOf(name: Name, policy: Partial<MitigationPolicy>): BanEngine {
  const foreign = new ClusterBans({
    ...{ peers: brains.of(name), timers: new ManualTimers(clock), lease: { holds: () => holder === name } },
    clock: {
      wallMs: () => clock.wallMs() + (name === "brain1" ? onTime() : 0),
      monotonicMs: () => clock.monotonicMs(),
    },
    onUnread: (kind, from) => unread.push(`${kind} of ${from}`),
  });
  const makeRules: RuleMaker = (prefix, _attacks, { action }, present) => {
    const own = { ...wideRule(prefix, action), protocols: exactly(17), sourcePorts: exactly(ports[name]) };
    const isGood = present.length > 0 && (accepts[name] || ruleText(present[0] ?? own) === ruleText(own));
    const rules = isGood ? present : [own];
    return { rules, matchesAll: false, separability: { verdict: "yes", usersAtRisk: 0, estimatedBy: "profile" } };
  };
  const onChange = (ban: Ban, previous: Ban | null) => foreign.banChanged({ ban, previous });
  return harness(policy, { foreign, makeRules, onChange, overThresholdMs: () => overMs, newId: () => `ban of ${name}` })
    .engine;
}

const attacked = (name: Name, attack: Attack = classified(attackOn(victim), "udp_flood")) => {
  engines[name].attacksChanged([{ kind: "started", attack }], clock.wallMs());
  clock.advance(50);
  return attack;
};
const newer = (name: Name, attack: Attack) => {
  engines[name].attackClassified(attack, clock.wallMs(), "newer");
  clock.advance(50);
};
const tick = () => {
  for (const name of NAMES) {
    engines[name].tick(clock.wallMs());
    clock.advance(50);
  }
};
const pass = (ms: number) => {
  clock.advance(ms);
  tick();
};
const banAt = (name: Name) => [...engines[name].active.values()][0] as Ban;
const portOf = (name: Name) => {
  const { measure } = banAt(name);
  return measure.kind === "flowspec" ? measure.rules[0]?.sourcePorts[0]?.from : undefined;
};

describe("bans of one prefix", () => {
  test("expire as the one that lasts longest, whatever the clocks show", () => {
    begin(under({ ban: { ttlSeconds: 60 } }));
    attacked("brain1");
    clock.advance(30_000);
    attacked("brain2");
    tick();
    const left = NAMES.map((name) => Math.round((banAt(name).expiresAt - clock.wallMs()) / 1000));
    expect(left).toEqual([60, 60]);
    expect(NAMES.map((name) => banAt(name).id)).toEqual(["ban of brain1", "ban of brain2"]);
  });

  test("do not prolong each other without end", () => {
    begin(under({ ban: { ttlSeconds: 60 } }));
    for (const name of NAMES) attacked(name);
    for (let i = 0; i < 200; i++) tick();
    expect(NAMES.map((name) => engines[name].active.size)).toEqual([1, 1]);
    clock.advance(45_000);
    tick();
    expect(NAMES.map((name) => engines[name].active.size)).toEqual([0, 0]);
  });

  test("do not prolong each other by the time that messages take", () => {
    begin(under({ ban: { ttlSeconds: 60 } }));
    brains.post = (deliver, from) => {
      if (from === "brain1") deliver();
      else new ManualTimers(clock).after(1500, deliver);
    };
    for (const name of NAMES) {
      attacked(name);
      clock.advance(2000);
    }
    for (let i = 0; i < 70; i++) pass(1000);
    expect(NAMES.map((name) => engines[name].active.size)).toEqual([0, 0]);
  });

  test("do not prolong each other by a step of a clock that is noticed only as they are said", () => {
    begin(under({ ban: { ttlSeconds: 60 } }));
    for (const name of NAMES) attacked(name);
    brains.cut("brain1", "brain2");
    const stepMs = -3_600_000;
    onTime = () => {
      onTime = () => stepMs;
      engines.brain1.clockStepped(stepMs, clock.wallMs() + stepMs);
      return stepMs;
    };
    brains.link("brain1", "brain2");
    engines.brain2.tick(clock.wallMs());
    expect(Math.round((banAt("brain2").expiresAt - clock.wallMs()) / 1000)).toBe(60);
  });

  test("say which time they have by themselves, without what they took over", () => {
    begin(under({ ban: { ttlSeconds: 60 } }));
    attacked("brain1");
    clock.advance(30_000);
    attacked("brain2");
    tick();
    const said: { active: { expires_in_ms: number; own: { expires_in_ms: number } }[] }[] = [];
    brains.of("brain2").on("bans", (_, body) => said.push(body as never));
    brains.cut("brain1", "brain2");
    brains.link("brain1", "brain2");
    const seconds = said
      .at(-1)
      ?.active.map((row) => [row.expires_in_ms, row.own.expires_in_ms].map((ms) => Math.round(ms / 1000)));
    expect(seconds).toEqual([[60, 30]]);
  });

  test("are held as that of the brain that saw the repetition", () => {
    begin(under({ ban: { repeatWindowSeconds: 600 } }));
    const first = attacked("brain1");
    engines.brain1.attacksChanged([{ kind: "ended", attack: { ...first, endedAt: clock.wallMs() } }], clock.wallMs());
    clock.advance(50);
    attacked("brain1", { ...first, id: "again" });
    attacked("brain2", { ...first, id: "again" });
    tick();
    expect(NAMES.map((name) => banAt(name).repeat)).toEqual([1, 1]);
    expect(banAt("brain2").holdUntil).toBeGreaterThan(clock.wallMs() + 299_000);
  });

  test("end by themselves: each brain decides alone", () => {
    begin();
    const attack = attacked("brain1");
    attacked("brain2");
    engines.brain2.attacksChanged([{ kind: "ended", attack: { ...attack, endedAt: 1 } }], clock.wallMs());
    tick();
    expect(NAMES.map((name) => engines[name].active.size)).toEqual([1, 0]);
  });
});

describe("the rung", () => {
  const ladder = [
    { afterSeconds: 0, action: "flowspec" },
    { afterSeconds: 10, action: "divert" },
    { afterSeconds: 20, action: "blackhole" },
  ] as const;

  test("is the hardest of both", () => {
    begin(under({ ladder }));
    attacked("brain1");
    clock.advance(12_000);
    attacked("brain2");
    expect(banAt("brain2").step).toBe(0);
    tick();
    tick();
    expect(NAMES.map((name) => banAt(name).step)).toEqual([1, 1]);
  });

  test("goes back when the holder of the lease decides it, at both, and not when another one would", () => {
    const waits = [ladder[0], { ...ladder[1], afterSeconds: 1, unlessHeld: true }];
    begin(under({ ladder: waits, ban: { deescalateAfterSeconds: 60, ttlSeconds: 100_000 } }));
    const attack = classified(attackOn(victim), "udp_flood");
    for (const name of NAMES) attacked(name, attack);
    overMs = 10_000;
    for (let i = 0; i < 8; i++) pass(1000);
    expect(NAMES.map((name) => banAt(name).step)).toEqual([1, 1]);
    overMs = 0;
    const calm = (name: Name) => {
      const change = { kind: "lasts", attack: { ...attack, calmSinceMs: 1 } } as const;
      engines[name].attacksChanged([change], clock.wallMs());
    };
    calm("brain2");
    for (let i = 0; i < 10; i++) pass(10_000);
    expect(NAMES.map((name) => banAt(name).step)).toEqual([1, 1]);
    holder = "brain2";
    for (let i = 0; i < 3; i++) pass(10_000);
    expect(NAMES.map((name) => banAt(name).step)).toEqual([0, 0]);
  });
});

test("a ban is said in a readable form, however long its hold is over", () => {
  begin();
  attacked("brain1");
  brains = new JoinedBrains(...NAMES);
  const [one] = NAMES.map((name) => {
    const onUnread = (kind: string, from: string) => unread.push(`${kind} of ${from}`);
    const lease = { holds: () => true };
    return new ClusterBans({ peers: brains.of(name), clock, timers: new ManualTimers(clock), lease, onUnread });
  });
  const holdUntil = clock.wallMs() - 2 * 86_400_000;
  one?.banChanged({ ban: { ...banAt("brain1"), repeat: 1, holdUntil }, previous: null });
  brains.link("brain1", "brain2");
  expect(unread).toEqual([]);
});

describe("rules", () => {
  const flowspec = under({ method: "flowspec", ladder: [{ afterSeconds: 0, action: "flowspec" }] });

  test("are those that were found first, while they are good enough", () => {
    begin(flowspec);
    attacked("brain2");
    clock.advance(1000);
    attacked("brain1");
    expect(NAMES.map(portOf)).toEqual([2, 2]);
  });

  test("that both found at once become those of the first name", () => {
    begin(flowspec);
    brains.cut("brain1", "brain2");
    const attack = classified(attackOn(victim), "udp_flood");
    for (const name of NAMES) engines[name].attacksChanged([{ kind: "started", attack }], clock.wallMs());
    brains.link("brain1", "brain2");
    expect(NAMES.map(portOf)).toEqual([1, 2]);
    for (const name of NAMES) newer(name, attack);
    expect(NAMES.map(portOf)).toEqual([1, 1]);
  });

  test("that do not match the own packets are tried for some seconds, then the own ones stay", () => {
    begin(flowspec);
    accepts.brain1 = false;
    attacked("brain2");
    clock.advance(1000);
    const attack = attacked("brain1");
    newer("brain1", attack);
    expect(NAMES.map(portOf)).toEqual([1, 2]);
    clock.advance(TRIED_MS);
    accepts.brain1 = true;
    newer("brain1", attack);
    expect(NAMES.map(portOf)).toEqual([1, 2]);
  });

  test("of a brain out of reach stay until its ban is over", () => {
    begin(flowspec);
    attacked("brain2");
    brains.cut("brain1", "brain2");
    clock.advance(1000);
    attacked("brain1");
    expect(portOf("brain1")).toBe(2);
  });

  test("that cannot be read are counted, the times of the ban are taken", () => {
    begin(flowspec);
    const row = {
      prefix: `${victim}/32`,
      expires_in_ms: 900_000,
      repeat: 2,
      step: 0,
      eases: 0,
      rules: [{ proto: 999 }],
    };
    brains.of("brain2").broadcast("bans", { is_first: true, active: [row], ended: [] });
    brains.of("brain2").broadcast("bans", { active: 7 });
    expect(unread).toEqual(["bans of brain2", "bans of brain2"]);
    attacked("brain1");
    expect([portOf("brain1"), banAt("brain1").repeat]).toEqual([1, 2]);
  });
});
