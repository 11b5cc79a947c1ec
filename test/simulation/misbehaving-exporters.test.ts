/**
 * Detection and bans, in dry run, by what exporters that misbehave in several ways at once report, beside those by the
 * traffic itself: the same hosts are banned. The rates of each tick come from the addon's decoder and counter
 * (addon/test/tools/misbehaving_rates.cpp). SEED and CASES come from the environment.
 */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { Detector } from "../../src/detection/judge/detector.ts";
import { type HostRowFields, hostRows } from "../fixtures/host-rows.ts";
import { hostgroup, policyFor } from "../fixtures/hostgroups.ts";
import { flush, harness } from "../fixtures/mitigation/ban-engine.ts";

const TOOL = join(import.meta.dir, "../../build/addon/misbehaving_rates");
const SEED = process.env["SEED"] || String(Math.floor(Math.random() * 2 ** 32));
const CASES = Number(process.env["CASES"] || 60);
const TICK_MS = 100;
const HYSTERESIS_MS = 5000;
const HOSTS = ["192.0.2.1", "192.0.2.2"] as const;
/** Of 514 bytes each, so that both thresholds are exceeded together. */
const THRESHOLDS = { pps: 100_000, mbps: 411.2 };
const BEGIN_MS = Date.UTC(2026, 0, 1);

/** As the enums of addon/test/misbehaving_process.h. */
const [TOTALS, WITHOUT_TIMES, RESTARTS] = [1, 4, 2];
/**
 * A record that says no time counts when it comes: those of two seconds look twice as large in a window of one. Where a
 * process that reports totals starts again, its first record does so beside the one before, which is spread. So an exporter
 * without times may have a host banned that gets this share of its threshold ("Times" of docs/operations/flow-telemetry.md).
 */
const [AT_ONCE, AT_ONCE_BESIDE] = [0.45, 0.3];

type HostTick = readonly [pps: number, mbps: number, flows: number, weight: number, bytesWeight: number];
interface Case {
  readonly ways: readonly [rate: number, counters: number, times: number, session: number, noise: number];
  /** Load of the host that is never flooded, of the threshold. */
  readonly quiet: number;
  /** By tick: of both hosts the truth, and what was decoded. */
  readonly ticks: readonly (readonly [truth: readonly HostTick[], decoded: readonly HostTick[]])[];
}

/** What is banned in dry run by these rates: a ban for each entry, by its host. */
async function bansBy(ticks: readonly (readonly HostTick[])[]): Promise<{ bans: string[]; lasting: number }> {
  const changes = { tickMs: TICK_MS, hysteresisMs: () => HYSTERESIS_MS, maxActive: 100 };
  const policy = policyFor([hostgroup(THRESHOLDS)], changes);
  let ids = 0;
  const detector = new Detector(policy, () => `a${++ids}`);
  const banned = new Map<string, string>();
  const { engine, announcer } = harness({ dryRun: true }, { onChange: ({ id, target }) => banned.set(id, target) });
  for (const [i, hosts] of ticks.entries()) {
    const now = { wallMs: BEGIN_MS + i * TICK_MS, monotonicMs: i * TICK_MS };
    const rows = hosts.map(([pps, mbps, flows_per_sec, ...weights], host): HostRowFields => {
      return { target: HOSTS[host] ?? "", rates: { pps, mbps, flows_per_sec }, weights: [...weights, 0, 0] };
    });
    engine.attacksChanged(detector.judge(hostRows(...rows), rows.length, now), now.wallMs);
    engine.tick(now.wallMs);
  }
  await flush(engine);
  // In dry run nothing is announced.
  expect(announcer.routes).toEqual([]);
  return { bans: [...banned.values()], lasting: detector.active.size };
}

/** Whether bans that the truth does not have are those that the documents name. */
function isNamed({ ways: [, counters, times, session], quiet }: Case): boolean {
  const isBeside = counters === TOTALS && session === RESTARTS;
  return times === WITHOUT_TIMES && quiet >= (isBeside ? AT_ONCE_BESIDE : AT_ONCE);
}

async function* cases(): AsyncGenerator<Case> {
  const tool = Bun.spawn([TOOL, String(CASES)], { env: { TEST_SEED: SEED }, stdout: "pipe", stderr: "inherit" });
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of tool.stdout) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as Case;
  }
  expect(await tool.exited).toBe(0);
}

test(`exporters that misbehave have the same hosts banned as the truth (SEED=${SEED})`, async () => {
  const differences: unknown[] = [];
  let [all, flooded] = [0, 0];
  for await (const one of cases()) {
    const truth = await bansBy(one.ticks.map(([of]) => of));
    const decoded = await bansBy(one.ticks.map(([, of]) => of));
    all++;
    flooded += truth.bans.length > 0 ? 1 : 0;
    const missed = truth.bans.filter((host) => !decoded.bans.includes(host));
    // A ban twice is one more, too.
    const extra = isNamed(one) ? 0 : decoded.bans.length - truth.bans.length;
    if (missed.length + truth.lasting + decoded.lasting > 0 || extra > 0) {
      differences.push({ ways: one.ways, quiet: one.quiet, truth, decoded });
    }
  }
  expect(differences).toEqual([]);
  expect([all, flooded > 0, flooded < all]).toEqual([CASES, true, true]);
}, 3_600_000);
