/**
 * `make lab-scrub`: a flood and a user's requests go to the same victim. Floodwall has the router send the victim's traffic
 * by a scrub node, which drops the flood and passes the requests on. Exits 0 only if every step was seen and every bound
 * was kept; `--seconds` is how long the flood lasts.
 */
import { parseArgs } from "node:util";
import { eventually } from "../../fixtures/service.ts";
import { grouped, Narrator } from "../demo/narrator.ts";
import { perform, type Stage } from "../demo/stage.ts";
import { namespacesUnavailable } from "../namespaces.ts";
import type { Sent } from "../world.ts";
import { NODE, ScrubLab, THRESHOLD_PPS } from "./scrub-lab.ts";
import { NODE_HOP, PREFIX, VICTIM } from "./scrub-network.ts";
import type { Requests } from "./scrub-requests.ts";
import {
  arrivedShare,
  arrivedShareFromFirstDrop,
  complaintsOf,
  type FloodCounts,
  type Measured,
  percent,
} from "./scrub-verdict.ts";

const FLOOD_PPS = 10 * THRESHOLD_PPS;
const REQUEST_INTERVAL_MS = 10;
const HYSTERESIS_SECONDS = 2;
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
const say = new Narrator();
const unavailable = namespacesUnavailable();
if (unavailable === null) await perform({ say, show: showLab, codeAtInterrupt: 1 });
else console.log(`skipped: the scrubbing lab: ${unavailable}`);

async function showLab(stage: Stage): Promise<void> {
  say.step("world", "attacker, client, router, brain, scrub node and victim, in network namespaces of their own");
  const apiPort = Number(process.env["PORT"] ?? 8080);
  const lab = await ScrubLab.create({ apiPort, hysteresisSeconds: HYSTERESIS_SECONDS }, stage.undo);
  stage.lastWords = () => lab.lastWords;
  say.step("API", `http://127.0.0.1:${apiPort}/api/v1/status, with the token OPERATOR`);
  await show(lab);
  say.step("done", "every step was seen");
}

async function show(lab: ScrubLab): Promise<void> {
  const requests = lab.requests(REQUEST_INTERVAL_MS);
  await eventually(() => requests.served > 0, "the victim does not serve its client");
  expectWay(lab, STRAIGHT);
  say.step("ready", `${VICTIM} serves its client, straight from the router; the scrub node polls the brain`);
  say.step(
    "flood",
    `DNS answers to ${VICTIM}, ${grouped(FLOOD_PPS)} packets/s for ${seconds} s: ten times the threshold`,
  );
  const flooding = lab.flood({
    // Each port has as many packets in a row as there are sources, so the ports move on, every 20 ms: rules have to follow.
    ...{ profile: "dns", sources: FLOOD_PPS / 50, ports: 1000, path: "socket" },
    ...{ pps: FLOOD_PPS, seconds },
  });
  const [seen, sent] = await Promise.all([watchMitigation(lab), flooding]);
  expectWay(lab, BY_NODE);
  showTimes(seen, sent);
  const flood = await countFlood(lab, sent);
  await showReturn(lab);
  const endedAtMs = wallMs();
  await requests.stop();
  judge({ flood, seen, sent, requests, endedAtMs });
  if ((await lab.stopAgent()) !== 0) throw new Error("the agent did not end well");
}

/** Wall times of two looks, ms: the last that did not see it yet, and the first that did. */
interface Look {
  readonly notYetMs: number;
  readonly seenMs: number;
}

interface Seen {
  readonly attack: Look;
  readonly route: Look;
  readonly drop: Look;
  readonly beforeFirstDrop: FloodCounts;
}

async function watchMitigation(lab: ScrubLab): Promise<Seen> {
  const hasAttack = async () => {
    const { active } = await lab.get<{ active: { target: string }[] }>("/api/v1/attacks");
    return active.some(({ target }) => target === VICTIM);
  };
  const [attack, route, drop] = await Promise.all([
    lookFor(hasAttack, "no attack was detected"),
    lookFor(() => lab.bird.hasRoute(PREFIX), "no divert was seen in BIRD"),
    lookFor(() => lab.dropped > 0, "the scrub node drops nothing"),
  ]);
  const [arrived, dropped] = [lab.arrived, lab.dropped];
  expectWay(lab, BY_NODE);
  const [told] = await lab.bird.routes();
  say.step("BIRD", `${told?.prefix} via ${told?.nextHop} community ${told?.communities.join(" ")}`);
  say.step("router", `its kernel sends ${VICTIM} ${BY_NODE}`);
  say.step("node", `${NODE} drops ${await rulesTold(lab)}, and passes the rest on`);
  return { attack, route, drop, beforeFirstDrop: { sent: arrived + dropped, dropped, arrived } };
}

async function lookFor(check: () => Promise<boolean> | boolean, complaint: string): Promise<Look> {
  let notYetMs = wallMs();
  const look = async () => {
    const beganMs = wallMs();
    const isSeen = await check();
    if (!isSeen) notYetMs = beganMs;
    return isSeen;
  };
  await eventually(look, complaint, SEEN_DEADLINE_MS, LOOK_PAUSE_MS);
  return { notYetMs, seenMs: wallMs() };
}

/** As the document that nodes poll has them; they must match the flood's protocol and port, and so nobody's request. */
async function rulesTold(lab: ScrubLab): Promise<string> {
  let told = "";
  const isNarrow = async () => {
    const { bans } = await lab.get<{ bans: { flowspec: object[] }[] }>(`/api/v1/dataplane/rules?node=${NODE}`);
    const rules = bans.flatMap(({ flowspec }) => flowspec.map((rule) => JSON.stringify(rule)));
    told = rules.join(" and ");
    return rules.length === 1 && RULE_PARTS.every((part) => told.includes(part));
  };
  // Told from few packets at first, and made narrower when there are more.
  await eventually(isNarrow, () => `the rule should have ${RULE_PARTS.join()}, but it is ${told || "none"}`, 4000);
  return told;
}

function showTimes({ attack, route, drop }: Seen, sent: Sent): void {
  const since = (atMs: number) => `${(atMs - sent.first_packet_wall_ns / 1e6).toFixed(0)} ms`;
  const told = ({ notYetMs, seenMs }: Look) => `${since(seenMs)} (not yet at ${since(notYetMs)})`;
  say.step("result", `first flood packet → attack in the API: ${told(attack)}`);
  say.step("result", `first flood packet → route in BIRD: ${told(route)}`);
  say.step("result", `first flood packet → first drop on the scrub node: ${told(drop)}`);
}

/** When all of it has come to its end, or no more comes. */
async function countFlood(lab: ScrubLab, sent: Sent): Promise<FloodCounts> {
  const count = () => ({ sent: sent.packets - sent.device_drops, dropped: lab.dropped, arrived: lab.arrived });
  const settled = async () => {
    const before = count();
    await Bun.sleep(100);
    const { dropped, arrived } = count();
    return dropped === before.dropped && arrived === before.arrived;
  };
  await eventually(settled, "the flood goes on after its end", 5000);
  const flood = count();
  const lost = flood.sent - flood.dropped - flood.arrived;
  const told = `${grouped(flood.dropped)} dropped on the scrub node, ${grouped(flood.arrived)} came to the victim`;
  say.step("counts", `of ${grouped(flood.sent)} packets ${told}, ${grouped(lost)} were lost on the way`);
  return flood;
}

async function showReturn(lab: ScrubLab): Promise<void> {
  await eventually(async () => !(await lab.bird.hasRoute(PREFIX)), "the divert is left", WITHDRAWN_DEADLINE_MS);
  await eventually(
    () => lab.way === STRAIGHT,
    () => `the router's kernel still sends ${lab.way}`,
  );
  await eventually(
    () => lab.filter.rules === 0,
    () => `${lab.filter.rules} rules are left on the scrub node`,
  );
  say.step("calm", "the attack is over: the route is withdrawn, the router sends straight, the rule is gone");
}

interface Run {
  readonly flood: FloodCounts;
  readonly seen: Seen;
  readonly sent: Sent;
  readonly requests: Requests;
  readonly endedAtMs: number;
}

/** Throws when a bound is broken. */
function judge({ flood, seen, sent, requests, endedAtMs }: Run): void {
  const startedAtMs = sent.first_packet_wall_ns / 1e6;
  const measured: Measured = {
    floodSeconds: seconds,
    flood,
    beforeFirstDrop: seen.beforeFirstDrop,
    requests: requests.between(startedAtMs, endedAtMs),
    requestsDue: Math.floor((endedAtMs - startedAtMs) / REQUEST_INTERVAL_MS),
  };
  const { requests: made, served, medianMs, slowestMs } = measured.requests;
  const [inAll, later] = [percent(arrivedShare(measured)), percent(arrivedShareFromFirstDrop(measured))];
  say.step("share", `${inAll} of the flood reached the victim, ${later} from the first drop on`);
  const times = `median ${medianMs.toFixed(1)} ms, slowest ${slowestMs.toFixed(0)} ms`;
  say.step("served", `${grouped(served)} of ${grouped(made)} requests, through both switches of the way; ${times}`);
  const complaints = complaintsOf(measured);
  if (complaints.length > 0) throw new Error(complaints.join("; "));
}

function expectWay(lab: ScrubLab, wanted: string): void {
  if (lab.way !== wanted) throw new Error(`the router should send ${VICTIM} ${wanted}, and sends it ${lab.way}`);
}

function wallMs(): number {
  return performance.timeOrigin + performance.now();
}
