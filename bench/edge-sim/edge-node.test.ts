import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { eventually } from "../../test/fixtures/service.ts";
import type { Order, OrderEnd } from "./certificate-order.ts";
import { DocumentShelf } from "./document-shelf.ts";
import type { Done, EdgeChannel, PollAnswer, SlotAnswer } from "./edge-channel.ts";
import { EdgeNode } from "./edge-node.ts";
import type { PollResult } from "./poller.ts";

const START = "2026-03-01T12:00:00.000Z";
const ZONE = "www.example.net";
const DONE: Done = { kind: "done" };

/** What a node asked, in words, and what it is answered. A poll is answered when the test says so. */
class ScriptedChannel implements EdgeChannel {
  readonly asked: string[] = [];
  parked: PromiseWithResolvers<PollAnswer> = Promise.withResolvers();
  slots: SlotAnswer[] = [];
  published: Done = DONE;
  reports: Record<string, unknown>[] = [];

  poll(etag: string | null): Promise<PollAnswer> {
    this.asked.push(`poll ${etag}`);
    this.parked = Promise.withResolvers();
    return this.parked.promise;
  }

  async report(body: string): Promise<Done> {
    this.reports.push(JSON.parse(body) as Record<string, unknown>);
    return DONE;
  }

  async slot(zone: string): Promise<SlotAnswer> {
    this.asked.push(`slot ${zone}`);
    return this.slots.shift() ?? { kind: "unreachable", reason: "gone" };
  }

  async release(zone: string): Promise<Done> {
    this.asked.push(`release ${zone}`);
    return DONE;
  }

  async publish({ zone, token }: { readonly zone: string; readonly token: string }): Promise<Done> {
    this.asked.push(`publish ${zone} ${token}`);
    return this.published;
  }

  close(): void {
    this.parked.resolve({ kind: "unreachable", reason: "closed" });
  }
}

let clock: ManualClock;
let channel: ScriptedChannel;
let directory: string;
let results: string[];
let ends: OrderEnd[];
let waits: number;
let orders: string[];
let completed: PromiseWithResolvers<void>;
let node: EdgeNode;

beforeEach(() => {
  clock = new ManualClock(START);
  channel = new ScriptedChannel();
  directory = mkdtempSync(join(tmpdir(), `floodwall-edge-node-${process.pid}-`));
  [results, ends, waits, orders] = [[], [], 0, []];
  completed = Promise.withResolvers();
  node = made();
});

afterEach(async () => {
  await node.stop();
  rmSync(directory, { recursive: true, force: true });
});

function made(): EdgeNode {
  const order: Order = {
    token: "tok",
    keyAuthorization: "tok.key",
    complete: async () => {
      await completed.promise;
      return { notAfterMs: 1, issuer: "CA" };
    },
  };
  return new EdgeNode({
    ...{
      name: "e1",
      seed: 1,
      channel,
      shelf: new DocumentShelf(),
      windowSeconds: 10,
      isDryRun: false,
      reportsKept: null,
    },
    cacheDirectory: directory,
    orders: () => orders,
    authority: { order: async () => order },
    watcher: {
      polled: (_, result: PollResult, detail) => results.push(detail === "" ? result : `${result}: ${detail}`),
      reported: () => {},
      slotAwaited: () => waits++,
      danced: (_, _zone, end) => ends.push(end),
    },
    clock,
    timers: new ManualTimers(clock),
  });
}

/** All that follows from what has happened, short of time. */
async function settled(): Promise<void> {
  for (let i = 0; i < 40; i++) await Promise.resolve();
}

async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await settled();
}

async function answer(with_: PollAnswer): Promise<void> {
  channel.parked.resolve(with_);
  await settled();
}

function documentWith(zone: object = {}, more: object = {}): PollAnswer {
  const options = { dry_run: false, auto: { zone_rps: 0, hold_seconds: 300 } };
  const policy = { mode: "decide", challenge: "off", rate: {}, dry_run: false, challenge_options: options };
  const keys = [{ id: "c20260301", secret: "s" }];
  const zones = [{ name: ZONE, origins: [], tls: { min_version: "1.2" }, policy, clearance_keys: keys, ...zone }];
  const document = { version: 1, zones, acme_challenges: [], issuance_grants: [], ...more };
  const body = Buffer.from(JSON.stringify(document));
  return { kind: "document", etag: `"${Bun.hash(body)}"`, body, isGzipped: false };
}

const published = { zone: ZONE, token: "tok", key_authorization: "tok.key", expires_at: "2026-03-01T12:10:00.000Z" };
const refused = (status: number): PollAnswer => ({ kind: "refused", status, error: "no" });

describe("polls", () => {
  test("with the tag of the document that it has", async () => {
    await node.start();
    const first = documentWith();
    await answer(first);
    await pass(25_000);
    await answer({ kind: "unchanged" });
    const tag = first.kind === "document" ? first.etag : "";
    expect(channel.asked).toEqual(["poll null", `poll ${tag}`, `poll ${tag}`]);
    expect(results).toEqual(["document", "unchanged"]);
  });

  test("after 1 s, then twice as long each time up to 30 s, while it is refused or there is no service", async () => {
    await node.start();
    const waited: number[] = [];
    for (let i = 0; i < 7; i++) {
      const begunMs = clock.monotonicMs();
      const polls = channel.asked.length;
      await answer(i % 2 === 0 ? refused(429) : { kind: "unreachable", reason: "gone" });
      while (channel.asked.length === polls) await pass(10);
      waited.push(clock.monotonicMs() - begunMs);
    }
    for (const [i, about] of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].entries()) {
      expect(Math.abs((waited[i] ?? 0) - about)).toBeLessThanOrEqual(about / 10 + 10);
    }
    expect(results.slice(0, 2)).toEqual(["too_many_holds: 429 no", "unreachable: gone"]);
    await answer(documentWith());
    const polls = channel.asked.length;
    await answer(refused(429));
    await pass(1100);
    expect(channel.asked).toHaveLength(polls + 1);
  });
});

describe("a document", () => {
  test("is kept for its owner's eyes alone, and is in force after a start without the service", async () => {
    await node.start();
    await answer(documentWith());
    const path = node.cache?.path ?? "";
    await eventually(() => statSync(path, { throwIfNoEntry: false }) !== undefined, "it was not kept");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await node.stop();
    node = made();
    await node.start();
    expect(node.document.zones.map(({ name }) => name)).toEqual([ZONE]);
    expect(channel.asked.at(-1)).toBe(`poll ${node.etag}`);
  });

  test("is the same packed", async () => {
    await node.start();
    const plain = documentWith();
    if (plain.kind !== "document") throw new Error("no document");
    await answer({ ...plain, body: gzipSync(plain.body), isGzipped: true });
    expect(node.document.zones.map(({ name }) => name)).toEqual([ZONE]);
    await node.cache?.written();
    expect((await node.cache?.load())?.text).toBe(plain.body.toString());
    await answer({ ...plain, etag: '"cut"', body: gzipSync(plain.body).subarray(0, 40), isGzipped: true });
    expect([node.etag, results.at(-1)?.split(":")[0]]).toEqual([plain.etag, "bad_document"]);
  });

  test("of a version that it does not know changes nothing", async () => {
    await node.start();
    await answer(documentWith());
    const before = node.document;
    await answer({
      kind: "document",
      etag: '"other"',
      body: Buffer.from('{"version":2,"zones":[]}'),
      isGzipped: false,
    });
    expect(node.document).toBe(before);
    expect(results.at(-1)).toBe("bad_document: version 2 is none that this node knows");
  });
});

test("a lever is applied at once, and expires by itself", async () => {
  await node.start();
  await answer(
    documentWith({ challenge_override: { mode: "manual", until: "2026-03-01T12:01:00.000Z", reason: "r" } }),
  );
  expect(node.challengeOf(ZONE)).toBe("manual");
  await pass(59_999);
  expect(node.challengeOf(ZONE)).toBe("manual");
  await pass(1);
  expect(node.challengeOf(ZONE)).toBe("off");
  expect(node.challengeOf("other.example.net")).toBeNull();
});

test("it reports each window once, after its end, with what it renders", async () => {
  await node.start();
  await answer(documentWith());
  for (let i = 0; i < 60; i++) await pass(1000);
  expect(channel.reports).toHaveLength(6);
  const windows = channel.reports.map((report) => (report["zones"] as Record<string, unknown>[])[0]?.["at"] as string);
  expect(new Set(windows).size).toBe(6);
  const times = windows.map((at) => Date.parse(at));
  expect(times.map((ms, i) => ms - (times[0] ?? 0) - 10_000 * i)).toEqual([0, 0, 0, 0, 0, 0]);
  expect(channel.reports[0]).toMatchObject({
    zones_etag: node.etag,
    dry_run: false,
    terminator: { generation: 1, test_ok: true },
    certs: [{ zone: ZONE, issuer: "Simulated CA" }],
    zones: [{ zone: ZONE, window_seconds: 10, challenge: "off" }],
  });
});

describe("for a certificate it", () => {
  const granted: SlotAnswer = { kind: "granted", expiresAt: "2026-03-01T12:10:00.000Z" };
  const held: SlotAnswer = { kind: "held", holder: "e2", retryAfterSeconds: 30 };

  beforeEach(async () => {
    orders = [ZONE];
  });

  test("takes the slot, publishes, waits until all have the challenge, and gives the slot back", async () => {
    channel.slots = [granted];
    await node.start();
    await answer(documentWith());
    const acme = () => channel.asked.filter((asked) => !asked.startsWith("poll"));
    expect(acme()).toEqual([`slot ${ZONE}`, `publish ${ZONE} tok`]);
    expect(node.keyAuthorizationFor(ZONE, "tok")).toBe("tok.key");
    await answer(documentWith({}, { acme_challenges: [published] }));
    await pass(500);
    completed.resolve();
    await settled();
    expect(acme()).toEqual([`slot ${ZONE}`, `publish ${ZONE} tok`, `release ${ZONE}`]);
    expect(ends).toEqual([{ kind: "issued", certificate: { notAfterMs: 1, issuer: "CA" }, hadSlot: true }]);
    expect(node.certificates.get(ZONE)?.issuer).toBe("CA");
  });

  test("waits for the returned time while another has the slot", async () => {
    channel.slots = [held, granted];
    await node.start();
    await answer(documentWith());
    await pass(29_999);
    expect(channel.asked.filter((asked) => asked.startsWith("slot"))).toHaveLength(1);
    await pass(1);
    expect(channel.asked).toContain(`publish ${ZONE} tok`);
    expect(waits).toBe(1);
  });

  test("requests again as soon as its document shows that the slot is free", async () => {
    channel.slots = [held, held, granted];
    const grant = { zone: ZONE, node: "e2", expires_at: "2026-03-01T12:10:00.000Z" };
    const slots = () => channel.asked.filter((asked) => asked.startsWith("slot")).length;
    await node.start();
    await answer(documentWith());
    await pass(1000);
    await answer(documentWith({}, { issuance_grants: [grant] }));
    expect(slots()).toBe(1);
    await answer(documentWith());
    expect(slots()).toBe(2);
    await pass(1000);
    await answer(documentWith({ origins: ["o"] }, { issuance_grants: [grant] }));
    await pass(28_999);
    expect(slots()).toBe(2);
    await pass(1);
    expect(slots()).toBe(3);
  });

  test("orders anyway after a quarter of an hour, and answers for itself", async () => {
    channel.slots = Array.from({ length: 40 }, () => held);
    completed.resolve();
    await node.start();
    await answer(documentWith());
    for (let i = 0; i < 31; i++) await pass(30_000);
    expect(ends).toEqual([{ kind: "issued", certificate: { notAfterMs: 1, issuer: "CA" }, hadSlot: false }]);
    expect(channel.asked.filter((asked) => /^(publish|release)/.test(asked))).toEqual([]);
  });

  test("gives up where its publication is refused, gives the slot back, and tries again in a minute", async () => {
    channel.slots = [granted, granted];
    channel.published = { kind: "refused", status: 409, error: "taken" };
    await node.start();
    await answer(documentWith());
    expect(ends).toEqual([{ kind: "failed", reason: "publication: 409 taken" }]);
    expect(channel.asked.at(-1)).toBe(`release ${ZONE}`);
    await pass(60_000);
    expect(channel.asked.filter((asked) => asked.startsWith("slot"))).toHaveLength(2);
  });

  test("gives the slot back when it stops", async () => {
    channel.slots = [granted];
    await node.start();
    await answer(documentWith());
    await node.stop();
    expect(channel.asked.at(-1)).toBe(`release ${ZONE}`);
    expect(clock.pending).toBe(0);
  });
});

test("it answers published challenges until they expire", async () => {
  await node.start();
  await answer(documentWith({}, { acme_challenges: [published] }));
  expect(node.keyAuthorizationFor(ZONE, "tok")).toBe("tok.key");
  expect(node.keyAuthorizationFor(ZONE, "other")).toBeNull();
  expect(node.keyAuthorizationFor("other.example.net", "tok")).toBeNull();
  await pass(600_000);
  expect(node.keyAuthorizationFor(ZONE, "tok")).toBeNull();
});
