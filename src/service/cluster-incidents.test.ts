/** Incidents of two brains, each with its own attacks, over links that a test cuts. */
import { beforeEach, describe, expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { IncidentWorld } from "../../test/fixtures/incident-world.ts";
import { MemoryState, memoryStore } from "../../test/fixtures/storage/memory-state.ts";
import { classification, NOON } from "../../test/fixtures/views.ts";
import { shareIncidents } from "./cluster-incidents.ts";

const NAMES = ["brain1", "brain2"] as const;
type Name = (typeof NAMES)[number];
const NOC = { operator: "noc", tenant: null };
const DAY = { operator: "day", tenant: null };
const FLOOD = { classification: classification() };

let brains: JoinedBrains;
let worlds: Record<Name, IncidentWorld>;
let files: Record<Name, MemoryState>;
let unread: string[];
let ids: number;
/** Attacks that are shown with another id, by brain and own id. */
let shown: Record<Name, Map<string, string>>;

function begin(name: Name): IncidentWorld {
  const { store } = memoryStore(files[name]);
  const newId = () => `${name === "brain1" ? "b" : "a"}${++ids}`;
  const world = new IncidentWorld({ store: store.table("incidents"), newId });
  const aliases = shown[name];
  shareIncidents({
    ...{ peers: brains.of(name), clock: { wallMs: () => world.nowMs }, incidents: world.table },
    attackIds: {
      shownId: (own) => aliases.get(own) ?? own,
      ownIdOf: (id) => [...aliases].find(([, other]) => other === id)?.[0] ?? id,
    },
    onUnread: (kind, from) => unread.push(`${kind} of ${from}`),
  });
  worlds[name] = world;
  return world;
}

function pass(ms = 1000): void {
  for (const name of NAMES) {
    worlds[name].nowMs += ms;
    worlds[name].table.tick();
  }
}

const idAt = (name: Name) => worlds[name].only().id;
const workAt = (name: Name) => worlds[name].only().work;
const texts = (name: Name) => workAt(name).notes.map(({ id, text }) => `${id} ${text}`);
const order = (
  name: Name,
  ...rest: Parameters<IncidentWorld["table"]["order"]> extends [string, ...infer R] ? R : never
) => worlds[name].table.order(idAt(name), ...rest);
const note = (name: Name, text: string) => worlds[name].table.note(idAt(name), { text, isHandover: false }, NOC);

beforeEach(() => {
  brains = new JoinedBrains(...NAMES);
  [unread, ids] = [[], 0];
  shown = { brain1: new Map(), brain2: new Map() };
  files = { brain1: new MemoryState(), brain2: new MemoryState() };
  worlds = {} as Record<Name, IncidentWorld>;
  for (const name of NAMES) begin(name);
  brains.link(...NAMES);
});

describe("an incident of one attack", () => {
  test("has one id at both brains, and both ids find it", () => {
    for (const name of NAMES) worlds[name].start("x", FLOOD);
    pass();
    expect(NAMES.map(idAt)).toEqual(["a2", "a2"]);
    expect(NAMES.map((name) => worlds[name].table.get("b1")?.id)).toEqual(["a2", "a2"]);
    expect(worlds.brain1.table.stamped(worlds.brain1.active.get("x") as never).incident).toBe("a2");
  });

  test("has what people did at either one at both, within a second #incident-in-a-cluster", async () => {
    for (const name of NAMES) worlds[name].start("x", FLOOD);
    pass();
    await order("brain1", { acknowledge: true, owner: "take", classification: "real" }, NOC);
    await note("brain2", "seen");
    pass();
    expect(workAt("brain1")).toEqual(workAt("brain2"));
    expect(workAt("brain2")).toMatchObject({ owner: { by: NOC }, acknowledged: { by: NOC }, verdict: { is: "real" } });
    await order("brain2", { owner: "release", classification: null }, DAY);
    pass();
    expect(workAt("brain1")).toMatchObject({ owner: null, verdict: null, notes: [{ text: "seen" }] });
  });

  test("is one, too, where a brain shows the attack with another id, or begins it later", async () => {
    shown.brain2.set("own", "x");
    worlds.brain1.start("x", FLOOD);
    await note("brain1", "early");
    pass(5000);
    worlds.brain2.start("own", FLOOD);
    pass();
    expect(texts("brain2")).toEqual(["1 early"]);
    expect(NAMES.map(idAt)).toEqual(["a2", "a2"]);
  });

  test("is not joined by an attack that may go into another one yet", () => {
    worlds.brain1.start("y", { classification: classification({ type: "syn_flood" }) });
    for (const name of NAMES) worlds[name].start("x");
    pass();
    expect(idAt("brain1")).toBe("b1");
    worlds.brain1.classify("x", "udp_flood");
    worlds.brain2.classify("x", "udp_flood");
    pass();
    expect(worlds.brain1.all().map(({ id, kind }) => `${id} ${kind}`)).toEqual(["b1 syn_flood", "a2 udp_flood"]);
    expect(idAt("brain2")).toBe("a2");
  });

  test("keeps its id and its work over a restart and the other brain's #incident-in-a-cluster", async () => {
    for (const name of NAMES) worlds[name].start("x", FLOOD);
    pass();
    await note("brain1", "one");
    pass();
    const restarted = files.brain1.stored.incidents;
    for (const name of NAMES) brains.restart(name);
    brains.cut(...NAMES);
    const before = worlds.brain2;
    begin("brain1").table.restore(restarted, []);
    begin("brain2").table.restore(files.brain2.stored.incidents, [
      before.table.stamped(before.active.get("x") as never),
    ]);
    for (const name of NAMES) worlds[name].nowMs = before.nowMs;
    await note("brain2", "two");
    brains.link(...NAMES);
    pass();
    expect(NAMES.map(idAt)).toEqual(["a2", "a2"]);
    expect(NAMES.map(texts)).toEqual([
      ["1 one", "2 two"],
      ["1 one", "2 two"],
    ]);
  });
});

test("what both did in a split is joined: the last owner, the first acknowledgement, all notes", async () => {
  for (const name of NAMES) worlds[name].start("x", FLOOD);
  pass();
  brains.cut(...NAMES);
  await order("brain1", { owner: "take", acknowledge: true }, NOC);
  await note("brain1", "one");
  pass();
  await order("brain2", { owner: "take", acknowledge: true }, DAY);
  await note("brain2", "two");
  expect(NAMES.map(texts)).toEqual([["1 one"], ["1 two"]]);
  brains.link(...NAMES);
  pass();
  for (const name of NAMES) {
    expect(workAt(name)).toMatchObject({ owner: { by: DAY }, acknowledged: { by: NOC } });
    expect(texts(name)).toEqual(["1 one", "2 two"]);
  }
});

test("a note that is written while the incident gets another id is there", async () => {
  brains.cut(...NAMES);
  for (const name of NAMES) worlds[name].start("x", FLOOD);
  files.brain1.isHeld = true;
  const writing = note("brain1", "one");
  brains.link(...NAMES);
  pass();
  files.brain1.isHeld = false;
  await files.brain1.release();
  expect(await writing).toMatchObject({ kind: "done", view: { id: "a2" } });
  expect(texts("brain1")).toEqual(["1 one"]);
  expect(files.brain1.names("incidents")).toEqual(["a2"]);
});

test("a row of a clock that is days ahead, or in another form, is counted and not taken", () => {
  worlds.brain1.start("x", FLOOD);
  const work = { owner: { by: NOC, atMs: NOON + 3 * 86_400_000 }, acknowledged: null, verdict: null, notes: [] };
  const row = { id: "a0", aliases: [], attacks: ["x"], work };
  brains.of("brain2").send("brain1", "incidents", { rows: [row, { ...row, work: 1 }] });
  brains.of("brain2").send("brain1", "incidents", { rows: "" });
  expect([unread, idAt("brain1"), workAt("brain1").owner]).toEqual([
    ["incidents of brain2", "incidents of brain2"],
    "b1",
    null,
  ]);
});
