/**
 * Two brains, three routers, three members of etcd and two scrub nodes under floods, while each part is killed, frozen,
 * cut off, slow or wrong about the time, and each two of them: after each fault a line of the table. Exits 1 where a route
 * was missing for longer than on one box, or there for longer than it may be, an acknowledged order or an event is lost,
 * an order took over 2 s, a node was without rules, a diverted victim moved, or an event came twice without a fault.
 * Needs root and the packages of the Makefile. ONLY, a regular expression, selects faults by their names: those of two parts have a +.
 */
import { freePort } from "../../fixtures/service.ts";
import { textTable } from "../../text-table.ts";
import { ClusterWorld } from "./cluster-world.ts";
import { FAULTS, type Fault, type Watched } from "./faults.ts";
import { AFTER_MAX_MS, type TrialResult, tryFault } from "./trial.ts";

/** Of BIRD's record, which has no looks: a route that is replaced in one step is not missing. */
const GAP_MAX_MS = 0;
/** Of a route whose unban a brain learns of when the fault is over. */
const UNWANTED_MAX_MS = 5000;
const ORDER_MAX_MS = 2000;

/** All that is wrong with it. */
function wrongOf({
  fault,
  gapMs,
  unwantedMs,
  afterMs,
  orders,
  events,
  moves,
  unfiltered,
  unfilteredAt,
}: TrialResult): string[] {
  const gaps = Object.entries(gapMs) as [Watched, number][];
  const checks: [string, boolean][] = [
    ...gaps.map(([at, ms]): [string, boolean] => [`gap ${at}`, ms > (fault.gapMaxMs?.[at] ?? GAP_MAX_MS)]),
    ["unwanted", unwantedMs > UNWANTED_MAX_MS || afterMs > AFTER_MAX_MS],
    ["orders", orders.lost > 0 || orders.failed > 0 || (fault.mayNotShare === false && orders.unshared > 0)],
    ["slow", orders.slowestMs > ORDER_MAX_MS],
    [`lost ${events.lost.join(" ")}`, events.lost.length > 0],
    ["repeated", fault.name === "none" && events.repeated > 0],
    ["state taken for damaged", isDamaged],
    ["moved", moves > 0 && fault.mayMove !== true],
    [`unfiltered ${unfilteredAt[0]} to ${unfilteredAt.at(-1)}`, unfiltered > 0],
  ];
  return checks.flatMap(([name, isWrong]) => (isWrong ? [name] : []));
}

const RIGHT = "ok";
const NOT_RECOVERED = "WRONG: not as before";
const HEAD = [
  ...["", "fault", "no route, ms: both / first / second", "unwanted, s: unbanned / attacks"],
  ...[
    "orders: done / not shared / failed / lost",
    "slowest, ms",
    "events: lost / repeated",
    "moves",
    "looks at rules: none / all",
  ],
];

function rowOf(result: TrialResult): string[] {
  const { fault, gapMs, unwantedMs, afterMs, orders, events, moves, unfiltered, looks } = result;
  const wrong = wrongOf(result);
  const seconds = (ms: number) => (ms / 1000).toFixed(1);
  return [
    wrong.length === 0 ? RIGHT : `WRONG: ${wrong.join(", ")}`,
    fault.name,
    `${gapMs.router} / ${gapMs.first} / ${gapMs.second}`,
    `${seconds(unwantedMs)} / ${seconds(afterMs)}`,
    `${orders.acknowledged.length} / ${orders.unshared} / ${orders.failed} / ${orders.lost}`,
    String(orders.slowestMs),
    `${events.lost.length} / ${events.repeated}`,
    String(moves),
    `${unfiltered} / ${looks}`,
  ];
}

/** After a fault from which the brains did not recover, the next one begins in a new world. */
async function tryAll(faults: readonly Fault[]): Promise<readonly (readonly string[])[]> {
  let world: ClusterWorld | null = null;
  const rows: (readonly string[])[] = [];
  try {
    for (const fault of faults) {
      world ??= await newWorld();
      const row = await tryFault(world, fault).then(rowOf, (cause) => {
        console.log(String(cause));
        return [NOT_RECOVERED, fault.name, ...HEAD.slice(2).map(() => "")];
      });
      console.log(row.join("  "));
      rows.push(row);
      if (row[0] !== NOT_RECOVERED) continue;
      await world.close();
      world = null;
    }
  } finally {
    await world?.close();
  }
  return rows;
}

async function newWorld(): Promise<ClusterWorld> {
  const world = new ClusterWorld();
  try {
    await world.start([await freePort(), await freePort()]);
  } catch (cause) {
    await world.close();
    throw cause;
  }
  console.log("two brains, three routers, three members of etcd and two scrub nodes are up");
  return world;
}

const only = new RegExp(process.env["ONLY"] ?? "");
const rows = await tryAll(FAULTS.filter(({ name }) => only.test(name)));
console.log(`\n${textTable([HEAD, ...rows], (column) => column > 3)}`);
process.exit(rows.length > 0 && rows.every(([verdict]) => verdict === RIGHT) ? 0 : 1);
