/** Rules of attacks that change while their kind does not, through the sampler and the ban engine. */
import { expect, test } from "bun:test";
import { attackOn, classified, harness, started, terms, victim } from "../../../test/fixtures/mitigation/ban-engine.ts";
import { ethernet, ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples, SAMPLER_OPTIONS } from "../../../test/fixtures/packets/header-samples.ts";
import type { Attack } from "../../detection/attack/attack.ts";
import { JUDGE_AGAIN_MS } from "../../detection/attack/attack-reading.ts";
import { AttackSampler } from "../../detection/attack/attack-sampler.ts";
import { decodeHeader, type PacketHeader } from "../../traffic/packet-header.ts";
import { attackRules } from "./attack-rules.ts";
import { ruleMatches } from "./match.ts";
import type { Rule } from "./rule.ts";

/** Sends packets to the victim for one second; returns the rules of the ban after it. */
function world() {
  const headers = new FakeHeaderSamples();
  const sampler = new AttackSampler(headers, SAMPLER_OPTIONS);
  const flowspec = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 } as const;
  const termsOf = () => terms({ method: "flowspec", flowspec });
  const observed = (of: Attack) => sampler.observed(of);
  const { engine, announcer } = harness({ termsOf, evidenceWaitMs: 1000 }, { makeRules: attackRules, observed });
  const attack = attackOn();
  sampler.begin(attack, { wallMs: 0, monotonicMs: 0 });
  engine.attacksChanged([started(attack)], 0);
  let at = 20;
  return {
    announcer,
    newest: (port: number) =>
      (sampler.observed(attack)?.packets ?? []).filter(({ header }) => header.ports?.destination === port),
    second: (...frames: Uint8Array[]) => {
      headers.frames = frames.map((frame) => ({ frame, ageMs: 0 }));
      for (const { classification, isNewKind, isFirmer } of sampler.readings({ wallMs: at, monotonicMs: at })) {
        const classified = { ...attack, classification };
        if (classification !== null)
          engine.attackClassified(classified, at, isNewKind || isFirmer ? "reclassified" : "newer");
      }
      at += JUDGE_AGAIN_MS;
      const [ban] = [...engine.active.values()];
      return ban?.measure.kind === "flowspec" ? ban.measure.rules : [];
    },
  };
}

const answer = (destinationPort: number, bytes = 1200) =>
  ethernet(
    ip({ src: "198.51.100.1", dst: victim }, udp({ sourcePort: 53, destinationPort, payload: new Uint8Array(bytes) })),
  );
const answers = (destinationPort: number) => new Array<Uint8Array>(300).fill(answer(destinationPort));
const visit = (sourcePort: number) =>
  ethernet(ip({ src: "198.51.100.9", dst: victim }, udp({ sourcePort, destinationPort: 443 })));

test("ports that an attack moves on to are in its rules a second later", () => {
  const { second, newest } = world();
  for (let port = 20_000; port < 20_010; port++) {
    second(...answers(port));
    const rules = second(...answers(port));
    expect(newest(port).length).toBeGreaterThan(0);
    const isMatched = newest(port).map(({ header }) => rules.some((rule) => ruleMatches(rule, header)));
    expect(isMatched).not.toContain(false);
  }
});

test("answers that move from port to port are separated by their length", () => {
  const { second, newest } = world();
  second(...answers(20_000));
  const [first] = second(...answers(20_000));
  expect(first).toMatchObject({ destinationPorts: [], packetLengths: [{ from: 1228, to: 1228 }] });
  expect(second(...answers(30_000))).toEqual([first as Rule]);
  expect(newest(30_000).length).toBeGreaterThan(0);
});

test("answers that move in their length, too, are matched wherever they go then", () => {
  const { second } = world();
  const flood = (port: number, bytes: number) => new Array<Uint8Array>(300).fill(answer(port, bytes));
  const moves = [
    [20_000, 1200],
    [20_001, 900],
    [20_002, 1100],
    [20_003, 700],
    [20_004, 1472],
    [20_005, 800],
  ] as const;
  let rules: readonly Rule[] = [];
  const missed: number[] = [];
  for (const [port, bytes] of moves) {
    const header = decodeHeader(answer(port, bytes)) as PacketHeader;
    if (!rules.some((rule) => ruleMatches(rule, header))) missed.push(bytes);
    for (let i = 0; i < 3; i++) rules = second(...flood(port, bytes));
  }
  // The first move is a change.
  expect(missed).toEqual([1200, 900]);
  expect(rules.length).toBeLessThanOrEqual(3);
});

test("a flood of one length that moves from port to port is matched by its length", () => {
  const { second } = world();
  const packet = (port: number) =>
    ethernet(
      ip(
        { src: "198.51.100.1", dst: victim },
        udp({ sourcePort: 4000, destinationPort: port, payload: new Uint8Array(500) }),
      ),
    );
  let rules: readonly Rule[] = [];
  const missed: number[] = [];
  for (let port = 20_000; port < 20_008; port++) {
    const header = decodeHeader(packet(port)) as PacketHeader;
    if (!rules.some((rule) => ruleMatches(rule, header))) missed.push(port);
    for (let i = 0; i < 6; i++) rules = second(...new Array<Uint8Array>(300).fill(packet(port)));
  }
  expect(missed).toEqual([20_000, 20_001]);
});

test("traffic beside the attack that rules rightly miss changes none of them", () => {
  const { second, announcer } = world();
  const beside = (at: number) => Array.from({ length: 150 }, (_, i) => visit(40_000 + 150 * at + i));
  for (let i = 0; i < 3; i++) second(...answers(20_000), ...beside(i));
  const { calls } = announcer;
  for (let i = 3; i < 10; i++) second(...answers(20_000), ...beside(i));
  expect(announcer.calls).toBe(calls);
});

test("an attack that no rule separates has none, and is looked at again only with newer packets", () => {
  let made = 0;
  const flowspec = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 } as const;
  const termsOf = () => terms({ method: "flowspec", flowspec, ban: { fallback: "none" } });
  const separability = { verdict: "no", usersAtRisk: 1, estimatedBy: "profile" } as const;
  const makeRules = () => ({ rules: [], matchesAll: false, separability, made: made++ }) as const;
  const { engine } = harness({ termsOf, evidenceWaitMs: 1000 }, { makeRules });
  const attack = classified(attackOn(), "tcp_flood");
  engine.attacksChanged([started(attack)], 0);
  engine.attackClassified(attack, 20);
  const before = made;
  for (let ms = 100; ms < 1000; ms += 100) engine.tick(ms);
  expect(made).toBe(before);
  engine.attackClassified(attack, 1020, "newer");
  expect(made).toBe(before + 1);
  const [ban] = [...engine.active.values()];
  expect(ban?.measure).toMatchObject({ kind: "flowspec", rules: [], separability });
});
