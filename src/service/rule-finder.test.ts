import { afterEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { ruleRequest } from "../../test/fixtures/mitigation/rule-requests.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { Undo } from "../../test/fixtures/undo.ts";
import type { FoundRequest, RuleRequest } from "../mitigation/circumstances.ts";
import { attackRules } from "../mitigation/rules/attack-rules.ts";
import { rulesText } from "../mitigation/rules/rule.ts";
import { messageOf } from "../system/error-message.ts";
import { nextTurn } from "../system/timers.ts";
import { ANSWER_MS, RESTART_MS } from "./finder-thread.ts";
import { RuleFinder } from "./rule-finder.ts";

const undo = new Undo();
afterEach(() => undo.all());

/** @param code of the threads; absent: that of the service, in as many as it has. */
function world(code?: string, threads = 1) {
  const clock = new ManualClock();
  const found: FoundRequest[] = [];
  const faults: string[] = [];
  const threadFaults: string[] = [];
  const waited: number[] = [];
  const finder = new RuleFinder({
    timers: new ManualTimers(clock),
    clock,
    onFound: (answers) => found.push(...answers),
    onFault: (cause) => faults.push(messageOf(cause)),
    onThreadFault: (cause) => threadFaults.push(messageOf(cause)),
    onWaited: (ms) => waited.push(ms),
    ...(code !== undefined && { code: fileOf(code), threads }),
  });
  undo.add(() => finder.stop());
  const ask = ({ prefix, attacks, flowspec, present }: RuleRequest) => finder.make(prefix, attacks, flowspec, present);
  const victims = () => found.map(({ request }) => request.prefix.text).sort();
  return { clock, finder, found, faults, threadFaults, waited, ask, victims };
}

function fileOf(code: string): URL {
  const path = join(undo.folder("finder"), "thread.ts");
  writeFileSync(path, code);
  return pathToFileURL(path);
}

const VICTIMS = Array.from({ length: 40 }, (_, i) => `192.0.2.${i + 1}`);
const PREFIXES = VICTIMS.map((victim) => `${victim}/32`).sort();

describe("rules that are found in a thread", () => {
  test("are those that the event loop would find, of each attack once", async () => {
    const { finder, found, faults, threadFaults, waited, ask, victims } = world();
    finder.start();
    for (const victim of VICTIMS) expect(ask(ruleRequest({ victim }))).toBeNull();
    await eventually(() => found.length >= VICTIMS.length, "rules are missing");
    expect(victims()).toEqual(PREFIXES);
    for (const { request, found: rules } of found) {
      const { prefix, attacks, flowspec, present } = request;
      expect(rulesText(rules.rules)).toBe(rulesText(attackRules(prefix, attacks, flowspec, present).rules));
    }
    expect([finder.waiting, faults, threadFaults]).toEqual([0, [], []]);
    expect(waited).toHaveLength(VICTIMS.length);
  });

  test("are found at once where no packets are sampled, and while it is not started", () => {
    const { finder, ask } = world();
    const { attacks, ...request } = ruleRequest();
    expect(ask({ ...request, attacks })?.rules).toHaveLength(1);
    finder.start();
    const unseen = attacks.map(({ attack }) => ({ attack, packets: [], profile: null }));
    expect(ask({ ...request, attacks: unseen })?.rules).toHaveLength(1);
  });

  test("that cannot be made are reported, and the others are given", async () => {
    const { finder, found, faults, ask } = world(
      `self.onmessage = ({ data }) => postMessage(data.map((_, i) => i === 0 ? { failed: "no" } : { found: { rules: [] } }));`,
    );
    finder.start();
    ask(ruleRequest({ victim: "192.0.2.1", pps: 2000 }));
    ask(ruleRequest({ victim: "192.0.2.2" }));
    ask(ruleRequest({ victim: "192.0.2.3" }));
    await eventually(() => found.length + faults.length >= 3, "answers are missing");
    expect(faults).toContain("the rules of 192.0.2.1/32 were not found: no");
  });
});

/** A thread that finds no rules, and hangs at a message for which this holds. */
const answersUnless = (condition: string) => `self.onmessage = ({ data }) => {
  while (${condition});
  postMessage(data.map(() => ({ found: { rules: [] } })));
};`;

describe("a thread that fails", () => {
  const fails = `self.onmessage = () => { throw new Error("broken"); };`;

  test("loses nothing: the event loop finds the rules, and another one starts after a while", async () => {
    const { clock, finder, found, threadFaults, ask, victims } = world(fails);
    finder.start();
    for (const victim of VICTIMS) ask(ruleRequest({ victim }));
    await eventually(() => found.length >= VICTIMS.length, "rules are missing");
    expect(victims()).toEqual(PREFIXES);
    expect(threadFaults).toHaveLength(1);
    expect(threadFaults[0]).toContain("the thread that finds rules failed");
    clock.advance(RESTART_MS);
    ask(ruleRequest({ victim: "198.51.100.1" }));
    await eventually(() => threadFaults.length === 2 && found.length > VICTIMS.length, "no second thread");
    expect(victims()).toContain("198.51.100.1/32");
  });

  test("to answer does not hold up what others find", async () => {
    const { finder, found, threadFaults, ask, victims } = world(
      answersUnless(`data[0].prefix.text === "192.0.2.1/32"`),
      2,
    );
    finder.start();
    for (const victim of VICTIMS) ask(ruleRequest({ victim }));
    // The first thread has the first attack, and one more waits behind it.
    await eventually(() => found.length === VICTIMS.length - 2, "rules are missing");
    expect([victims().includes("192.0.2.1/32"), threadFaults]).toEqual([false, []]);
  });

  test("by its end does the same, also where it is each thread after the other", async () => {
    const { finder, found, faults, threadFaults, ask } = world(`self.onmessage = () => process.exit(0);`, 2);
    finder.start();
    ask(ruleRequest());
    await eventually(() => found.length === 1, "the rules are missing");
    const ended = "the thread that finds rules ended";
    expect([threadFaults, faults]).toEqual([[ended, ended], []]);
  });

  test("because it does not answer is ended", async () => {
    const { clock, finder, found, threadFaults, ask } = world("self.onmessage = () => { for (;;); };");
    finder.start();
    ask(ruleRequest());
    clock.advance(ANSWER_MS - 1);
    expect(threadFaults).toEqual([]);
    clock.advance(1);
    expect(threadFaults).toEqual(["the thread that finds rules does not answer"]);
    await eventually(() => found.length === 1, "the rules are missing");
  });

  test("to answer a message does not end the other one by it: each of its attacks is looked for alone", async () => {
    const { clock, finder, found, faults, threadFaults, ask } = world(answersUnless("data.length > 1"), 2);
    finder.start();
    for (const victim of VICTIMS.slice(0, 8)) ask(ruleRequest({ victim }));
    // Both have had two attacks, each in a message; the others are one message.
    await eventually(() => found.length === 4, "rules are missing");
    clock.advance(ANSWER_MS);
    await eventually(() => found.length === 8, "rules are missing");
    expect([threadFaults.length, faults]).toEqual([1, []]);
  });

  test("to answer for an attack ends both threads once, and the attack is reported", async () => {
    const slow = "192.0.2.1/32";
    const { clock, finder, found, faults, threadFaults, ask, victims } = world(
      answersUnless(`data.some(({ prefix }) => prefix.text === "${slow}")`),
      2,
    );
    finder.start();
    for (const victim of VICTIMS.slice(0, 3)) ask(ruleRequest({ victim }));
    for (const others of [1, 2]) {
      await eventually(() => found.length === others, "rules are missing");
      clock.advance(ANSWER_MS);
      expect(threadFaults).toHaveLength(others);
    }
    expect(faults).toEqual([`the rules of ${slow} were not found: the thread that finds rules does not answer`]);
    expect(victims()).toEqual(["192.0.2.2/32", "192.0.2.3/32"]);
    clock.advance(3 * ANSWER_MS);
    expect([threadFaults.length, finder.waiting]).toEqual([2, 0]);
  });

  test("is not started again after a stop, which leaves no timer", async () => {
    const { clock, finder, threadFaults, ask, found } = world(fails);
    finder.start();
    ask(ruleRequest());
    await eventually(() => threadFaults.length === 1 && found.length === 1, "it did not fail");
    finder.stop();
    expect(clock.pending).toBe(0);
    expect(ask(ruleRequest())?.rules).toHaveLength(1);
  });

  test("with answers on their way is stopped without them", async () => {
    const { clock, finder, found, ask } = world();
    finder.start();
    for (const victim of VICTIMS) ask(ruleRequest({ victim }));
    finder.stop();
    expect(clock.pending).toBe(0);
    await nextTurn();
    expect(found).toEqual([]);
  });
});
