/**
 * The other ways to stop a flood, each as BIRD sees it: rules that match the attack alone, a divert to a scrubbing center,
 * and a ladder from the one to a blackhole, on IPv6. Each act ends with everything withdrawn.
 */
import { eventually } from "../../fixtures/service.ts";
import {
  DIVERT_COMMUNITY,
  DIVERTED,
  FILTERED,
  LADDER_SECONDS,
  LADDERED,
  NEXT_HOP6,
  SCRUBBER,
  THRESHOLD_PPS,
  type World,
} from "../world.ts";
import { activeAttack, expectOver } from "./attack-answers.ts";
import { grouped, type Stage } from "./stage.ts";

/** From the end of a flood: the hysteresis, and time for a busy machine. */
const WITHDRAWN_DEADLINE_MS = 15_000;
const SEEN_DEADLINE_MS = 8_000;
const RULE_PARTS = [`dst ${FILTERED}/32;`, "proto 17;", "sport 53;", "discard"];

/** An amplification flood: the rule must name what it is, and nothing but the rule may be announced. */
export async function showFlowspec(world: World, stage: Stage): Promise<void> {
  const pps = 2 * THRESHOLD_PPS;
  stage.step("flood", `DNS answers to ${FILTERED}, ${grouped(pps)} packets/s; its hostgroup says mitigation: flowspec`);
  const flood = world.send({ profile: "dns", target: FILTERED, sources: 200, ports: 1000, pps, seconds: 3 });
  let matches: readonly string[] = [];
  const isNarrow = async () => {
    const flows = await world.bird.flows();
    matches = flows.map(({ match, rateBytes }) => `${match}; ${rateBytes === 0 ? "discard" : "pass"}`);
    // Made from few packets at first, and made narrower when there are more.
    return matches.length === 1 && RULE_PARTS.every((part) => matches[0]?.includes(part));
  };
  const complaint = () => `no rule with ${RULE_PARTS.join("; ")} was seen in BIRD, but: ${matches.join(" | ")}`;
  await eventually(isNarrow, complaint, SEEN_DEADLINE_MS);
  stage.step("BIRD", `flow4 { ${matches.join()} }`);
  await expectRoutes(world, "");
  const { classification, method } = await activeAttack(world.service, FILTERED);
  if (method !== "flowspec") throw new Error(`the attack's method is ${method}`);
  stage.step("attack", `${classification?.type}; all other traffic of the victim goes on, no route is announced`);
  await flood;
  await over(world, FILTERED, async () => (await world.bird.flowCount()) === 0);
  stage.step("end", "the rule is withdrawn");
}

export async function showDivert(world: World, stage: Stage): Promise<void> {
  const pps = 5 * THRESHOLD_PPS;
  stage.step("flood", `TCP SYN to ${DIVERTED}, ${grouped(pps)} packets/s; its hostgroup says mitigation: divert`);
  const flood = world.send({ profile: "syn", target: DIVERTED, sources: 1000, ports: 1000, pps, seconds: 2 });
  const hasRoute = () => world.bird.hasRoute(`${DIVERTED}/32`);
  await eventually(hasRoute, "no divert was seen in BIRD", SEEN_DEADLINE_MS);
  await expectRoutes(world, `${DIVERTED}/32 via ${SCRUBBER} community ${DIVERT_COMMUNITY}`);
  stage.step("BIRD", `${DIVERTED}/32 goes to the scrubbing center: ${await routes(world)}`);
  await flood;
  await over(world, DIVERTED, async () => !(await hasRoute()));
  stage.step("end", "the divert is withdrawn");
}

/** From rules to a blackhole: at no time may the victim be without either. */
export async function showLadder(world: World, stage: Stage): Promise<void> {
  const pps = 5 * THRESHOLD_PPS;
  const prefix = `${LADDERED}/128`;
  const ladder = `flowspec, after ${LADDER_SECONDS} s blackhole`;
  stage.step("flood", `TCP SYN to ${LADDERED}, ${grouped(pps)} packets/s; its hostgroup has a ladder: ${ladder}`);
  const seconds = LADDER_SECONDS + 2;
  const flood = world.send({ profile: "syn", target: LADDERED, sources: 1000, ports: 1000, pps, seconds });
  await eventually(async () => (await world.bird.flowCount()) > 0, "no rule was seen in BIRD", SEEN_DEADLINE_MS);
  const match = (await world.bird.flows()).map((flow) => flow.match).join(" | ");
  if (!match.startsWith(`dst ${prefix}; next header 6;`)) throw new Error(`the rule is ${match}`);
  stage.step("BIRD", `flow6 { ${match} }`);
  const looks = await watchClimb(world, prefix);
  await expectRoutes(world, `${prefix} via ${NEXT_HOP6} community 65535:666`);
  stage.step("BIRD", `${prefix} is blackholed, then the rule is withdrawn`);
  stage.step("ladder", `make before break: of ${looks.all} looks at BIRD ${looks.both} found both, none found neither`);
  await flood;
  await over(world, LADDERED, async () => !(await world.bird.hasRoute(prefix)));
  stage.step("end", "the attack is over, its ban withdrawn");
}

/** Looks at BIRD all the time until the rule is gone. Throws when the victim has neither rule nor route. */
async function watchClimb(world: World, prefix: string): Promise<{ all: number; both: number }> {
  const deadlineMs = performance.now() + LADDER_SECONDS * 1000 + SEEN_DEADLINE_MS;
  for (const looks = { all: 0, both: 0 }; performance.now() < deadlineMs; await Bun.sleep(2)) {
    // The rule first: when it has just gone, the route must have come before.
    const hasRule = (await world.bird.flowCount()) > 0;
    const hasRoute = await world.bird.hasRoute(prefix);
    looks.all++;
    if (hasRule && hasRoute) looks.both++;
    if (!hasRule && !hasRoute) throw new Error(`the rule of ${prefix} was withdrawn before its blackhole was there`);
    if (!hasRule) return looks;
  }
  throw new Error("the ladder was not climbed");
}

async function over(world: World, victim: string, isWithdrawn: () => Promise<boolean>): Promise<void> {
  await eventually(isWithdrawn, `what was announced for ${victim} is left`, WITHDRAWN_DEADLINE_MS);
  await expectOver(world.service, victim);
}

async function routes({ bird }: World): Promise<string> {
  const shown = (await bird.routes()).map(
    ({ prefix, nextHop, communities }) => `${prefix} via ${nextHop} community ${communities.join(" ")}`,
  );
  return shown.join(", ");
}

async function expectRoutes(world: World, wanted: string): Promise<void> {
  const seen = await routes(world);
  if (seen !== wanted) throw new Error(`BIRD should have ${wanted || "no route"}, and has ${seen || "none"}`);
}
