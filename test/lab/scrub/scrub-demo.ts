/**
 * `make lab-scrub`: a flood and a user's requests go to the same victim. Floodwall has the router send the victim's traffic
 * by a scrub node, which drops the flood and passes the requests on. Exits 0 only if every step was seen and every bound
 * was kept; `--seconds` is how long the flood lasts.
 */
import { parseArgs } from "node:util";
import { PATIENCE } from "../../fixtures/patience.ts";
import { eventually } from "../../fixtures/service.ts";
import { grouped, perform, type Stage } from "../demo/stage.ts";
import { namespacesUnavailable } from "../namespaces.ts";
import type { Sent } from "../world.ts";
import { NODE, ScrubLab, THRESHOLD_PPS } from "./scrub-lab.ts";
import { NODE_HOP, PREFIX, VICTIM } from "./scrub-network.ts";
import { arrivedShare, arrivedShareFromFirstDrop, complaintsOf, type FloodCounts, percent } from "./scrub-verdict.ts";

const FLOOD_PPS = 10 * THRESHOLD_PPS;
/** The user alone stays well below the threshold, which an emulated machine has lower. */
const REQUEST_INTERVAL_MS = 10 * PATIENCE;
const SEEN_DEADLINE_MS = 10_000;
/** From the end of the flood: the hysteresis, and time for a busy machine. */
const WITHDRAWN_DEADLINE_MS = 15_000;
const LOOK_PAUSE_MS = 2;
const RULE_PARTS = ['"proto":17', '"src_port":53'];
const STRAIGHT = "dev victim0";
const BY_NODE = `via ${NODE_HOP} dev scrub0`;

const { values } = parseArgs({ options: { seconds: { type: "string", default: "40" } } });
const seconds = Number(values.seconds);
if (!(seconds >= 5 && seconds <= 600)) throw new Error(`--seconds: not from 5 to 600: ${values.seconds}`);
const unavailable = namespacesUnavailable();
if (unavailable === null) await perform(showLab, 1);
else console.log(`skipped: the scrubbing lab: ${unavailable}`);

async function showLab(stage: Stage): Promise<void> {
  stage.step("world", "attacker, client, router, brain, scrub node and victim, in network namespaces of their own");
  const apiPort = Number(process.env["PORT"] ?? 8080);
  const lab = await ScrubLab.create(apiPort, stage.undo);
  stage.lastWords = () => lab.lastWords;
  stage.step("API", `http://127.0.0.1:${apiPort}/api/v1/status, with the token OPERATOR`);
  const requests = lab.requests(REQUEST_INTERVAL_MS);
  await eventually(() => requests.served > 0, "the victim does not serve its client");
  expectWay(lab, STRAIGHT);
  stage.step("ready", `${VICTIM} serves its client, straight from the router; the scrub node polls the brain`);
  const rate = `${grouped(FLOOD_PPS)} packets/s for ${seconds} s: ten times the threshold`;
  stage.step("flood", `DNS answers to ${VICTIM}, ${rate}`);
  const flooding = lab.flood({
    // Each port has as many packets in a row as there are sources, so the ports move on, every 20 ms: rules have to follow.
    ...{ profile: "dns", sources: FLOOD_PPS / 50, ports: 1000, path: "socket" },
    ...{ pps: FLOOD_PPS, seconds },
  });
  // Looked at when the flood ends, and not when all of it was seen: then the attack may be over.
  const ending = flooding.then((sent) => {
    expectWay(lab, BY_NODE);
    return sent;
  });
  const [seen, sent] = await Promise.all([watchMitigation(lab, stage), ending]);
  const startedAtMs = sent.first_packet_wall_ns / 1e6;
  for (const [what, atMs] of Object.entries(seen.atMs)) {
    stage.step("result", `first flood packet → ${what}: ${(atMs - startedAtMs).toFixed(0)} ms`);
  }
  const flood = await countFlood(lab, sent, stage);
  await showReturn(lab, stage);
  const endedAtMs = wallMs();
  await requests.stop();
  const measured = {
    ...{ floodSeconds: seconds, flood, beforeFirstDrop: seen.beforeFirstDrop },
    requests: requests.between(startedAtMs, endedAtMs),
    requestsDue: Math.floor((endedAtMs - startedAtMs) / REQUEST_INTERVAL_MS),
  };
  const [inAll, later] = [percent(arrivedShare(measured)), percent(arrivedShareFromFirstDrop(measured))];
  stage.step("share", `${inAll} of the flood reached the victim, ${later} from the first drop on`);
  const { requests: made, served, medianMs, slowestMs } = measured.requests;
  const times = `median ${medianMs.toFixed(1)} ms, slowest ${slowestMs.toFixed(0)} ms`;
  stage.step("served", `${grouped(served)} of ${grouped(made)} requests, through both switches of the way; ${times}`);
  const complaints = complaintsOf(measured);
  if (complaints.length > 0) throw new Error(complaints.join("; "));
  if ((await lab.stopAgent()) !== 0) throw new Error("the agent did not end well");
  stage.step("done", "every step was seen");
}

interface Seen {
  /** Wall times at which each thing was seen, ms. */
  readonly atMs: Readonly<Record<string, number>>;
  readonly beforeFirstDrop: FloodCounts;
}

async function watchMitigation(lab: ScrubLab, stage: Stage): Promise<Seen> {
  const hasAttack = async () => {
    const { active } = await lab.get<{ active: { target: string }[] }>("/api/v1/attacks");
    return active.some(({ target }) => target === VICTIM);
  };
  const looks = {
    "attack in the API": hasAttack,
    "route in BIRD": () => lab.bird.hasRoute(PREFIX),
    "first drop on the scrub node": () => lab.dropped > 0,
  };
  const seen = Object.entries(looks).map(async ([what, check]) => {
    await eventually(check, `not seen: ${what}`, SEEN_DEADLINE_MS, LOOK_PAUSE_MS);
    return [what, wallMs()] as const;
  });
  const atMs = Object.fromEntries(await Promise.all(seen));
  const [arrived, dropped] = [lab.arrived, lab.dropped];
  expectWay(lab, BY_NODE);
  const [route] = await lab.bird.routes();
  stage.step("BIRD", `${route?.prefix} via ${route?.nextHop} community ${route?.communities.join(" ")}`);
  stage.step("router", `its kernel sends ${VICTIM} ${BY_NODE}`);
  stage.step("node", `${NODE} drops ${await narrowRule(lab)}, and passes the rest on`);
  return { atMs, beforeFirstDrop: { sent: arrived + dropped, dropped, arrived } };
}

/** As the document that nodes poll has it; it must match the flood's protocol and port, and so no user's request. */
async function narrowRule(lab: ScrubLab): Promise<string> {
  let shown = "";
  const isNarrow = async () => {
    const { bans } = await lab.get<{ bans: { flowspec: object[] }[] }>(`/api/v1/dataplane/rules?node=${NODE}`);
    const rules = bans.flatMap(({ flowspec }) => flowspec.map((rule) => JSON.stringify(rule)));
    // With the attack its rules end.
    shown = rules.join(" and ") || shown;
    return rules.length === 1 && RULE_PARTS.every((part) => shown.includes(part));
  };
  // Made from few packets at first, and made narrower when there are more.
  await eventually(isNarrow, () => `the rule should have ${RULE_PARTS.join()}, but it is ${shown || "none"}`, 4000);
  return shown;
}

/** When all of it has come to its end, or no more comes. */
async function countFlood(lab: ScrubLab, sent: Sent, stage: Stage): Promise<FloodCounts> {
  const count = () => ({ sent: sent.packets - sent.device_drops, dropped: lab.dropped, arrived: lab.arrived });
  const settled = async () => {
    const before = count();
    if (before.sent === before.dropped + before.arrived) return true;
    await Bun.sleep(100 * PATIENCE);
    return Bun.deepEquals(before, count());
  };
  await eventually(settled, "the flood goes on after its end", 5000);
  const flood = count();
  const lost = grouped(flood.sent - flood.dropped - flood.arrived);
  const ends = `${grouped(flood.dropped)} dropped on the scrub node, ${grouped(flood.arrived)} came to the victim`;
  stage.step("counts", `of ${grouped(flood.sent)} packets ${ends}, ${lost} were lost on the way`);
  return flood;
}

async function showReturn(lab: ScrubLab, stage: Stage): Promise<void> {
  await eventually(async () => !(await lab.bird.hasRoute(PREFIX)), "the divert is left", WITHDRAWN_DEADLINE_MS);
  await eventually(
    () => lab.way === STRAIGHT,
    () => `the router's kernel still sends ${lab.way}`,
  );
  await eventually(
    () => lab.filter.rules === 0,
    () => `${lab.filter.rules} rules are left on the scrub node`,
  );
  stage.step("calm", "the attack is over: the route is withdrawn, the router sends straight, the rule is gone");
}

function expectWay(lab: ScrubLab, wanted: string): void {
  if (lab.way !== wanted) throw new Error(`the router should send ${VICTIM} ${wanted}, and sends it ${lab.way}`);
}

function wallMs(): number {
  return performance.timeOrigin + performance.now();
}
