/**
 * `make lab-attacks`: attacks on an inline box that scrubs, each on a box of its own, beside users of the victim. Prints a
 * table: what was served of the users' requests from 3 s on, whether a connection from before lives on, and what of the
 * attack came through. Exits 1 if a row is not as it says that it is.
 */
import { parseArgs } from "node:util";
import { eventually } from "../../fixtures/service.ts";
import { Undo } from "../../fixtures/undo.ts";
import { textTable } from "../../text-table.ts";
import { type Namespace, namespacesUnavailable } from "../namespaces.ts";
import { sendFrom, type TrafficOptions } from "../world.ts";
import {
  type BoxBan,
  type BoxLab,
  CLIENT,
  echo,
  LongConnection,
  makeBoxLab,
  received,
  THRESHOLD_PPS,
} from "./box-lab.ts";
import { ANSWER, dig, nameServer } from "./name-server.ts";
import { Player, Probe } from "./probe.ts";
import { serve, VICTIM } from "./scrub-network.ts";
import type { RequestSummary } from "./scrub-requests.ts";

const PPS = 10 * THRESHOLD_PPS;
const SECONDS = 10;
/** A connection is learned when it is older than two units of time, 4.3 s each. */
const LEARNED_MS = 9500;
const SETTLED_MS = 3000;
const ECHO_PORT = 443;
const GAME_PORT = 27_015;
const SERVED_LEAST = 0.99;
const THROUGH_MOST = 0.01;

interface User {
  readonly served: number;
  stop(): Promise<void>;
  between(fromMs: number, toMs: number): RequestSummary;
}

interface Attack {
  readonly name: string;
  /** Of the victim. */
  readonly scrub: string;
  readonly seesAnswers?: true;
  readonly user: (lab: BoxLab, undo: Undo) => Promise<User>;
  /** Resolves with the packets that were sent. */
  readonly attack: (lab: BoxLab, undo: Undo) => Promise<number>;
  /** What of it may come through, 0 to 1, where that is more than usual, and why. */
  readonly through?: { readonly most: number; readonly why: string };
}

const WEB = "{ profile: web, source_packets_per_second: 0, source_connections_per_second: 20 }";
const DNS = "{ profile: dns }";
const RESOLVER = "{ answers: asked }";
const GAME_SERVICES = `[{ protocol: udp, ports: ["${GAME_PORT}"] }, { protocol: tcp, ports: ["${ECHO_PORT}"] }]`;
const GAME = `{ source_packets_per_second: 200, services: ${GAME_SERVICES} }`;

const ATTACKS: readonly Attack[] = [
  {
    name: "SYN to the service, 60,000 spoofed sources",
    scrub: WEB,
    user: browser,
    attack: flood({ profile: "syn", sources: 60_000 }),
  },
  { name: "SYN to all ports, random sources (hping3)", scrub: WEB, user: browser, attack: hping(["-S", "-p", "++1"]) },
  {
    name: "ACK, 60,000 spoofed sources",
    scrub: WEB,
    user: browser,
    attack: flood({ profile: "ack", sources: 60_000 }),
  },
  {
    name: "RST, 60,000 spoofed sources",
    scrub: WEB,
    user: browser,
    attack: flood({ profile: "rst", sources: 60_000 }),
  },
  {
    name: "UDP to port 80, 60,000 spoofed sources",
    scrub: WEB,
    user: browser,
    attack: flood({ profile: "udp", sources: 60_000 }),
  },
  {
    name: "UDP to all ports, random sources (hping3)",
    scrub: WEB,
    user: browser,
    attack: hping(["--udp", "-p", "++1", "-d", "100"]),
  },
  {
    name: "fragments, random sources (hping3)",
    scrub: WEB,
    user: browser,
    attack: hping(["--udp", "-p", "80", "-x", "-g", "64", "-d", "100"]),
  },
  {
    name: "connections of 100 real addresses, 40 a second each",
    scrub: "{ profile: web, source_packets_per_second: 0, source_connections_per_second: 2 }",
    user: reader,
    attack: botnet,
    through: { most: 0.3, why: "each may open 2 a second, of some six packets" },
  },
  {
    name: "DNS queries, 60,000 spoofed sources",
    scrub: DNS,
    user: resolver,
    attack: flood({ profile: "query", sources: 60_000 }),
  },
  {
    name: "DNS answers to a host that asks resolvers itself",
    scrub: RESOLVER,
    seesAnswers: true,
    user: asker,
    attack: flood({ profile: "dns", sources: 1000, ports: 1000 }),
  },
  {
    name: "UDP to a game's port, 60,000 spoofed sources",
    scrub: GAME,
    user: player,
    attack: flood({ profile: "udp", sources: 60_000, bytes: 600 }),
  },
];

const { values } = parseArgs({ options: { only: { type: "string" } } });
const unavailable = namespacesUnavailable();
if (unavailable === null) process.exit(await main());
console.log(`skipped: attacks on a scrubbing box: ${unavailable}`);

interface Result {
  readonly row: readonly string[];
  readonly isHeld: boolean;
}

async function main(): Promise<number> {
  const wanted = ATTACKS.filter(({ name }) => name.includes(values.only ?? ""));
  const results: Result[] = [];
  for (const attack of wanted) {
    const undo = new Undo();
    try {
      results.push(await show(attack, undo));
    } finally {
      await undo.all();
    }
    console.log(results.at(-1)?.row.join(" | "));
  }
  const head = ["attack", "sent", "came through", "requests served", "median, slowest", "connection", "done", ""];
  console.log(`\n${textTable([head, ...results.map(({ row }) => row)], () => false)}`);
  return results.every(({ isHeld }) => isHeld) ? 0 : 1;
}

async function show({ name, scrub, seesAnswers, user, attack, through }: Attack, undo: Undo): Promise<Result> {
  const lab = await makeBoxLab(undo, { scrub, ...(seesAnswers && { seesAnswers }) });
  await echo(lab.victim, ECHO_PORT);
  const long = new LongConnection(lab.client, ECHO_PORT, undo);
  await eventually(() => long.answers > 0, "the long connection has no answers");
  await Bun.sleep(LEARNED_MS);
  const asking = await user(lab, undo);
  await eventually(() => asking.served > 0, "the user is not served before the attack");
  const quiet = await rateOf(lab.victim, 2000);
  // New ones: who was served is known.
  const startedAtMs = wallMs();
  const sending = attack(lab, undo);
  await eventually(async () => (await lab.bans()).length > 0, `no ban:\n${lab.service.output}`);
  await Bun.sleep(Math.max(0, startedAtMs + SETTLED_MS - wallMs()));
  const [before, answersBefore, fromMs] = [received(lab.victim), long.answers, wallMs()];
  const sent = await sending;
  const [after, toMs] = [received(lab.victim), wallMs()];
  const [ban] = await lab.bans();
  const isAlive = !long.isClosed && long.answers > answersBefore;
  await asking.stop();
  const seconds = (toMs - fromMs) / 1000;
  const cameThrough =
    Math.max(0, after - before - quiet * seconds) / ((sent * seconds) / ((toMs - startedAtMs) / 1000));
  const { requests, served, medianMs, slowestMs } = asking.between(fromMs, toMs);
  const isHeld =
    served >= SERVED_LEAST * requests && requests > 0 && cameThrough <= (through?.most ?? THROUGH_MOST) && isAlive;
  const row = [
    name,
    String(sent),
    percent(cameThrough) + (through === undefined ? "" : ` (${through.why})`),
    `${served} of ${requests}`,
    `${medianMs.toFixed(0)}, ${slowestMs.toFixed(0)} ms`,
    isAlive ? "lives" : "LOST",
    doneText(ban),
    isHeld ? "held" : "NOT HELD",
  ];
  return { row, isHeld };
}

function doneText(ban: BoxBan | undefined): string {
  if (ban === undefined) return "no ban";
  const reasons = Object.entries(ban.dropped_by ?? {}).map(([reason, packets]) => `${reason} ${packets}`);
  const challenged = ban.challenged_packets === undefined ? [] : [`challenged ${ban.challenged_packets}`];
  return [...challenged, ...reasons].join(", ");
}

async function rateOf(victim: Namespace, ms: number): Promise<number> {
  const [before, atMs] = [received(victim), wallMs()];
  await Bun.sleep(ms);
  return (received(victim) - before) / ((wallMs() - atMs) / 1000);
}

function wallMs(): number {
  return performance.timeOrigin + performance.now();
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

function flood(traffic: Omit<TrafficOptions, "target" | "pps" | "seconds">): Attack["attack"] {
  return async ({ attacker }) => {
    const { packets } = await sendFrom(attacker, {
      ...{ target: VICTIM, src: "198.18.0.1", path: "socket", pps: PPS, seconds: SECONDS },
      ...traffic,
    });
    return packets;
  };
}

/** Every 50 µs a packet, of a random source. */
function hping(options: readonly string[]): Attack["attack"] {
  return async ({ attacker }, undo) => {
    const before = sentBy(attacker);
    const command = ["hping3", "-q", "-n", "-i", "u50", "--rand-source", ...options, VICTIM];
    const child = Bun.spawn(attacker.command(command), { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    undo.add(() => child.kill());
    await Bun.sleep(SECONDS * 1000);
    child.kill();
    await child.exited;
    return sentBy(attacker) - before;
  };
}

function sentBy(attacker: Namespace): number {
  return Number(attacker.run(["cat", "/sys/class/net/wire0/statistics/tx_packets"]));
}

/** Connections whose handshakes complete, of addresses that answer. */
async function botnet({ attacker }: BoxLab, undo: Undo): Promise<number> {
  attacker.run(["ip", "route", "add", "local", "198.19.0.0/24", "dev", "lo"]);
  const program = `const { connect } = require("node:net");
    let next = 0;
    setInterval(() => { for (let i = 0; i < 20; i++) {
      const peer = connect({ host: "${VICTIM}", port: 80, localAddress: "198.19.0." + (next++ % 100 + 1) });
      peer.on("connect", () => peer.end("GET / HTTP/1.1\\r\\nHost: victim\\r\\nConnection: close\\r\\n\\r\\n"));
      peer.on("error", () => {}); setTimeout(() => peer.destroy(), 1000);
    } }, 5);`;
  const before = sentBy(attacker);
  const command = attacker.command([process.execPath, "-e", program]);
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  undo.add(() => child.kill());
  await Bun.sleep(SECONDS * 1000);
  child.kill();
  await child.exited;
  return sentBy(attacker) - before;
}

function browser(lab: BoxLab): Promise<User> {
  return curl(lab, 50);
}

/** Opens fewer connections than each source may. */
function reader(lab: BoxLab): Promise<User> {
  return curl(lab, 600);
}

async function curl({ client, victim }: BoxLab, intervalMs: number): Promise<User> {
  await serve(victim);
  const command = ["curl", "-s", "-m", "2", `http://${VICTIM}/page`];
  return new Probe({ from: client, command, answer: "served /page", intervalMs });
}

async function resolver({ client, victim }: BoxLab, undo: Undo): Promise<User> {
  await nameServer(victim, VICTIM, undo);
  return new Probe({ from: client, command: dig(VICTIM), answer: ANSWER, intervalMs: 50 });
}

async function asker({ client, victim }: BoxLab, undo: Undo): Promise<User> {
  await nameServer(client, CLIENT, undo);
  return new Probe({ from: victim, command: dig(CLIENT), answer: ANSWER, intervalMs: 50 });
}

async function player({ client, victim }: BoxLab): Promise<User> {
  const program = `await Bun.udpSocket({ hostname: "${VICTIM}", port: ${GAME_PORT}, socket: {
    data(socket, bytes, port, address) { socket.send(bytes, port, address); } } }); setInterval(() => {}, 1e6);`;
  Bun.spawn(victim.command([process.execPath, "-e", program]), { stdin: "ignore", stdout: "ignore" });
  return new Player(client, { address: VICTIM, port: GAME_PORT, intervalMs: 33 });
}
