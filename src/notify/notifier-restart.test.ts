/** What a notifier knows of the process before, which was killed: by its table of problems, and the attacks on disk. */
import { afterEach, expect, test } from "bun:test";
import { observation, Receiver, targets } from "../../test/fixtures/notify/notify.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { MemoryState, memoryStore } from "../../test/fixtures/storage/memory-state.ts";
import { Undo } from "../../test/fixtures/undo.ts";
import { attack, classification, NOON } from "../../test/fixtures/views.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { systemClock } from "../system/clock.ts";
import { systemTimers } from "../system/timers.ts";
import { NotifiedProblems } from "./notified-problems.ts";
import { Notifier } from "./notifier.ts";

const undo = new Undo();
afterEach(() => undo.all());

/** A start is reported at once when its kind is known. */
const classified = (changes: Partial<Attack>) => attack({ classification: classification(), ...changes });

function receiver(): Receiver {
  const made = new Receiver();
  undo.add(() => made.stop());
  return made;
}

/** A process on what is on disk. */
function process(file: MemoryState, url: string, target = "hook") {
  const { store, flush } = memoryStore(file);
  const { notified, attacks } = store.stored;
  const { log, limiter, metrics } = observation(systemClock);
  const configured = targets({ kind: "webhook", urlEnv: "URL", secretEnv: null });
  let ids = 0;
  const notifier = new Notifier({
    ...{ log, limiter, metrics: metrics.notify, clock: systemClock, timers: systemTimers },
    ...{ instance: "box1", newId: () => `id-${ids++}`, random: () => 1, dryRun: () => false },
    config: {
      ...configured,
      targets: configured.targets.map((each) => ({ ...each, name: target })),
    },
    environment: { read: () => url },
    tenancy: () => ({ ownerOf: () => null, tenantOf: () => null, groupOf: () => "global" }),
    notified: new NotifiedProblems({ table: store.table("notified"), stored: notified }),
    restoredAttacks: attacks.map(({ id }) => id),
  });
  notifier.start();
  undo.add(() => notifier.stop());
  return { notifier, kill: flush };
}

const eventsOf = ({ received }: Receiver) =>
  received.map(({ body }) => {
    const {
      event,
      attack: of,
      condition,
    } = JSON.parse(body) as {
      event: string;
      attack?: { id: string };
      condition?: { name: string };
    };
    return `${event} ${of?.id ?? condition?.name}`;
  });

test("an attack whose begin was not decided is notified, and one whose begin was is not again", async () => {
  const [server, file] = [receiver(), new MemoryState()];
  const [decided, other] = [classified({ id: "decided" }), classified({ id: "other" })];
  const first = process(file, server.url);
  first.notifier.attackChanged("started", decided, null);
  first.notifier.attackChanged("started", { ...other, classification: null }, null);
  await first.kill();
  for (const each of [decided, other]) file.rows.attacks.set(each.id, each);
  const { notifier } = process(file, server.url);
  for (const each of [decided, other]) notifier.attackChanged("lasts", each, null);
  notifier.attackChanged("ended", { ...other, endedAt: NOON + 1 }, null);
  await eventually(() => server.received.length === 3, "not all was delivered");
  expect(eventsOf(server)).toEqual(["attack_started decided", "attack_started other", "attack_ended other"]);
});

test("a condition that holds is not notified again, and one that is over is, once it is known", async () => {
  const [server, file] = [receiver(), new MemoryState()];
  const nodes = (...found: (string | null | undefined)[]) =>
    found.map((text, i) => ({
      ...({ kind: "scrub_node_lost", name: `s${i}` } as const),
      ...{ found: text ?? null, isUnknown: text === undefined },
    }));
  const first = process(file, server.url);
  first.notifier.conditionsRead(nodes("no poll", "no poll"));
  await eventually(() => server.received.length === 2, "not notified");
  await first.kill();
  const { notifier } = process(file, server.url);
  for (const found of [undefined, "no poll", "no poll"]) notifier.conditionsRead(nodes(found, found));
  notifier.conditionsRead(nodes("no poll", null));
  await eventually(() => server.received.length === 3, "no end came");
  expect(eventsOf(server)).toEqual(["scrub_node_lost s0", "scrub_node_lost s1", "scrub_node_found s1"]);
});

test("a fault of a file that is there still is not notified again, and its end is", async () => {
  const [server, file] = [receiver(), new MemoryState()];
  const first = process(file, server.url);
  first.notifier.fileChanged("file_fault", { key: "geo", error: "cannot be read", effect: "none" });
  first.notifier.fileChanged("file_fault", { key: "tls", error: "cannot be read", effect: "none" });
  await eventually(() => server.received.length === 2, "not notified");
  await first.kill();
  const { notifier } = process(file, server.url);
  notifier.fileChanged("file_fault", { key: "geo", error: "cannot be read", effect: "none" });
  notifier.fileChanged("file_fault_over", { key: "tls", error: "", effect: "" });
  notifier.fileChanged("file_fault_over", { key: "geo", error: "", effect: "" });
  await eventually(() => server.received.length === 4, "not all was delivered");
  const said = server.received.map(({ body }) => JSON.parse(body) as { event: string; file: { key: string } });
  expect(said.map(({ event, file: { key } }) => `${event} ${key}`)).toEqual([
    "file_fault geo",
    "file_fault tls",
    "file_fault_over tls",
    "file_fault_over geo",
  ]);
});

test("what lasts is notified again where no target that knows of it is there any more", async () => {
  const [server, file] = [receiver(), new MemoryState()];
  const lost = [{ kind: "scrub_node_lost", name: "s0", found: "no poll" }] as const;
  const fault = { key: "geo", error: "cannot be read", effect: "none" };
  const lasting = classified({ id: "a1" });
  const report = ({ notifier }: Pick<ReturnType<typeof process>, "notifier">) => {
    notifier.attackChanged("lasts", lasting, null);
    for (let i = 0; i < 2; i++) notifier.conditionsRead(lost);
    notifier.fileChanged("file_fault", fault);
  };
  const first = process(file, server.url);
  first.notifier.attackChanged("started", lasting, null);
  report(first);
  await eventually(() => server.received.length === 3, "not notified");
  await first.kill();
  file.rows.attacks.set(lasting.id, lasting);
  const second = process(file, server.url, "renamed");
  report(second);
  second.notifier.conditionsRead([{ ...lost[0], found: null }]);
  await eventually(() => server.received.length === 7, "not all was delivered");
  const said = server.received.map(({ body }) => (JSON.parse(body) as { event: string }).event);
  const begins = ["attack_started", "scrub_node_lost", "file_fault"];
  expect(said).toEqual([...begins, ...begins, "scrub_node_found"]);
});

test("what another build notified of a kind that this one does not know stops nothing", () => {
  const file = new MemoryState();
  const begin = { event: { kind: "volcano", id: "e1", atMs: 0, dryRun: false, tenant: null, group: null } };
  file.rows.notified.set("volcano x", { id: "volcano x", tenant: null, targets: [], quiet: ["hook"], begin });
  const { notifier } = process(file, "http://127.0.0.1:1");
  expect(() => notifier.conditionsRead([])).not.toThrow();
});
