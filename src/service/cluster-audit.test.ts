import { beforeEach, describe, expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { MemoryState, memoryStore } from "../../test/fixtures/storage/memory-state.ts";
import type { AuditEvent } from "../audit/audit-event.ts";
import { MESSAGE_BYTES_MAX } from "../cluster/chunks.ts";
import type { ServiceTrail } from "./audit-trail.ts";
import { ClusterAudit } from "./cluster-audit.ts";

const ROW: AuditEvent = {
  ...{ wallMs: 1_800_000_000_000, action: "ban", result: "active", operator: "noc", role: "operator", tenant: "" },
  ...{ target: "192.0.2.7", targetType: "host", reason: "", source: "api", banState: "active", dryRun: false },
};
const AUTOMATIC: AuditEvent = { ...ROW, operator: "", role: "", source: "auto" };
const NAMES = ["brain1", "brain2"];

let clock: ManualClock;
let brains: JoinedBrains;
let holder: string;
let unread: string[];
/** By brain; with one database for all, all brains have the same. */
let stored: Map<string, Map<string, AuditEvent>>;
let trails: Record<string, ServiceTrail>;
let gone: Set<string>;
let isStoring: boolean;
let startedAt: (name: string) => number;
/** By brain: what is left of a process. */
let files: Map<string, MemoryState>;

function begin(isForAllBrains: boolean): void {
  stored = new Map();
  const all = new Map<string, AuditEvent>();
  for (const name of NAMES) {
    const rows = isForAllBrains ? all : new Map<string, AuditEvent>();
    stored.set(name, rows);
    const audit = new ClusterAudit({
      ...{ peers: brains.of(name), clock, timers: new ManualTimers(clock), lease: { holds: () => holder === name } },
      reach: { isGone: (brain) => gone.has(brain) },
      whenAgreed: (report) => report(),
      startedAt: startedAt(name),
      state: memoryStore(files.get(name), clock).store,
      onUnread: (kind, from) => unread.push(`${kind} of ${from}`),
      onDropped: () => {},
    });
    trails[name] = audit.trailOf({
      isForAllBrains,
      storeAudit: async (event, id) => {
        if (!rows.has(id)) rows.set(id, event);
        else if (isForAllBrains) throw new Error(`${id} is written twice`);
        return isStoring;
      },
    });
  }
  brains.link("brain1", "brain2");
}

const trailOf = (name: string) => trails[name] as ServiceTrail;
const rowsAt = (name: string) => [...(stored.get(name)?.entries() ?? [])];
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
const happens = (subject = "a") => {
  for (const name of NAMES)
    trailOf(name).recordAutomatic({ event: AUTOMATIC, subject: () => subject, isRestored: false });
};

beforeEach(() => {
  [clock, brains, holder] = [new ManualClock(), new JoinedBrains(...NAMES), "brain1"];
  [trails, unread, gone] = [{}, [], new Set()];
  isStoring = true;
  files = new Map(NAMES.map((name) => [name, new MemoryState()]));
  startedAt = () => clock.wallMs();
});

describe("with a database at each brain", () => {
  beforeEach(() => begin(false));

  test("a row of a call is at all, with one id", async () => {
    await trailOf("brain1").recordAudit(ROW);
    expect(rowsAt("brain2")).toEqual(rowsAt("brain1"));
    expect(rowsAt("brain2").map(([, row]) => row)).toEqual([ROW]);
  });

  test("a row that is longer than others take is shortened there, and holds up no other one", async () => {
    brains.cut("brain1", "brain2");
    const problems = Array.from({ length: 900 }, (_, i) => `thresholds.pps: ${i} is no number`).join("\n");
    await trailOf("brain1").recordAudit({ ...ROW, action: "config_reload", result: "error", reason: problems });
    await trailOf("brain1").recordAudit(ROW);
    brains.link("brain1", "brain2");
    await settled();
    const reasons = rowsAt("brain2").map(([, { reason }]) => reason);
    expect([reasons[0]?.slice(0, 30), reasons[1]]).toEqual([problems.slice(0, 30), ""]);
    expect(reasons[0]?.endsWith("… (all of it is at brain1)")).toBe(true);
    expect(rowsAt("brain1")[0]?.[1].reason).toBe(problems);
    expect(unread).toEqual([]);
  });

  test("rows that are long together go in several messages", async () => {
    const sizes: number[] = [];
    brains.cut("brain1", "brain2");
    for (let i = 0; i < 200; i++) await trailOf("brain1").recordAudit({ ...ROW, reason: `${i} `.repeat(2000) });
    brains.of("brain2").on("audit", (_, body) => void sizes.push(Buffer.byteLength(JSON.stringify(body))));
    brains.link("brain1", "brain2");
    await settled();
    expect(rowsAt("brain2")).toHaveLength(200);
    expect(Math.max(...sizes)).toBeLessThan(MESSAGE_BYTES_MAX);
  });

  test("a row that a build does not know waits for one that does, and the others do not", async () => {
    brains.of("brain1").send("brain2", "audit", {
      rows: [
        { id: "a", event: { ...ROW, action: "later" } },
        { id: "b", event: ROW },
      ],
    });
    await settled();
    expect(rowsAt("brain2").map(([id]) => id)).toEqual(["b"]);
    expect(unread).toEqual(["audit of brain1"]);
  });

  test("a row counts as taken once it is stored", async () => {
    isStoring = false;
    await trailOf("brain1").recordAudit(ROW);
    isStoring = true;
    await settled();
    stored.get("brain2")?.clear();
    brains.cut("brain1", "brain2");
    brains.link("brain1", "brain2");
    await settled();
    expect(rowsAt("brain2")).toHaveLength(1);
  });

  test("a row of a split is there after it, and is not sent again #audit-in-a-cluster", async () => {
    brains.cut("brain1", "brain2");
    await trailOf("brain1").recordAudit(ROW);
    expect(rowsAt("brain2")).toEqual([]);
    brains.link("brain1", "brain2");
    await settled();
    expect(rowsAt("brain2")).toHaveLength(1);
    brains.cut("brain1", "brain2");
    stored.get("brain2")?.clear();
    brains.link("brain1", "brain2");
    expect(rowsAt("brain2")).toEqual([]);
  });

  test("also when the brain that was called is killed before", async () => {
    brains.cut("brain1", "brain2");
    await trailOf("brain1").recordAudit(ROW);
    clock.advance(1000);
    await settled();
    for (const name of NAMES) brains.restart(name);
    begin(false);
    await settled();
    expect(rowsAt("brain2").map(([, row]) => row)).toEqual([ROW]);
    clock.advance(1000);
    await settled();
    expect(files.get("brain1")?.names("audit_unconfirmed")).toEqual([]);
  });

  test("so is one of a ban that began after the clock of one brain was set back", async () => {
    clock.setWall("2026-03-01T09:00:00.000Z");
    startedAt = (name) => clock.wallMs() + (name === "brain1" ? 3_600_000 : -3_600_000);
    begin(false);
    happens();
    await settled();
    expect([rowsAt("brain1").length, rowsAt("brain2").length]).toEqual([1, 1]);
  });

  test("an automatic row is one row, at all", () => {
    happens();
    happens("b");
    expect(NAMES.map((name) => rowsAt(name).length)).toEqual([2, 2]);
    expect(rowsAt("brain1").map(([id]) => id)).toEqual(rowsAt("brain2").map(([id]) => id));
  });

  test("a row of a ban that is older than the process is none of those from before", () => {
    happens();
    const ofOlder = { event: AUTOMATIC, subject: () => "a", isRestored: true };
    trailOf("brain1").recordAutomatic(ofOlder);
    expect(NAMES.map((name) => rowsAt(name).length)).toEqual([2, 2]);
  });

  test("rows in another form are counted", () => {
    const row = { id: "1", event: { ...ROW, action: "reboot" } };
    brains.of("brain1").send("brain2", "audit", { rows: [row] });
    expect([unread, rowsAt("brain2")]).toEqual([["audit of brain1"], []]);
  });
});

describe("with one database for all brains", () => {
  beforeEach(() => begin(true));

  test("each row of a call is written by the brain that was called", async () => {
    await trailOf("brain2").recordAudit(ROW);
    expect(rowsAt("brain1").map(([, row]) => row)).toEqual([ROW]);
  });

  test("an automatic row is written by the holder of the lease", async () => {
    happens();
    await settled();
    clock.advance(60_000);
    expect(rowsAt("brain1")).toHaveLength(1);
  });

  test("and by the other one when the holder is gone without it", async () => {
    brains.cut("brain1", "brain2");
    trailOf("brain2").recordAutomatic({ event: AUTOMATIC, subject: () => "a", isRestored: false });
    clock.advance(5000);
    expect(rowsAt("brain2")).toEqual([]);
    holder = "brain2";
    clock.advance(2000);
    await settled();
    expect(rowsAt("brain2")).toHaveLength(1);
  });
});
