import { beforeEach, describe, expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { attack, ban } from "../../test/fixtures/views.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { parseAddress } from "../net/address.ts";
import { shownBan } from "./attack-ids.ts";
import { ClusterAttacks } from "./cluster-attacks.ts";

let clock: ManualClock;
let brains: JoinedBrains;
let unread: string[];
let renamed: string[];
let joined: Record<string, ClusterAttacks>;

const at = (name: string) => joined[name] as ClusterAttacks;

/** As a detector does. */
function begin(name: string, more: Partial<Attack> = {}): Attack {
  const { id: _, ...on } = attack(more);
  const made = { ...on, id: at(name).newId(on), startedAt: clock.wallMs() };
  at(name).attackHappened({ kind: "started", attack: made });
  return made;
}

beforeEach(() => {
  clock = new ManualClock();
  brains = new JoinedBrains("brain1", "brain2");
  [joined, unread, renamed] = [{}, [], []];
  for (const name of brains.names) {
    const onUnread = (kind: string, from: string) => unread.push(`${kind} of ${from}`);
    const onRenamed = (ids: ReadonlyMap<string, string>) =>
      renamed.push(`${[...ids].map((pair) => pair.join(" to ")).join(", ")} at ${name}`);
    const timers = new ManualTimers(clock);
    joined[name] = new ClusterAttacks({ peers: brains.of(name), clock, timers, onUnread, onRenamed });
  }
  brains.link("brain1", "brain2");
});

test("an attack that another brain saw before has its id and its start", () => {
  const first = begin("brain2");
  clock.advance(500);
  const second = begin("brain1");
  expect(second.id).toBe(first.id);
  expect(at("brain1").shown(second).startedAt).toBe(first.startedAt);
  expect(begin("brain1", { target: attack().target, direction: "outgoing" }).id).not.toBe(first.id);
});

describe("attacks that begin at once", () => {
  test("are shown with the smaller id at both, by which each finds its own #attack-id", () => {
    const [first, second] = [begin("brain1"), begin("brain2")];
    const agreed: string[] = [];
    at("brain2").whenAgreed(() => agreed.push(at("brain2").shownId(second.id)));
    clock.advance(300);
    expect(first.id < second.id).toBe(true);
    expect([at("brain1").shownId(first.id), at("brain2").shownId(second.id)]).toEqual([first.id, first.id]);
    expect([agreed, at("brain2").ownIdOf(first.id)]).toEqual([[first.id], second.id]);
    expect(renamed).toEqual([`${second.id} to ${first.id} at brain2`]);
    const held = ban({ attackId: second.id, heldBy: [second.id] });
    expect(shownBan(held, at("brain2"))).toMatchObject({ attackId: first.id, heldBy: [first.id] });
  });

  test("keep that id after they ended, at both", () => {
    const [first, second] = [begin("brain1"), begin("brain2")];
    clock.advance(300);
    at("brain1").attackHappened({ kind: "ended", attack: first });
    at("brain2").attackHappened({ kind: "ended", attack: second });
    clock.advance(300);
    expect(at("brain2").shownId(second.id)).toBe(first.id);
    expect(begin("brain2").id).not.toBe(first.id);
  });
});

test("all that get another id by one message are renamed at once", () => {
  brains.cut("brain1", "brain2");
  const targets = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(parseAddress);
  const beginAll = (name: string) => targets.map((target) => begin(name, { target }));
  const [first, second] = [beginAll("brain1"), beginAll("brain2")];
  brains.link("brain1", "brain2");
  clock.advance(300);
  const pairs = second.map(({ id }, i) => `${id} to ${first[i]?.id}`);
  expect(renamed).toEqual([`${pairs.join(", ")} at brain2`]);
});

test("attacks that began in a split are joined after it", () => {
  brains.cut("brain1", "brain2");
  const first = begin("brain2");
  clock.advance(60_000);
  const second = begin("brain1");
  expect(second.id).not.toBe(first.id);
  brains.link("brain1", "brain2");
  clock.advance(100);
  expect(at("brain1").shown(second)).toMatchObject({ id: first.id, startedAt: first.startedAt });
});

test("a prefix that has grown is joined with that of another brain", () => {
  const carpet = (prefix: string) => ({ target: null, carpet: { prefix, hosts: 9 } });
  const first = begin("brain1", carpet("192.0.2.0/25"));
  const second = begin("brain2", carpet("192.0.2.128/25"));
  clock.advance(100);
  expect(at("brain2").shownId(second.id)).toBe(second.id);
  at("brain1").attackHappened({ kind: "lasts", attack: { ...first, ...carpet("192.0.2.0/24") } });
  clock.advance(100);
  expect(at("brain2").shownId(second.id)).toBe(first.id);
});

test("what waits for an agreement is reported in order, and at once when the service stops", () => {
  const reported: number[] = [];
  for (const i of [1, 2]) at("brain1").whenAgreed(() => reported.push(i));
  clock.advance(249);
  expect(reported).toEqual([]);
  clock.advance(1);
  expect(reported).toEqual([1, 2]);
  at("brain1").whenAgreed(() => reported.push(3));
  at("brain1").agreeNow();
  expect(reported).toEqual([1, 2, 3]);
});

test("a message in another form is counted", () => {
  brains.of("brain2").broadcast("attacks", { active: [] });
  expect(unread).toEqual(["attacks of brain2"]);
});
