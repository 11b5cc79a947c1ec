/**
 * The main job, step by step and with times: a flood, its blackhole route in BIRD, every packet accounted for, and the
 * route withdrawn.
 */
import { eventually } from "../../fixtures/service.ts";
import { NEXT_HOP, type Sent, THRESHOLD_PPS, type World } from "../world.ts";
import { activeAttack, expectOver } from "./attack-answers.ts";
import { grouped, type Stage } from "./stage.ts";

const VICTIM = "203.0.113.7";
const PREFIX = `${VICTIM}/32`;
const FLOOD_PPS = 10 * THRESHOLD_PPS;
const HOSTS = 50;
/** In an emulated machine the program that sends takes seconds to start. */
const SEEN_WITHIN_MS = 20_000;

export async function showBlackhole(world: World, stage: Stage): Promise<void> {
  const before = await captureTotals(world);
  const background = world.send({ profile: "mixed", target: "203.0.113.1", hosts: HOSTS, pps: 2000, seconds: 2 });
  let hosts = 0;
  await eventually(
    async () => {
      hosts = (await world.service.get<{ hosts: unknown[] }>("/api/v1/hosts")).body.hosts.length;
      return hosts >= HOSTS;
    },
    () => `background to ${HOSTS} hosts was sent, but ${hosts} are seen`,
    SEEN_WITHIN_MS,
  );
  const noise = await background;
  stage.step("rates", `background traffic: ${hosts} hosts seen, none in attack`);

  const threshold = `ten times the threshold of ${grouped(THRESHOLD_PPS)}`;
  stage.step("flood", `UDP to ${VICTIM}, ${grouped(FLOOD_PPS)} packets/s: ${threshold}`);
  const flood = world.send({ profile: "udp", target: VICTIM, sources: 1000, pps: FLOOD_PPS, seconds: 3 });
  const seenAtMs = await Promise.race([routeSeen(world), flood.then(() => routeSeen(world))]);
  stage.step("BIRD", `${PREFIX} is in the peer's table, next hop ${NEXT_HOP}: discard`);
  const attack = await activeAttack(world.service, VICTIM);
  const share = Math.round((attack.reason.shares?.["udp"] ?? 0) * 100);
  const rates = `over ${grouped(attack.threshold)}, now ${grouped(attack.rate)}`;
  stage.step("attack", `${attack.metric} ${rates}; ${share} % UDP`);
  stage.step("ban", `${attack.ban_state}: ${attack.route}`);

  const sent = await flood;
  const latencyMs = seenAtMs - sent.first_packet_wall_ns / 1e6;
  stage.step("result", `first flood packet → route in BIRD: ${latencyMs.toFixed(0)} ms`);
  stage.step("counts", await counted(world, before, [noise, sent]));
  stage.step("calm", `the flood is over: ${grouped(sent.packets)} packets sent; waiting for the end of the attack`);
  await eventually(async () => !(await world.bird.hasRoute(PREFIX)), "the route was not withdrawn", 15_000);
  stage.step("BIRD", `${PREFIX} is withdrawn`);
  await expectOver(world.service, VICTIM);
  stage.step("end", "the attack is over, its ban withdrawn");
}

/** Wall time at which BIRD had the route, ms. */
async function routeSeen(world: World): Promise<number> {
  await eventually(() => world.bird.hasRoute(PREFIX), "no route was seen in BIRD", 5_000);
  const seenAtMs = performance.timeOrigin + performance.now();
  const nextHops = (await world.bird.routes()).map(({ nextHop }) => nextHop);
  if (String(nextHops) !== NEXT_HOP) throw new Error(`the route's next hop is ${nextHops.join()}, not ${NEXT_HOP}`);
  return seenAtMs;
}

/** Packets that all sources have received, and that they report as dropped. */
type Totals = readonly [received: number, dropped: number];

async function captureTotals({ service }: World): Promise<Totals> {
  const text = await (await fetch(`http://127.0.0.1:${service.port}/metrics`)).text();
  const sum = (what: string) =>
    [...text.matchAll(new RegExp(`^svc_capture_${what}_packets_total\\{.*\\} (\\S+)$`, "gm"))].reduce(
      (total, [, value]) => total + Number(value),
      0,
    );
  return [sum("received"), sum("dropped")];
}

/** What left the attacker was received or is reported as dropped, to the packet: nothing is lost in silence. */
async function counted(world: World, before: Totals, sent: readonly Sent[]): Promise<string> {
  const arrived = sent.reduce((sum, { packets, device_drops }) => sum + packets - device_drops, 0);
  let [received, dropped] = [0, 0];
  const isAll = async () => {
    const now = await captureTotals(world);
    [received, dropped] = [now[0] - before[0], now[1] - before[1]];
    return received + dropped === arrived;
  };
  const counts = () =>
    `${grouped(arrived)} packets arrived: ${grouped(received)} received, ${grouped(dropped)} dropped`;
  await eventually(isAll, counts, 3_000);
  return counts();
}
