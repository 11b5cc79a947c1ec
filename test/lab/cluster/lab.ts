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
import { FAULTS, type Watched } from "./faults.ts";
import { AFTER_MAX_MS, type TrialResult, tryFault } from "./trial.ts";

/** Of BIRD's record, which has no looks: a route that is replaced in one step is not missing. */
const GAP_MAX_MS = 0;
/** Of a route whose unban a brain learns of when the fault is over. */
const UNWANTED_MAX_MS = 5000;
const ORDER_MAX_MS = 2000;

/** All that is wrong with it. */
function wrongOf({ fault, gapMs, unwantedMs, afterMs, orders, events, moves, unfiltered }: TrialResult): string[] {
  const gaps = Object.entries(gapMs) as [Watched, number][];
  const checks: [string, boolean][] = [
    ...gaps.map(([at, ms]): [string, boolean] => [`gap ${at}`, ms > (fault.gapMaxMs?.[at] ?? GAP_MAX_MS)]),
    ["unwanted", unwantedMs > UNWANTED_MAX_MS || afterMs > AFTER_MAX_MS],
    ["orders", orders.lost > 0 || orders.failed > 0 || (fault.mayNotShare === false && orders.unshared > 0)],
    ["slow", orders.slowestMs > ORDER_MAX_MS],
    [`lost ${events.lost.join(" ")}`, events.lost.length > 0],
    ["repeated", fault.name === "none" && events.repeated > 0],
    ["moved", moves > 0 && fault.mayMove !== true],
    ["unfiltered", unfiltered > 0],
  ];
  return checks.flatMap(([name, isWrong]) => (isWrong ? [name] : []));
}

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
    wrong.length === 0 ? "ok" : `WRONG: ${wrong.join(", ")}`,
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

const only = new RegExp(process.env["ONLY"] ?? "");
const world = new ClusterWorld();
let isRight = true;
try {
  await world.start([await freePort(), await freePort()]);
  console.log("two brains, three routers, three members of etcd and two scrub nodes are up");
  const results: TrialResult[] = [];
  for (const fault of FAULTS.filter(({ name }) => only.test(name))) {
    const result = await tryFault(world, fault);
    console.log(rowOf(result).join("  "));
    results.push(result);
  }
  isRight = results.length > 0 && results.every((result) => wrongOf(result).length === 0);
  console.log(`\n${textTable([HEAD, ...results.map(rowOf)], (column) => column > 3)}`);
} catch (cause) {
  for (const { place, service } of world.brains)
    console.log(`${place.name} said last:\n${service.output.slice(-3000)}`);
  throw cause;
} finally {
  await world.close();
}
process.exit(isRight ? 0 : 1);
