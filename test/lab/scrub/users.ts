/** Kinds of users of the victim: programs of Debian and a game's player. Each starts its server, too. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Undo } from "../../fixtures/undo.ts";
import type { Namespace } from "../namespaces.ts";
import { type BoxLab, CLIENT, NEWCOMERS } from "./box-lab.ts";
import { ANSWER, dig, nameServer } from "./name-server.ts";
import { Probe } from "./probe.ts";
import { serve, VICTIM } from "./scrub-network.ts";
import { type RequestLine, TIMEOUT_MS } from "./scrub-requests.ts";
import { iperfServer, listening, nginx, sshd } from "./servers.ts";
import { Crowd, Program, Session, type User, wallMs } from "./user.ts";

export type MakeUser = (lab: BoxLab, undo: Undo) => Promise<User>;

export const GAME_PORT = 27_015;
export const IPERF_PORT = 5201;
/** Of the addresses of a carpet, those with users. */
export const CARPET = "203.0.113.64/26";
const CARPET_USERS = [65, 70, 79, 88, 97, 106, 115, 125].map((last) => `203.0.113.${last}`);
const WRK_CONNECTIONS = 20;
const MBPS = 10;
/** Of what it sends, in each half second. */
const ARRIVED_LEAST = 0.9;
const SCRIPTS = import.meta.dir;

export const curl =
  (intervalMs: number): MakeUser =>
  async ({ client, victim }) => {
    await serve(victim);
    return new Probe({ from: client, command: () => get(VICTIM), answer: "served /page", intervalMs });
  };

/** Each request from an address that was never seen before. */
export const newcomers: MakeUser = async ({ client, victim }) => {
  await serve(victim);
  const command = (number: number) => [...get(VICTIM), "--interface", `${NEWCOMERS}${number >> 8}.${number & 255}`];
  return new Probe({ from: client, command, answer: "served /page", intervalMs: 50 });
};

/** At some addresses of the carpet, in turn. */
export const neighbors: MakeUser = async ({ client, victim }, undo) => {
  victim.run(["ip", "route", "add", "local", CARPET, "dev", "net0"]);
  await nginx(victim, undo);
  const command = (number: number) => get(CARPET_USERS[number % CARPET_USERS.length] as string);
  return new Probe({ from: client, command, answer: "served /page", intervalMs: 50 });
};

export const nginxAndCurl: MakeUser = async ({ client, victim }, undo) => {
  await nginx(victim, undo);
  return new Probe({ from: client, command: () => get(VICTIM), answer: "served /page", intervalMs: 50 });
};

function get(address: string): string[] {
  return ["curl", "-s", "-m", String(TIMEOUT_MS / 1000), `http://${address}/page`];
}

/** Some two hundred requests a second over many connections, of which nginx closes ten a second. */
export const nginxAndWrk: MakeUser = async ({ client, victim }, undo) => {
  await nginx(victim, undo);
  return new Wrk(client);
};

class Wrk extends Program {
  #failed = 0;
  #medianMs = 0;
  #slowestMs = 0;

  constructor(client: Namespace) {
    const flags = ["-t", "1", "-c", String(WRK_CONNECTIONS), "-d", "300s", "--timeout", "2s"];
    const command = ["wrk", ...flags, "-s", join(SCRIPTS, "wrk-lines.lua"), `http://${VICTIM}/page`];
    super({ command: client.command(command), read: (line) => this.#read(line), signal: "SIGINT" });
  }

  /** Those that failed are of the whole run; so are the times. */
  override between(fromMs: number, toMs: number): ReturnType<User["between"]> {
    const { requests, served } = super.between(fromMs, toMs);
    return { requests: requests + this.#failed, served, medianMs: this.#medianMs, slowestMs: this.#slowestMs };
  }

  #read(line: string): RequestLine | null {
    const [, failed, median, slowest] = /^failed (\d+) median ([\d.]+) slowest ([\d.]+)$/.exec(line) ?? [];
    if (failed !== undefined) {
      [this.#failed, this.#medianMs, this.#slowestMs] = [Number(failed), Number(median), Number(slowest)];
    }
    return /^\d{3}$/.test(line) ? { startedAtMs: wallMs(), tookMs: 0, isServed: line === "200" } : null;
  }
}

/** A session that lives through, and new logins. */
export const ssh: MakeUser = async ({ client, victim }, undo) => {
  const login = await sshd(victim, undo);
  const session = new Session(client.command(login("cat")), 100);
  undo.add(() => session.stop());
  return new Crowd(
    session,
    new Probe({ from: client, command: () => login("echo in"), answer: "in", intervalMs: 1000 }),
  );
};

/** One transfer that goes on; what is counted are half seconds in which it arrived. */
export const transfer: MakeUser = async ({ client, victim }, undo) => {
  const user = new Program({ command: iperfServer(victim, IPERF_PORT), read: transferred, signal: "SIGKILL" });
  await listening(victim, IPERF_PORT);
  const flags = ["-c", VICTIM, "-p", String(IPERF_PORT), "-b", `${MBPS}M`, "-l", "8K", "-t", "300"];
  const sender = Bun.spawn(client.command(["iperf3", ...flags]), {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
  });
  undo.add(() => sender.kill());
  return user;
};

/** `[  5]   0.50-1.00   sec   640 KBytes  10.5 Mbits/sec` */
function transferred(line: string): RequestLine | null {
  const [, mbps] = /^\[ +\d+\].* ([\d.]+) Mbits\/sec/.exec(line) ?? [];
  if (mbps === undefined) return null;
  return { startedAtMs: wallMs() - 500, tookMs: 500, isServed: Number(mbps) >= ARRIVED_LEAST * MBPS };
}

/** kdig by UDP, over TCP where the answer requires it, and dnsperf by TCP. */
export const resolvers: MakeUser = async (lab, undo) => {
  const asking = await resolver(lab, undo);
  const queries = join(undo.folder("dnsperf"), "queries");
  writeFileSync(queries, "www.example A\n");
  const flags = ["-s", VICTIM, "-d", queries, "-m", "tcp", "-c", "5", "-Q", "50", "-t", "2", "-l", "300", "-v"];
  const command = lab.client.command(["stdbuf", "-oL", "dnsperf", ...flags]);
  return new Crowd(asking, new Program({ command, read: answered, signal: "SIGINT" }));
};

/** `> NOERROR www.example A 0.000421`; `> T www.example A` where no answer came. */
function answered(line: string): RequestLine | null {
  const [, code, seconds = "2"] = /^> (\w+) \S+ A(?: ([\d.]+))?$/.exec(line) ?? [];
  if (code === undefined) return null;
  const tookMs = 1000 * Number(seconds);
  return { startedAtMs: wallMs() - tookMs, tookMs, isServed: code === "NOERROR" };
}

export const resolver: MakeUser = async ({ client, victim }, undo) => {
  await nameServer(victim, VICTIM, undo);
  return new Probe({ from: client, command: () => dig(VICTIM), answer: ANSWER, intervalMs: 50 });
};

/** The victim itself asks a resolver. */
export const asker: MakeUser = async ({ client, victim }, undo) => {
  await nameServer(client, CLIENT, undo);
  return new Probe({ from: victim, command: () => dig(CLIENT), answer: ANSWER, intervalMs: 50 });
};

/** Packets of UDP at an even pace, each of which must be echoed within a second. */
export const player: MakeUser = async ({ client, victim }) => {
  const echo = `await Bun.udpSocket({ hostname: "${VICTIM}", port: ${GAME_PORT}, socket: {
    data(socket, bytes, port, address) { socket.send(bytes, port, address); } } }); setInterval(() => {}, 1e6);`;
  Bun.spawn(victim.command([process.execPath, "-e", echo]), { stdin: "ignore", stdout: "ignore" });
  const program = `
    const sent = new Map(); let number = 0;
    const now = () => performance.timeOrigin + performance.now();
    const say = (startedAtMs, isServed) => console.log(JSON.stringify({ startedAtMs, tookMs: now() - startedAtMs, isServed }));
    const socket = await Bun.udpSocket({ connect: { hostname: "${VICTIM}", port: ${GAME_PORT} }, socket: {
      data(_, bytes) { const key = bytes.toString(); const at = sent.get(key); if (sent.delete(key)) say(at, true); } } });
    const timer = setInterval(() => {
      const key = "move " + number++; sent.set(key, now()); socket.send(key);
      for (const [late, at] of sent) if (now() - at > 1000) { sent.delete(late); say(at, false); }
    }, 33);
    process.on("SIGTERM", () => { clearInterval(timer); setTimeout(() => process.exit(), 100); });`;
  return new Program({ command: client.command([process.execPath, "-e", program]) });
};
