import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { exporterConfig, exporterReading, interfaceReading } from "../../test/fixtures/telemetry/exporters.ts";
import { EXPORTER_FAULTS, FAULT_TIMES, type FaultKind } from "./exporter-faults.ts";
import { MARK_MS } from "./exporter-minute.ts";
import type { ExporterReading, Sampling } from "./exporter-reading.ts";
import { countStates, Exporters } from "./exporters.ts";

const EVERY_MS = 5000;

/** What an exporter does between two readings: what its counters grow by, and the rest as it is. */
type Step = Partial<ExporterReading>;

/** An exporter that is read every five seconds, and whose faults are noted as `12 s begun losing`. */
class Course {
  readonly exporters = new Exporters([exporterConfig()], 0);
  readonly changes: string[] = [];
  #reading = exporterReading({ interfaces: [interfaceReading()] });
  #nowMs = 0;

  /** @param state of what is no counter; `grow` of counters at each reading. */
  run(seconds: number, grow: Step = { records: 500, counted: 500, datagrams: 20 }, state: Step = {}): this {
    for (const end = this.#nowMs + 1000 * seconds; this.#nowMs < end; ) {
      this.#nowMs += EVERY_MS;
      const counters = Object.entries(grow).map(([key, by]) => [
        key,
        (this.#reading[key as keyof ExporterReading] as number) + (by as number),
      ]);
      this.#reading = { ...this.#reading, ...state, ...Object.fromEntries(counters) };
      for (const { kind, change } of this.exporters.take([this.#reading], this.#nowMs)) {
        this.changes.push(`${this.#nowMs / 1000} s ${kind} ${change}`);
      }
    }
    return this;
  }

  view() {
    const [view] = this.exporters.views(this.#nowMs);
    if (view === undefined) throw new Error("there is no exporter");
    return view;
  }
}

const GROW = { records: 500, counted: 500, datagrams: 20 };

test("an exporter without a fault is ok, and has rates of the last ten seconds", () => {
  const course = new Course().run(30);
  expect(course.changes).toEqual([]);
  expect(course.view()).toMatchObject({ name: "edge1", address: "192.0.2.1", state: "ok", faults: [] });
  expect(course.view().received?.rates).toMatchObject({ datagrams: 4, records: 100, counted: 100 });
  expect(course.view().received?.loss).toBe(0);
});

test("an exporter of the configuration is not seen until it sends, or another of its entry has for a day", () => {
  const exporters = new Exporters([exporterConfig({ address: "192.0.2.0/24" })], 0);
  const unseen = (ms: number, name = "edge1") =>
    ["192.0.2.1", "192.0.2.2", "192.0.2.0/24"].map((each) => exporters.isUnseen({ name, address: each }, ms));
  expect(unseen(0)).toEqual([true, true, true]);
  expect(unseen(0, "gone")).toEqual([false, false, false]);
  expect(exporters.isUnseen({ name: "edge1", address: "198.51.100.1" }, 0)).toBe(false);
  exporters.take([exporterReading({ address: address("192.0.2.1") })], 1000);
  expect(unseen(1000)).toEqual([false, true, false]);
  expect(unseen(86_400_000)).toEqual([false, false, false]);
});

test("rates are those of the counters, of all and of each interface, and need ten seconds", () => {
  const exporters = new Exporters([exporterConfig()], 0);
  exporters.take([exporterReading()], 0);
  expect(exporters.views(0)[0]?.received).toMatchObject({ rates: null, interfaceRates: null, loss: null });
  const grown = {
    packetsIn: 2_400_000 + 10_000,
    bytesIn: 1_200_000_000 + 5_000_000,
    packetsOut: 100,
    bytesOut: 10_000,
  };
  exporters.take([exporterReading({ interfaces: [interfaceReading(grown)] })], MARK_MS);
  expect(exporters.views(MARK_MS)[0]?.received).toMatchObject({
    rates: { pps: 1000, mbps: 4 },
    interfaceRates: [{ ppsIn: 1000, mbpsIn: 4, ppsOut: 10, mbpsOut: 0.008 }],
  });
});

describe("a fault begins and ends once", () => {
  test("silent: after the configured time, until the next datagram", () => {
    const course = new Course().run(10);
    course.run(50, {}, { silentMs: 59_999 });
    expect(course.changes).toEqual([]);
    course.run(20, {}, { silentMs: 60_000 });
    expect(course.view()).toMatchObject({
      state: "silent",
      faults: [{ kind: "silent", text: "no datagram for 60 s" }],
    });
    course.run(10, GROW, { silentMs: 100 });
    expect(course.changes).toEqual(["65 s silent begun", "85 s silent ended"]);
  });

  test("unknown_sampling: when it is unknown for a minute, until it is known", () => {
    const unknown: Sampling = { domain: 7, sampler: 0, rate: 0, origin: "unknown" };
    const grow = { ...GROW, unknownRateRecords: 500 };
    const course = new Course().run(70, grow, { samplings: [unknown] });
    expect(course.changes).toEqual([]);
    course.run(10, grow, { samplings: [unknown] });
    expect(course.view().faults[0]?.text).toContain("the sampling rate of domain 7 is not known");
    course.run(80, GROW, { samplings: [{ ...unknown, rate: 100, origin: "options" }] });
    expect(course.changes).toEqual(["75 s unknown_sampling begun", "95 s unknown_sampling ended"]);
  });

  test("unknown_sampling: not of one whose rate is configured", () => {
    const exporters = new Exporters([exporterConfig({ sampling_rate: 1000 })], 0);
    const times = Array.from({ length: 30 }, (_, i) => i * EVERY_MS);
    const take = (at: number) => exporters.take([exporterReading({ records: at, unknownRateRecords: at })], at);
    expect(times.flatMap(take)).toEqual([]);
  });

  test("losing: from 1 % on, not below, and until it is a thousandth", () => {
    const course = new Course().run(120, { ...GROW, lostRecords: 4 });
    expect(course.changes).toEqual([]);
    course.run(120, { ...GROW, lostRecords: 50 });
    expect(course.changes).toHaveLength(1);
    expect(course.view()).toMatchObject({ state: "losing", received: { loss: 50 / 550 } });
    course.run(300, { ...GROW, lostRecords: 2 });
    expect(course.changes).toHaveLength(1);
    course.run(180, GROW);
    expect(course.changes.map((text) => text.replace(/^\d+ s /, ""))).toEqual(["losing begun", "losing ended"]);
  });

  test("left_out: when hardly a record counts, but not of one that stands by", () => {
    const left = { direction: 0, interface: 1e6, unknown_interface: 0, site: 0, late: 0 };
    const exporters = new Exporters([exporterConfig()], 0);
    const take = (at: number, isActive: boolean) => {
      const interface_ = left.interface + at;
      const reading = exporterReading({ records: 2e6 + at, isActive, leftOut: { ...left, interface: interface_ } });
      return exporters.take([reading], at).map(({ kind, change }) => `${kind} ${change}`);
    };
    const times = Array.from({ length: 17 }, (_, i) => i * EVERY_MS);
    expect(times.flatMap((at) => take(at, false))).toEqual([]);
    expect(exporters.views(80_000)[0]?.state).toBe("standby");
    expect(times.flatMap((at) => take(80_000 + at, true))).toEqual(["left_out begun"]);
    expect(exporters.views(160_000)[0]?.faults[0]?.text).toContain("interfaces, which are not external");
  });

  test("undecodable: names what is not understood", () => {
    const exporters = new Exporters([exporterConfig()], 0);
    const take = (at: number, count: number) => {
      const undecoded = [{ kind: "field_length", reason: "field 315", count }];
      const reading = exporterReading({ records: 2400 + at / 10, undecodedByKind: { field_length: count }, undecoded });
      return exporters.take([reading], at).map(({ kind, change }) => `${at} ${kind} ${change}`);
    };
    const times = Array.from({ length: 20 }, (_, i) => i * EVERY_MS);
    expect(times.flatMap((at) => take(at, at / 100))).toEqual(["70000 undecodable begun"]);
    expect(exporters.views(95_000)[0]?.faults[0]?.text).toEndWith("is not understood: field 315");
  });

  test("undecodable: data without its template", () => {
    const course = new Course().run(80, { datagrams: 20 }, { templates: 0, waitingBytes: 1400 });
    expect(course.changes).toEqual(["75 s undecodable begun"]);
    course.run(200, GROW, { waitingBytes: 0 });
    expect(course.changes.at(-1)).toEndWith("undecodable ended");
  });

  test("clock_skewed: from ten seconds on, in both directions", () => {
    const course = new Course().run(90, GROW, { clockSkewMs: 9999 });
    expect(course.changes).toEqual([]);
    course.run(70, GROW, { clockSkewMs: -10_000 });
    expect(course.view().faults[0]?.text).toBe("its clock is 10 s behind the clock of this machine");
    course.run(120, GROW, { clockSkewMs: 5001 }).run(70, GROW, { clockSkewMs: 5000 });
    expect(course.changes).toEqual(["155 s clock_skewed begun", "345 s clock_skewed ended"]);
  });

  test("lying: what cannot be is named with what to do", () => {
    const course = new Course().run(20).run(5, { ...GROW, impossibleRates: 3 });
    expect(course.changes).toEqual(["25 s lying begun"]);
    expect(course.view().faults).toMatchObject([
      { kind: "lying", text: "it says a sampling rate above 1:1,048,576, which is not taken" },
    ]);
    expect(course.view().faults[0]?.remedy).toContain("write sampling_rate");
  });
});

test("a fault that a value between its limits interrupts has to last again", () => {
  const course = new Course().run(50, GROW, { clockSkewMs: 20_000 }).run(5, GROW, { clockSkewMs: 7000 });
  course.run(60, GROW, { clockSkewMs: 20_000 });
  expect(course.changes).toEqual([]);
  course.run(10, GROW, { clockSkewMs: 20_000 });
  expect(course.changes).toEqual(["120 s clock_skewed begun"]);
});

test("while an exporter is silent, its other faults stay", () => {
  const course = new Course().run(70, GROW, { clockSkewMs: 20_000 }).run(200, {}, { silentMs: 60_000, clockSkewMs: 0 });
  expect(course.view().faults.map(({ kind }) => kind)).toEqual(["silent", "clock_skewed"]);
});

test("a restarted exporter begins again, and loses nothing by its counters", () => {
  const course = new Course().run(60);
  course.exporters.take([exporterReading({ datagrams: 1, records: 5, counted: 5, lostRecords: 0 })], 65_000);
  expect(course.exporters.views(65_000)[0]?.received).toMatchObject({ rates: null, loss: null });
});

test("an exporter that never sent is silent too, once, until its first datagram", () => {
  const entries = [exporterConfig(), exporterConfig({ address: "198.51.100.0/28", name: "access", site: "fra1" })];
  const exporters = new Exporters(entries, 0);
  const changes = (readings: readonly ExporterReading[], at: number) =>
    exporters.take(readings, at).map(({ view, kind, change, text }) => `${view.name} ${kind} ${change}: ${text}`);
  expect(changes([exporterReading()], 59_999)).toEqual([]);
  expect(exporters.views(59_999).map(({ state }) => state)).toEqual(["ok", "waiting"]);
  expect(changes([exporterReading()], 60_000)).toEqual(["access silent begun: no datagram yet, for 60 s"]);
  expect(changes([exporterReading()], 65_000)).toEqual([]);
  expect(exporters.views(65_000)[1]).toMatchObject({ state: "silent", address: "198.51.100.0/28", site: "fra1" });
  const late = exporterReading({ name: "access", address: address("198.51.100.3") });
  expect(changes([exporterReading(), late], 70_000)).toEqual(["access silent ended: first datagram"]);
  expect(exporters.views(70_000)[1]).toMatchObject({ state: "ok", address: "198.51.100.3" });
});

test("a reload changes names and adds entries; those that are gone are not waited for", () => {
  const exporters = new Exporters([exporterConfig(), exporterConfig({ address: "192.0.2.2", name: "gone" })], 0);
  exporters.take([exporterReading()], 1000);
  exporters.reconfigure([exporterConfig(), exporterConfig({ address: "192.0.2.3", name: "new" })], 50_000);
  expect(exporters.take([exporterReading()], 60_000)).toEqual([]);
  expect(exporters.views(60_000).map(({ name, state }) => [name, state])).toEqual([
    ["edge1", "ok"],
    ["new", "waiting"],
  ]);
});

test("states are counted, and the list of faults is complete", () => {
  const exporters = new Exporters([exporterConfig(), exporterConfig({ address: "192.0.2.2", name: "other" })], 0);
  exporters.take([exporterReading()], 1000);
  expect(countStates(exporters.views(1000))).toMatchObject({ ok: 1, waiting: 1, silent: 0 });
  expect(Object.keys(FAULT_TIMES).toSorted()).toEqual((EXPORTER_FAULTS as readonly FaultKind[]).toSorted());
});

test("an exporter in whose place another of its entry came is forgotten after a day of silence, with its fault", () => {
  const exporters = new Exporters([exporterConfig()], 0);
  const day = 86_400_000;
  const [old, other] = ["192.0.2.1", "192.0.2.2"].map((text) => exporterReading({ address: address(text) })) as [
    ExporterReading,
    ExporterReading,
  ];
  const taken = (oldMs: number, otherMs: number, nowMs: number) =>
    exporters
      .take(
        [
          { ...old, silentMs: oldMs },
          { ...other, silentMs: otherMs },
        ],
        nowMs,
      )
      .map(({ kind, change, view }) => `${view.address} ${kind} ${change}`);
  const shown = (nowMs: number) => exporters.views(nowMs).map((view) => `${view.address} ${view.state}`);
  expect(taken(100_000, 0, 100_000)).toEqual(["192.0.2.1 silent begun"]);
  expect(taken(day - 1, 0, day)).toEqual([]);
  // As long as it is the only one, or the other is silent too, it is missed.
  expect(taken(day, 100_000, day + 1)).toEqual(["192.0.2.2 silent begun"]);
  expect(shown(day + 1)).toEqual(["192.0.2.1 silent", "192.0.2.2 silent"]);
  expect(taken(day + 1, 0, day + 2)).toEqual(["192.0.2.1 silent ended", "192.0.2.2 silent ended"]);
  expect(shown(day + 2)).toEqual(["192.0.2.2 ok"]);
  expect(taken(day + 2, 0, day + 3)).toEqual([]);
  // It comes back.
  expect(taken(0, 0, day + 4)).toEqual([]);
  expect(shown(day + 4)).toEqual(["192.0.2.1 ok", "192.0.2.2 ok"]);
});
