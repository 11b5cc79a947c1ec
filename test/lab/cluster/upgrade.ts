/**
 * A rolling upgrade under floods: two brains of an earlier version, one after the other ended and started again as this
 * version with its state. Exits 1 where a router was without a route, where an order of before is not in force at both brains
 * afterwards, or where a brain does not know an attack, a ban by hand or an audit row that it knew before. FROM is a tag or a commit; default: the newest tag. Needs root and the packages of the Makefile.
 */
import { eventually, freePort } from "../../fixtures/service.ts";
import { VICTIMS } from "./cluster-config.ts";
import { type Brain, ClusterWorld, type Router } from "./cluster-world.ts";
import { Floods } from "./floods.ts";
import { oldTree, tagBefore } from "./old-tree.ts";
import { order } from "./operators.ts";

/** After an upgrade, so that what goes wrong then is seen. */
const WATCHED_MS = 8000;

const revision = process.env["FROM"] ?? tagBefore();
if (revision === null) {
  console.log("there is no tag: FROM=COMMIT says which version is upgraded");
  process.exit(2);
}
const old = oldTree(revision);
const world = new ClusterWorld();
let isRight = true;
try {
  await world.start([await freePort(), await freePort()], old);
  console.log(`two brains of ${old.name} are up, ${old.hasCluster ? "as a pair" : "each alone"}`);
  isRight = await upgradeBoth();
} finally {
  await world.close();
}
process.exit(isRight ? 0 : 1);

async function upgradeBoth(): Promise<boolean> {
  const [first, second] = world.brains as [Brain, Brain];
  const floods = new Floods(world);
  const routes: readonly (readonly [string, Router, string])[] = [
    ["mirror, router of both", world.router, VICTIMS.mirrored],
    ["flow records, router of both", world.router, VICTIMS.exported],
    ["diverted, router of both", world.router, VICTIMS.diverted],
    ["router of brain1", first.edge, VICTIMS.first],
    ["router of brain2", second.edge, VICTIMS.second],
  ];
  for (const [name, router, victim] of routes) {
    await eventually(() => router.bird.hasRoute(`${victim}/32`), `no route before the upgrade: ${name}`, 20_000, 50);
  }
  const orders: string[] = [];
  const orderAt = async (brain: Brain) => {
    const { prefix, status } = await order(world, brain, !old.hasCluster);
    if (status !== 200) throw new Error(`${brain.place.name} answers an order with ${status}`);
    orders.push(prefix);
  };
  for (const brain of [first, second]) for (let i = 0; i < 3; i++) await orderAt(brain);
  const fromMs = Date.now();
  let isKept = true;
  for (const [i, brain] of [first, second].entries()) {
    const before = await knownAt(brain);
    await brain.service.stop("SIGTERM");
    await world.revive(brain);
    if (old.hasCluster || i === 1) {
      await eventually(
        () => world.areLinked(),
        () => `${brain.place.name} finds no other brain`,
        60_000,
        200,
      );
    }
    await Bun.sleep(WATCHED_MS);
    const lost = before.difference(await knownAt(brain));
    isKept &&= lost.size === 0;
    for (const each of [first, second]) await orderAt(each);
    console.log(
      `${brain.place.name} is upgraded, and knows ${before.size - lost.size} of ${before.size} things of before`,
    );
    for (const text of lost) console.log(`  lost: ${text}`);
  }
  await Bun.sleep(WATCHED_MS);
  const toMs = Date.now();
  const isWhole = await areAt(orders);
  await floods.stop();
  let isRight = isWhole && isKept;
  for (const [name, { log }, victim] of routes) {
    const gapMs = log.longestGapMs(`${victim}/32`, fromMs, toMs);
    console.log(`${name}: no route for ${gapMs} ms`);
    isRight &&= gapMs === 0;
  }
  console.log(`${orders.length} orders, ${isWhole ? "all" : "NOT ALL"} at both brains`);
  return isRight;
}

type Row = Readonly<Record<string, string | boolean>>;

/** State and history of a brain, a text each: what a newer version must know too. */
async function knownAt(brain: Brain): Promise<ReadonlySet<string>> {
  const { active, recent } = await world.get<Record<"active" | "recent", readonly Row[]>>(brain, "attacks");
  const { events } = await world.get<{ events: readonly Row[] }>(brain, "audit?action=ban");
  const { bans } = await world.get<{ bans: readonly Row[] }>(brain, "bans");
  return new Set([
    ...[...active, ...recent].map(({ id, target, started_at: at }) => `attack ${id} on ${target} since ${at}`),
    ...events.map(({ event_time: at, ip, operator }) => `audit row of ${at}: ${ip} by ${operator}`),
    ...bans
      .filter(({ manual }) => manual === true)
      .map(({ target, started_at: at, expires_at: end }) => `ban of ${target} from ${at} to ${end}`),
  ]);
}

/** Whether both brains have the bans in force, after a while at most. */
async function areAt(prefixes: readonly string[]): Promise<boolean> {
  const lacking = async () => {
    const held = await Promise.all(world.brains.map((brain) => world.bansInForce(brain)));
    return prefixes.filter((prefix) => !held.every((each) => each.has(prefix)));
  };
  await eventually(async () => (await lacking()).length === 0, "", 20_000, 200).catch(() => null);
  const missing = await lacking();
  if (missing.length > 0) console.log(`not at both brains: ${missing.join(", ")}`);
  return missing.length === 0;
}
