/**
 * Two brains, three routers and three members of etcd under floods, while each part is killed, frozen or cut off: after
 * each fault a line of the table. Exits 1 where a route was missing, an acknowledged order is lost, or an event came twice
 * without a fault. Needs root, gobgpd, bird, nft, etcd, etcdctl and socat. ONLY=text runs the faults whose names have it.
 */
import { freePort } from "../../fixtures/service.ts";
import { textTable } from "../../text-table.ts";
import { type Brain, ClusterWorld } from "./cluster-world.ts";
import { type Fault, type TrialResult, tryFault } from "./trial.ts";

/** What the looks themselves may miss, and a busy machine. */
const GAP_MAX_MS = 400;

const brain = (world: ClusterWorld, i: 0 | 1) => world.brains[i] as Brain;
const nothing = () => {};

const FAULTS: readonly Fault[] = [
  { name: "none", begin: nothing, end: nothing },
  {
    name: "brain1 killed",
    begin: (world) => world.kill(brain(world, 0)),
    end: (world) => world.revive(brain(world, 0)),
  },
  {
    name: "brain1 frozen",
    begin: (world) => brain(world, 0).service.signal("SIGSTOP"),
    end: (world) => brain(world, 0).service.signal("SIGCONT"),
  },
  {
    name: "brain1 cut off",
    begin: (world) => world.network.partition(brain(world, 0).place, false),
    end: (world) => world.network.heal(brain(world, 0).place),
  },
  {
    name: "brain1 receives nothing",
    begin: (world) => world.network.partition(brain(world, 0).place, true),
    end: (world) => world.network.heal(brain(world, 0).place),
  },
  {
    name: "brain2 cut off, orders there",
    begin: (world) => world.network.partition(brain(world, 1).place, false),
    end: (world) => world.network.heal(brain(world, 1).place),
  },
  {
    name: "a member of etcd killed",
    begin: (world) => world.etcd[2]?.kill(),
    end: (world) => world.etcd[2]?.start(),
  },
  {
    name: "a member of etcd frozen",
    begin: (world) => world.etcd[1]?.freeze(),
    end: (world) => world.etcd[1]?.thaw(),
  },
  {
    name: "all data of etcd lost",
    async begin(world) {
      await Promise.all(world.etcd.map((member) => member.kill()));
      for (const member of world.etcd) member.wipe();
    },
    end: (world) => world.startEtcd(),
  },
  {
    name: "brain1 killed, etcd frozen",
    async begin(world) {
      world.etcd[2]?.freeze();
      await world.kill(brain(world, 0));
    },
    async end(world) {
      world.etcd[2]?.thaw();
      await world.revive(brain(world, 0));
    },
  },
];

/** Whether all holds that must. A brain that alone sees a flood announces it from its own speaker, which stays. */
function holds({ name, gapMs, orders, events }: TrialResult): boolean {
  const areRoutesThere = Object.values(gapMs).every((ms) => ms <= GAP_MAX_MS);
  const isOnce = name !== "none" || (events.repeated === 0 && orders.unshared === 0);
  return areRoutesThere && orders.lost === 0 && orders.failed === 0 && events.began >= 3 && isOnce;
}

function rowOf(result: TrialResult): string[] {
  const { name, gapMs, orders, slowestOrderMs, events, looks } = result;
  return [
    holds(result) ? "ok" : "WRONG",
    name,
    `${gapMs.router} / ${gapMs.first} / ${gapMs.second}`,
    `${orders.acknowledged} / ${orders.unshared} / ${orders.failed} / ${orders.lost}`,
    String(slowestOrderMs),
    `${events.began} / ${events.repeated}`,
    String(looks),
  ];
}

const only = process.env["ONLY"] ?? "";
const world = new ClusterWorld();
let isRight = true;
try {
  await world.start([await freePort(), await freePort()]);
  console.log("two brains, three routers and three members of etcd are up");
  const results: TrialResult[] = [];
  for (const fault of FAULTS.filter(({ name }) => name.includes(only))) {
    const result = await tryFault(world, fault);
    console.log(rowOf(result).join("  "));
    results.push(result);
  }
  isRight = results.every(holds);
  const head = [
    ...["", "fault", "no route, ms: both / first / second", "orders: done / not shared / failed / lost"],
    ...["slowest, ms", "events: began / repeated", "looks"],
  ];
  console.log(`\n${textTable([head, ...results.map(rowOf)], (column) => column > 3)}`);
} catch (cause) {
  for (const { place, service } of world.brains)
    console.log(`${place.name} said last:\n${service.output.slice(-3000)}`);
  throw cause;
} finally {
  await world.close();
}
process.exit(isRight ? 0 : 1);
