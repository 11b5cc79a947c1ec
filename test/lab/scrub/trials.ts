/** What `make lab-attacks` shows, by section: attacks, users, recorded attacks and faults. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { besides, connections, flood, hping, REAL_SOURCES, replay } from "./attacks.ts";
import { killed, killedAndStarted, reloads, restarted, rotations } from "./faults.ts";
import { browser } from "./surfer.ts";
import type { Trial } from "./trial.ts";
import * as users from "./users.ts";

const WEB = "{ profile: web, source_packets_per_second: 0, source_connections_per_second: 20 }";
const DNS = "{ profile: dns }";
const RESOLVER = "{ answers: asked }";
const GAME = `{ source_packets_per_second: 200, services: ${services("udp", users.GAME_PORT)} }`;
const SSH = `{ services: ${services("tcp", 22)} }`;
const TRANSFER = `{ services: ${services("tcp", users.IPERF_PORT)} }`;
const ALWAYS = "{ profile: web, always: true, source_packets_per_second: 0, source_connections_per_second: 20 }";
const CARPET = "carpet: { prefix_v4: 26, min_hosts: 10, thresholds: { pps: 2000 }, mitigation: flowspec }\n";
/** Smaller than what comes: see `connections`. */
const SMALL_TABLE = "limits: { max_sources: 1024 }";

/** Beside the port of the long connection. */
function services(protocol: "tcp" | "udp", port: number): string {
  return `[{ protocol: ${protocol}, ports: ["${port}"] }, { protocol: tcp, ports: ["443"] }]`;
}

const syn = flood({ profile: "syn", sources: 60_000 });
const synFromRandom = hping(["-S", "-p", "++1"]);

const ATTACKS: readonly Trial[] = [
  { name: "SYN to the service, 60,000 spoofed sources", box: { scrub: WEB }, user: users.curl(50), attack: syn },
  {
    name: "SYN to all ports, random sources (hping3)",
    box: { scrub: WEB },
    user: users.curl(50),
    attack: synFromRandom,
  },
  {
    name: "SYN to the service, each request from a new address",
    box: { scrub: WEB },
    user: users.newcomers,
    attack: syn,
  },
  ...(["ack", "rst"] as const).map((profile) => ({
    name: `${profile.toUpperCase()}, 60,000 spoofed sources`,
    box: { scrub: WEB },
    user: users.curl(50),
    attack: flood({ profile, sources: 60_000 }),
  })),
  {
    name: "UDP to port 80, 60,000 spoofed sources",
    box: { scrub: WEB },
    user: users.curl(50),
    attack: flood({ profile: "udp", sources: 60_000 }),
  },
  {
    name: "UDP to all ports, random sources (hping3)",
    box: { scrub: WEB },
    user: users.curl(50),
    attack: hping(["--udp", "-p", "++1", "-d", "100"]),
  },
  {
    name: "fragments, random sources (hping3)",
    box: { scrub: WEB },
    user: users.curl(50),
    attack: hping(["--udp", "-p", "80", "-x", "-g", "64", "-d", "100"]),
  },
  {
    name: "connections of 50 real addresses, 80 a second each",
    box: { scrub: "{ profile: web, source_packets_per_second: 0, source_connections_per_second: 2 }" },
    // Opens fewer than each source may.
    user: users.curl(600),
    attack: connections({ addresses: 50, perSecond: 4000 }),
  },
  {
    name: "DNS queries, 60,000 spoofed sources",
    box: { scrub: DNS },
    user: users.resolver,
    attack: flood({ profile: "query", sources: 60_000 }),
  },
  {
    name: "DNS answers to a host that asks resolvers itself",
    box: { scrub: RESOLVER, seesAnswers: true },
    user: users.asker,
    attack: flood({ profile: "dns", sources: 1000, ports: 1000 }),
  },
  {
    name: "UDP to a game's port, 60,000 spoofed sources",
    box: { scrub: GAME },
    user: users.player,
    attack: flood({ profile: "udp", sources: 60_000, bytes: 600 }),
  },
  {
    name: "DNS answers over a /26, users at 8 of its addresses",
    box: { scrub: WEB, more: CARPET },
    user: users.neighbors,
    // Another port each 51 ms.
    attack: flood({ profile: "dns", target: "203.0.113.64", hosts: 64, sources: 16, ports: 1000 }),
  },
  {
    name: "DNS answers over a /26 to another port each 3.2 s, users at 8 of its addresses",
    box: { scrub: WEB, more: CARPET },
    user: users.neighbors,
    attack: flood({ profile: "dns", target: "203.0.113.64", hosts: 64, sources: 1000, ports: 1000 }),
  },
  {
    name: "SYN over a /26 that is scrubbed when attacked, users at 8 of its addresses",
    box: { scrub: WEB, more: CARPET.replace("flowspec", "scrub") },
    user: users.neighbors,
    attack: flood({ profile: "syn", target: "203.0.113.64", hosts: 64, sources: 60_000 }),
  },
  {
    name: "SYN over a /26 that is always scrubbed, users at 8 of its addresses",
    box: { scrub: ALWAYS },
    user: users.neighbors,
    attack: flood({ profile: "syn", target: "203.0.113.64", hosts: 64, sources: 60_000 }),
    isStanding: true,
  },
];

const USERS: readonly Trial[] = [
  { name: "SYN; nginx and curl", box: { scrub: WEB }, user: users.nginxAndCurl, attack: syn },
  { name: "SYN; nginx and wrk, 20 connections", box: { scrub: WEB }, user: users.nginxAndWrk, attack: syn },
  { name: "SYN; nginx and Chromium", box: { scrub: WEB }, user: browser, attack: syn },
  { name: "SYN; OpenSSH, a session and logins", box: { scrub: SSH }, user: users.ssh, attack: syn },
  { name: "SYN; iperf3, half seconds of a transfer", box: { scrub: TRANSFER }, user: users.transfer, attack: syn },
  {
    name: "DNS queries; knot with kdig and dnsperf",
    box: { scrub: DNS },
    user: users.resolvers,
    attack: flood({ profile: "query", sources: 60_000 }),
  },
];

const FAULTS: readonly Trial[] = [
  { name: "SYN: kill -9 of the service, which stays away", ...fault(), fault: killed },
  { name: "SYN: kill -9 of the service, started again", ...fault(), fault: killedAndStarted },
  { name: "SYN: the service is restarted", ...fault(), fault: restarted },
  {
    name: "SYN: a new cookie key each 300 ms",
    ...fault(),
    fault: rotations({ times: 30, everyMs: 300 }),
  },
  { name: "SYN: reloads with other prefix sets and rules", ...fault(), fault: reloads },
  {
    name: "SYN: a table for 1,024 sources, beside 200 real new ones a second",
    ...fault({ dataplane: SMALL_TABLE }),
    // Fewer packets than the threshold: they are no attack.
    attack: besides(syn, connections({ addresses: 50_000, perSecond: 200 })),
    except: REAL_SOURCES,
    fault: async () => {},
  },
];

/** Users with proofs to give all the time, through a flood. */
function fault(more: Partial<Trial["box"]> = {}): Pick<Trial, "box" | "user" | "attack"> {
  return { box: { scrub: WEB, ...more }, user: users.newcomers, attack: syn };
}

function recorded(folder: string): readonly Trial[] {
  const names = readdirSync(folder).filter((name) => /\.pcap(ng)?$/.test(name));
  if (names.length === 0) throw new Error(`no captures in ${folder}`);
  return names.map((file) => {
    const name = file.replace(/\.pcap(ng)?$/, "");
    return { name, box: { scrub: WEB }, user: users.curl(50), attack: replay(join(folder, file)) };
  });
}

/** @param captures a folder of recorded attacks; absent: that section is left out. */
export function sectionsOf(captures: string | undefined): Readonly<Record<string, readonly Trial[]>> {
  return {
    ...{ Attacks: ATTACKS, Users: USERS },
    ...(captures !== undefined && { "Recorded attacks": recorded(captures) }),
    Faults: FAULTS,
  };
}
