/**
 * The main job, step by step and with times: a flood, its blackhole route in BIRD, every packet accounted for, and the
 * route withdrawn.
 */
import { eventually } from "../../fixtures/service.ts";
import { NEXT_HOP, type Sent, THRESHOLD_PPS, type World } from "../world.ts";
import { activeAttack, type CaptureTotals, captureTotals, expectOver } from "./attack-answers.ts";
import { grouped, type Narrator } from "./narrator.ts";

const VICTIM = "203.0.113.7";
const PREFIX = `${VICTIM}/32`;
const FLOOD_PPS = 10 * THRESHOLD_PPS;
const FLOOD_SECONDS = 3;

export async function showBlackhole(world: World, say: Narrator): Promise<void> {
  const before = await captureTotals(world);
  const background = world.send({ profile: "mixed", target: "203.0.113.1", hosts: 50, pps: 2000, seconds: 2 });
  await Bun.sleep(1500);
  const hosts = (await world.service.get<{ hosts: unknown[] }>("/api/v1/hosts")).body.hosts.length;
  if (hosts < 50) throw new Error(`background to 50 hosts was sent, but ${hosts} are seen`);
  const noise = await background;
  say.step("rates", `background traffic: ${hosts} hosts seen, none in attack`);

  say.step(
    "flood",
    `UDP to ${VICTIM}, ${grouped(FLOOD_PPS)} packets/s: ten times the threshold of ${grouped(THRESHOLD_PPS)}`,
  );
  const flood = world.send({ profile: "udp", target: VICTIM, sources: 1000, pps: FLOOD_PPS, seconds: FLOOD_SECONDS });
  const seenAtMs = await Promise.race([routeSeen(world), flood.then(() => routeSeen(world))]);
  say.step("BIRD", `${PREFIX} is in the peer's table, next hop ${NEXT_HOP}: discard`);
  const attack = await activeAttack(world.service, VICTIM);
  const share = Math.round((attack.reason.shares["udp"] ?? 0) * 100);
  say.step("attack", `${attack.metric} over ${grouped(attack.threshold)}, now ${grouped(attack.rate)}; ${share} % UDP`);
  say.step("ban", `${attack.ban_state}: ${attack.route}`);

  const sent = await flood;
  const latencyMs = seenAtMs - sent.first_packet_wall_ns / 1e6;
  say.step("result", `first flood packet → route in BIRD: ${latencyMs.toFixed(0)} ms`);
  await showCounts({ world, say, before, sent: [noise, sent] });
  say.step("calm", `the flood is over: ${grouped(sent.packets)} packets sent; waiting for the end of the attack`);
  await eventually(async () => !(await world.bird.hasRoute(PREFIX)), "the route was not withdrawn", 15_000);
  say.step("BIRD", `${PREFIX} is withdrawn`);
  await expectOver(world, VICTIM);
  say.step("end", "the attack is over, its ban withdrawn");
}

/** Wall time at which BIRD had the route, ms. */
async function routeSeen(world: World): Promise<number> {
  await eventually(() => world.bird.hasRoute(PREFIX), "no route was seen in BIRD", 5_000);
  const seenAtMs = performance.timeOrigin + performance.now();
  const nextHops = (await world.bird.routes()).map(({ nextHop }) => nextHop);
  if (String(nextHops) !== NEXT_HOP) throw new Error(`the route's next hop is ${nextHops.join()}, not ${NEXT_HOP}`);
  return seenAtMs;
}

interface Counting {
  readonly world: World;
  readonly say: Narrator;
  readonly before: CaptureTotals;
  readonly sent: readonly Sent[];
}

/** What left the attacker was received or is reported as dropped, to the packet: nothing is lost in silence. */
async function showCounts({ world, say, before, sent }: Counting): Promise<void> {
  const arrived = sent.reduce((sum, { packets, device_drops }) => sum + packets - device_drops, 0);
  let received = 0;
  let dropped = 0;
  await eventually(
    async () => {
      const now = await captureTotals(world);
      received = now.received - before.received;
      dropped = now.dropped - before.dropped;
      return received + dropped === arrived;
    },
    () => `${arrived} packets arrived, but ${received} received and ${dropped} dropped are reported`,
    3_000,
  );
  say.step("counts", `${grouped(arrived)} packets arrived: ${grouped(received)} received, ${grouped(dropped)} dropped`);
}
