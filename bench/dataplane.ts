/**
 * How many packets per second does the kernel filter drop, with few and many source blocks and rules? Compared with a
 * bare XDP drop and with simple block lists. How long does it take to fill the tables, and how much memory do they
 * need?
 */
import { readPinnedStatus } from "../src/dataplane/kernel-filter.ts";
import type { FilterVerdict } from "../src/dataplane/native.d.ts";
import { answered, PacketProcess } from "../test/fixtures/dataplane/asked-process.ts";
import { BpfDirectory } from "../test/fixtures/dataplane/bpf-directory.ts";
import { namespacesUnavailable } from "../test/lab/namespaces.ts";
import { buildRivals, XDP_DROP, XDP_HASH_BLOCK, XDP_LPM_BLOCK } from "./counting-process.ts";
import { BOUNDS, later, PAIRS, pairsTo, RULE_VICTIMS, rulesFor, VICTIM, WIDE_RULE } from "./dataplane-tables.ts";
import { fillTimes, mapBytes } from "./dataplane-upkeep.ts";
import { type Bench, compared, figure, type Measurement, type RunOptions } from "./measurement.ts";
import { DEVICE, type Flood, type FloodOptions, Wire } from "./wire.ts";

const RUNS = 5;
const SECONDS = 1.5;
const FEW_PAIRS = 1000;
const PUT_AT_ONCE = 10_000;
/** Each source of the flood sends several packets. */
const FILL_SECONDS = 0.5;

const toVictim = (sources: number): FloodOptions => ({ target: VICTIM, sources, seconds: SECONDS });
const toMany: FloodOptions = { ...RULE_VICTIMS, sources: 1, seconds: SECONDS };

/** The rules that drop the flood in each case, one case after the other, since tables only grow. */
const CASES = {
  oneRule: "XDP drop by one rule, no source pairs",
  rules: "XDP drop by the last of 8 rules of a victim, 4,096 rules",
  fewPairs: "XDP source-block drop, 1,000 pairs",
  pairs: "XDP source-block drop, 100,000 pairs",
  inVain: "XDP drop by the last of 8 rules, 4,096 rules and 100,000 pairs in vain",
} as const;
type Case = keyof typeof CASES;
/** Least ratios to a bare XDP drop, which runs beside each of them. */
const RATIOS_MIN: Record<Case, number | null> = {
  oneRule: 0.65,
  rules: 0.6,
  fewPairs: null,
  pairs: 0.65,
  inVain: null,
};
type Rival = "drop" | "hash" | "lpm";

export const dataplane: Bench = {
  question: "packets per second that the kernel filter drops, and what its tables cost",
  async run({ isQuick }: RunOptions) {
    const unavailable = namespacesUnavailable();
    if (unavailable !== null) return { skipped: unavailable };
    buildRivals();
    const runs = isQuick ? 1 : RUNS;
    return [...(await rates(runs)), ...upkeep(runs)];
  },
};

/** All variants in turn, since machines drift. */
async function rates(runs: number): Promise<Measurement[]> {
  const ours: Record<Case, number[]> = { oneRule: [], rules: [], fewPairs: [], pairs: [], inVain: [] };
  const rivals: Record<Rival, number[]> = { drop: [], hash: [], lpm: [] };
  using wire = new Wire();
  for (let run = 0; run < runs; run++) {
    rivals.hash.push(await runList(wire, XDP_HASH_BLOCK));
    rivals.lpm.push(await runList(wire, XDP_LPM_BLOCK));
    rivals.drop.push(await runDrop(wire));
    const rateOf = await runOurs(wire);
    for (const name of Object.keys(CASES) as Case[]) ours[name].push(rateOf[name]);
  }
  return measurements(ours, rivals);
}

function measurements(ours: Record<Case, number[]>, rivals: Record<Rival, number[]>): Measurement[] {
  const bare = figure("bare XDP drop", rivals.drop);
  const unit = "packets/s";
  const rows = (Object.keys(CASES) as Case[]).map((name) => {
    const of = figure("Floodwall", ours[name]);
    return compared({ question: CASES[name], unit, ours: of, rival: bare, ratioMin: RATIOS_MIN[name] });
  });
  const pairs = figure("Floodwall", ours.pairs);
  const lists = [figure("per-CPU hash of pairs", rivals.hash), figure("LPM trie of sources", rivals.lpm)];
  const question = CASES.pairs;
  return [...rows, ...lists.map((rival) => compared({ question, unit, ours: pairs, rival, ratioMin: null }))];
}

// The rate is what the veth accepted during the flood: sending and the program run on the same CPU in turn.
function rate({ arrived, seconds }: Flood): number {
  return arrived / seconds;
}

async function runDrop(wire: Wire): Promise<number> {
  wire.attach(XDP_DROP);
  const flood = await wire.flood(toVictim(PAIRS));
  wire.detach();
  return rate(flood);
}

async function runList(wire: Wire, program: string): Promise<number> {
  wire.attach(program);
  await wire.flood({ ...toVictim(PAIRS), seconds: FILL_SECONDS });
  const flood = await wire.flood(toVictim(PAIRS));
  const filled = filledOf(wire);
  if (filled !== PAIRS) throw new Error(`the rival's list has ${filled} of ${PAIRS} sources`);
  wire.detach();
  return rate(flood);
}

interface FilledRow {
  readonly formatted: { readonly value: number };
}

function filledOf(wire: Wire): number {
  const rows = JSON.parse(wire.box.run(["bpftool", "-j", "map", "dump", "name", "bench_filled"])) as FilledRow[];
  return rows[0]?.formatted.value ?? 0;
}

async function runOurs(wire: Wire): Promise<Record<Case, number>> {
  const directory = new BpfDirectory();
  const filter = new PacketProcess(wire.box);
  const dropped = (verdict: FilterVerdict) => readPinnedStatus(directory.path).verdicts[verdict].packets;
  /** Every arrived packet must have been dropped for this reason; otherwise the rate is meaningless. */
  const measured = async (verdict: FilterVerdict, options: FloodOptions) => {
    const before = dropped(verdict);
    const flood = await wire.flood(options);
    await answered(
      () => dropped(verdict) - before,
      (packets) => packets === flood.arrived,
    );
    return rate(flood);
  };
  try {
    await filter.ask("openFilter", { pinPath: directory.path, interfaces: [DEVICE], ...BOUNDS });
    await filter.ask("setRules", [{ id: "wide", rule: WIDE_RULE, expiresAtMs: later() }]);
    await filter.ask("attach");
    const oneRule = await measured("drop_rule", toVictim(1));
    await filter.ask("setRules", rulesFor());
    const rules = await measured("drop_rule", toMany);
    await filter.ask("putPairs", pairsTo(VICTIM, 0, FEW_PAIRS));
    const fewPairs = await measured("drop_source", toVictim(FEW_PAIRS));
    for (let first = 0; first < PAIRS; first += PUT_AT_ONCE) {
      await filter.ask("putPairs", pairsTo(VICTIM, first, PUT_AT_ONCE));
    }
    const pairs = await measured("drop_source", toVictim(PAIRS));
    const inVain = await measured("drop_rule", toMany);
    await filter.ask("closeFilter", "detach");
    return { oneRule, rules, fewPairs, pairs, inVain };
  } finally {
    await filter.kill();
    directory.close();
  }
}

/** The event loop fills the tables on commands and detections. */
const FILL_MS_MOST = 20;

function upkeep(runs: number): Measurement[] {
  const { pairs, rules, read } = fillTimes(runs);
  const none = { rival: null, target: "none set", isMet: true } as const;
  const filled = (question: string, values: readonly number[]): Measurement => {
    const ours = figure("Floodwall", values);
    const isMet = ours.median <= FILL_MS_MOST;
    return { question, unit: "ms", ours, rival: null, target: `≤ ${FILL_MS_MOST} ms`, isMet };
  };
  const bytes = (question: string, value: number): Measurement => ({
    question,
    unit: "bytes",
    ours: figure("Floodwall", [value]),
    ...none,
    isExact: true,
  });
  const memory = mapBytes();
  return [
    filled("Install 10,000 source pairs beside 90,000", pairs),
    filled("Set 4,096 rules in place of 4,096 others", rules),
    { question: "Read 100,000 source pairs with their hits", unit: "ms", ours: figure("Floodwall", read), ...none },
    bytes("Kernel memory for each source pair of 100,000", memory.forPair),
    bytes("Kernel memory of all maps, 100,000 pairs and 4,096 rules", memory.all),
  ];
}
