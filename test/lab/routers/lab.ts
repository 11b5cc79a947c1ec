/**
 * Nine routers of five projects and two Debian releases, each with a policy of its own, through bans, changes, a ladder,
 * overflow, and the ends of service, speaker and routers: after each step, what each holds by its own tool beside what it should
 * hold, as a table. A BIRD without a policy writes down each UPDATE, which shows whether a new route came before
 * the old one went. Exits 1 where one holds anything else. Needs root, debootstrap, gobgpd and socat.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findGobgpd } from "../../../src/bgp/speaker/gobgpd-process.ts";
import { freePort, ServiceProcess } from "../../fixtures/service.ts";
import { Relay } from "../relay.ts";
import { sendFrom } from "../world.ts";
import { BirdRouter, type RouteChange } from "./bird-router.ts";
import type { ForeignRouter } from "./foreign-router.ts";
import { DISCARD, RouterNetwork } from "./network.ts";

/** Sessions of routers that were killed come up again within this time. */
const HOLDS_WITHIN_MS = 60_000;
/** For a route that should not come: nothing changes for this long. */
const STEADY_MS = 1500;

interface Blackhole {
  readonly prefix: string;
}

interface Rules {
  readonly prefix: string;
  /** As ordered, and as routers print them behind `dst PREFIX; `. */
  readonly rules: readonly (readonly [ordered: object, text: string])[];
}

interface Wanted {
  readonly blackholes: readonly Blackhole[];
  readonly rules: readonly Rules[];
}

/** By router: its policy as YAML in flow style, and what of the wanted it should hold. */
interface Policy {
  readonly yaml: string;
  readonly takesRoute?: (prefix: string) => boolean;
  readonly takesRule?: (text: string) => boolean;
  readonly communities?: readonly string[];
  /** Rules of all bans together; of more it holds this number of those that are wanted. */
  readonly room?: number;
}

const isV4 = (prefix: string) => !prefix.includes(":");
const lengthOf = (prefix: string) => Number(prefix.split("/")[1]);
const NO_RULES = { takesRule: () => false } as const;
const ONLY_ROUTES = {
  yaml: "families: [ipv4-unicast, ipv6-unicast], methods: [blackhole], blackhole: { communities: ['4200000000:666:0'] }",
  communities: ["4200000000:666:0"],
  ...NO_RULES,
};
const POLICIES: Readonly<Record<string, Policy>> = {
  "frr-12": {
    yaml: "flowspec: { match: [protocol, source_port, destination_port], ranges: false }",
    takesRule: (text) => !/length|flags|\.\./.test(text),
  },
  "openbgpd-12": ONLY_ROUTES,
  "openbgpd-13": ONLY_ROUTES,
  "exabgp-12": { yaml: "methods: [flowspec]", takesRoute: () => false },
  "exabgp-13": {
    yaml: "ipv4_lengths: 24-28",
    takesRoute: (prefix) => !isV4(prefix) || (lengthOf(prefix) >= 24 && lengthOf(prefix) <= 28),
  },
  "gobgp-13": {
    yaml: "flowspec: { match: [source, protocol, source_port, destination_port, tcp_flags, fragment] }",
    takesRule: (text) => !text.includes("length"),
  },
  "bird-12": { yaml: "flowspec: { rules: 10 }", room: 10 },
};
const BLACKHOLE = "65535:666";
const NO_EXPORT = "65535:65281";
const NOTHING: Wanted = { blackholes: [], rules: [] };

const DNS = [{ protocol: "udp", source_ports: ["53"] }, "proto 17; sport 53"] as const;
const SEVERAL = [
  { protocol: "udp", source_ports: ["19", "123", "1900-1910"], packet_lengths: ["100-400"] },
  "proto 17; sport 19,123,1900..1910; length 100..400",
] as const;
const SYN = [
  { protocol: "tcp", ports: ["80", "443"], tcp_flags: { set: ["syn"], unset: ["ack"] } },
  "proto 6; dport 80,443; tcp flags =0x2&!0x10",
] as const;

/** An attack whose ban climbs. */
const LADDER = { victim: "203.0.112.200", pps: 2000, blackholeAfterSeconds: 12, floodSeconds: 45 } as const;

class Lab {
  #service: ServiceProcess | null = null;
  #faults = 0;

  constructor(
    readonly network: RouterNetwork,
    readonly directory: string,
    readonly port: number,
  ) {}

  get service(): ServiceProcess {
    if (this.#service === null) throw new Error("the service does not run");
    return this.#service;
  }

  get faults(): number {
    return this.#faults;
  }

  async start(): Promise<void> {
    const netns = this.network.box.name;
    const { directory, port } = this;
    this.#service = await ServiceProcess.start({ config: configOf(this.network.routers), netns, port, directory });
  }

  async order(path: string, body: object): Promise<void> {
    const answer = await this.service.post(`/api/v1/${path}`, body);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  async ban({ prefix }: Blackhole): Promise<void> {
    await this.order("ban", { prefix, method: "blackhole", ttl_seconds: 3600, reason: "lab" });
  }

  async banBy({ prefix, rules }: Rules): Promise<void> {
    await this.order("ban", { prefix, method: "flowspec", rules: rules.map(([rule]) => rule), ttl_seconds: 3600 });
  }

  /** Waits until each router holds what it should, and nothing else, and prints a line. */
  async holds(step: string, wanted: Wanted): Promise<void> {
    const startedMs = performance.now();
    const results = await Promise.all(
      this.network.routers.map(async (router) => ({ router, fault: await faultOf(router, wanted, startedMs) })),
    );
    this.#print(step, startedMs, results);
  }

  /** Waits until each router holds what is right for this rung of the ban of the victim, and prints a line. */
  async climbs(step: string, holds: (router: ForeignRouter, held: Held) => string | null): Promise<void> {
    const startedMs = performance.now();
    const prefix = `${LADDER.victim}/32`;
    const faultOf = async (router: ForeignRouter) => {
      for (;;) {
        const routes = (await router.routes()).filter((route) => route.prefix === prefix).length;
        const flows = await router.flows();
        const rules = flows?.filter(({ match }) => match.startsWith(`dst ${prefix}`)).length ?? null;
        const fault = holds(router, { routes, rules });
        if (fault === null || performance.now() - startedMs > HOLDS_WITHIN_MS) return { router, fault };
        await Bun.sleep(200);
      }
    };
    this.#print(step, startedMs, await Promise.all(this.network.routers.map(faultOf)));
  }

  /** Between its first route and `isOver`, the prefix was never without one at a router that writes down each UPDATE. */
  neverWithout(step: string, prefix: string): void {
    const startedMs = performance.now();
    const results = this.network.routers.flatMap((router) => {
      if (!(router instanceof BirdRouter) || router.name in POLICIES) return [];
      const changes = router.changes().filter((change) => change.prefix === prefix);
      return [{ router, fault: gapIn(changes) }];
    });
    this.#print(step, startedMs, results);
  }

  #print(step: string, startedMs: number, results: readonly RouterResult[]): void {
    const faults = results.filter(({ fault }) => fault !== null);
    this.#faults += faults.length;
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    console.log(`${faults.length === 0 ? "ok  " : "WRONG"} ${step} (${seconds} s)`);
    for (const { router, fault } of faults) console.log(`      ${router.name}: ${fault}`);
  }

  async endSpeaker(): Promise<void> {
    const pid = findGobgpd(join(this.directory, "state/gobgpd/run"));
    if (pid !== null) process.kill(pid, "SIGKILL");
    await Bun.sleep(500);
  }
}

interface RouterResult {
  readonly router: ForeignRouter;
  readonly fault: string | null;
}

/** Of the victim: numbers. `rules` null: the software knows none. */
interface Held {
  readonly routes: number;
  readonly rules: number | null;
}

/** null: once there was a route, there was one until the end. */
function gapIn(changes: readonly RouteChange[]): string | null {
  const held = new Set<string>();
  let gaps = 0;
  for (const [i, { route, isHeld }] of changes.entries()) {
    if (isHeld) held.add(route);
    else held.delete(route);
    if (held.size === 0 && i < changes.length - 1) gaps++;
  }
  if (changes.length === 0) return "has no UPDATE of it";
  return gaps === 0 ? null : `was without a route ${gaps} times in ${changes.length} UPDATEs`;
}

/** null: it holds what it should, and still does after a while. */
async function faultOf(router: ForeignRouter, wanted: Wanted, startedMs: number): Promise<string | null> {
  for (;;) {
    const fault = await differenceOf(router, wanted).catch((cause: unknown) => String(cause));
    if (fault === null) {
      await Bun.sleep(STEADY_MS);
      const later = await differenceOf(router, wanted).catch((cause: unknown) => String(cause));
      if (later === null) return null;
    } else if (performance.now() - startedMs > HOLDS_WITHIN_MS) return fault;
    await Bun.sleep(200);
  }
}

async function differenceOf(router: ForeignRouter, wanted: Wanted): Promise<string | null> {
  const policy = POLICIES[router.name];
  const routes = (await router.routes()).map(
    ({ prefix, nextHop, communities }) => `${prefix} ${nextHop} ${communities.join(",")}`,
  );
  const difference = compared(routes, routesFor(router, policy, wanted));
  if (difference !== null) return difference;
  const flows = (await router.flows())?.map(({ match, attributes }) => `${match} [${attributes.join(",")}]`);
  if (flows === undefined) return null;
  const all = rulesFor(router, policy, wanted);
  if (policy?.room === undefined || all.length <= policy.room) return compared(flows, all);
  const foreign = flows.filter((flow) => !all.includes(flow));
  if (foreign.length > 0) return `holds ${foreign.join(" | ")}`;
  return flows.length === policy.room ? null : `holds ${flows.length} rules, and has room for ${policy.room}`;
}

function routesFor(router: ForeignRouter, policy: Policy | undefined, { blackholes }: Wanted): string[] {
  const own = policy?.communities ?? [BLACKHOLE];
  // FRR adds it to blackholes (RFC 7999, 3.2).
  const added = router.name.startsWith("frr") && own.includes(BLACKHOLE) ? [NO_EXPORT] : [];
  return blackholes
    .filter(({ prefix }) => policy?.takesRoute?.(prefix) ?? true)
    .map(({ prefix }) => `${prefix} ${isV4(prefix) ? DISCARD.v4 : DISCARD.v6} ${[...own, ...added].sort().join(",")}`);
}

function rulesFor(router: ForeignRouter, policy: Policy | undefined, { rules }: Wanted): string[] {
  // FRR prints no communities of rules but the extended ones.
  const attributes = router.name.startsWith("frr") ? ["rate 0"] : [NO_EXPORT, "rate 0"];
  return rules.flatMap((ban) =>
    ban.rules
      .filter(([, text]) => policy?.takesRule?.(text) ?? true)
      .map(([, text]) => `dst ${ban.prefix}; ${text} [${attributes.join(",")}]`),
  );
}

function compared(held: readonly string[], wanted: readonly string[]): string | null {
  const [missing, foreign] = [
    wanted.filter((each) => !held.includes(each)),
    held.filter((each) => !wanted.includes(each)),
  ];
  if (missing.length === 0 && foreign.length === 0) return null;
  return `lacks ${missing.join(" | ") || "nothing"}; holds beside it ${foreign.join(" | ") || "nothing"}`;
}

function configOf(routers: readonly ForeignRouter[]): string {
  const policies = Object.entries(POLICIES).map(([name, { yaml }]) => `    - { name: ${name}, ${yaml} }`);
  const neighbors = routers.map(({ name, link }) => {
    const policy = name in POLICIES ? `, policy: ${name}` : "";
    return `    - { address: ${link.own.v4}, name: ${name}, remote_asn: ${link.asn}${policy} }`;
  });
  return `
networks: [203.0.112.0/22, "2001:db8::/32"]
thresholds: { pps: 100000, mbps: 10000, flows_per_sec: 100000 }
dry_run: false
capture: { interfaces: [{ name: mirror0, mode: mirror }] }
ban: { repeat_window_seconds: 0 }
hostgroups:
  - name: ladder
    networks: [${LADDER.victim}/32]
    thresholds: { pps: ${LADDER.pps} }
    ban: { unban_hysteresis_seconds: 5 }
    escalation:
      - { after_seconds: 0, action: flowspec }
      - { after_seconds: ${LADDER.blackholeAfterSeconds}, action: blackhole }
bgp:
  local_asn: 64500
  router_id: 10.61.0.1
  listen: "0.0.0.0:179"
  next_hop: ${DISCARD.v4}
  next_hop6: "${DISCARD.v6}"
  policies:
${policies.join("\n")}
  neighbors:
${neighbors.join("\n")}
`;
}

const directory = mkdtempSync(join(tmpdir(), "floodwall-routers-"));
console.log("making the Debian systems of the routers: minutes the first time, seconds on the same day …");
const network = await RouterNetwork.create();
const port = await freePort();
const lab = new Lab(network, directory, port);
try {
  const relay = await Relay.open(network.box, port, directory);
  network.onEnd(() => relay.close());
  await lab.start();
  await run();
} finally {
  await lab.service.stop().catch(() => null);
  await lab.endSpeaker();
  await network.close();
  rmSync(directory, { recursive: true, force: true });
}
console.log(lab.faults === 0 ? "each router held what it should" : `${lab.faults} times a router held something else`);
process.exit(lab.faults === 0 ? 0 : 1);

async function run(): Promise<void> {
  await lab.holds("sessions up, nothing banned", NOTHING);
  const blackholes = [{ prefix: "203.0.112.7/32" }, { prefix: "203.0.113.0/26" }, { prefix: "2001:db8::7/128" }];
  for (const each of blackholes) await lab.ban(each);
  await lab.holds("three blackholes", { blackholes, rules: [] });

  const first = { prefix: "203.0.114.7/32", rules: [DNS, SEVERAL, SYN] };
  const sixth = { prefix: "2001:db8::9/128", rules: [DNS] };
  await lab.banBy(first);
  await lab.banBy(sixth);
  await lab.holds("rules with lists, ranges, lengths and flags, both families", { blackholes, rules: [first, sixth] });

  const changed = { ...first, rules: [SYN] };
  await lab.banBy(changed);
  await lab.holds("an order changes the rules", { blackholes, rules: [changed, sixth] });
  lab.neverWithout("in no UPDATE was its prefix without a rule", first.prefix);

  const many = Array.from({ length: 12 }, (_, i) => ({ prefix: `203.0.115.${i + 1}/32`, rules: [DNS] }));
  for (const each of many) await lab.banBy(each);
  const full = { blackholes, rules: [changed, sixth, ...many] };
  await lab.holds("more rules than one router has room for", full);

  await lab.service.stop();
  await lab.start();
  await lab.holds("the service was restarted", full);
  await lab.service.stop("SIGKILL");
  await lab.holds("the service was killed", full);
  await lab.start();
  await lab.holds("and started again", full);
  await lab.endSpeaker();
  await lab.holds("the speaker was killed", full);
  for (const router of network.routers) {
    await router.kill();
    await router.start();
  }
  await lab.holds("each router was killed and started", full);

  for (const { prefix } of [...blackholes, ...full.rules]) await lab.order("unban", { prefix, reason: "lab" });
  await lab.holds("all was unbanned", NOTHING);
  await climb();
  await lab.holds("the attack is over", NOTHING);
}

async function climb(): Promise<void> {
  const { victim: target, floodSeconds: seconds, pps } = LADDER;
  const flood = sendFrom(network.attacker, { profile: "dns", target, pps: 4 * pps, seconds, path: "socket" });
  const takesRules = ({ name }: ForeignRouter) => POLICIES[name]?.takesRule?.("") ?? true;
  const takesRoutes = ({ name }: ForeignRouter) => POLICIES[name]?.takesRoute?.(`${target}/32`) ?? true;
  await lab.climbs("a flood: rules, and no route", (router, { routes, rules }) => {
    const isRight = routes === 0 && (rules === null || rules > 0 === takesRules(router));
    return isRight ? null : `holds ${routes} routes and ${rules} rules`;
  });
  await lab.climbs("the next rung: a blackhole, and no rule", (router, { routes, rules }) => {
    const isRight = routes === Number(takesRoutes(router)) && (rules ?? 0) === 0;
    return isRight ? null : `holds ${routes} routes and ${rules} rules`;
  });
  lab.neverWithout("in no UPDATE was the victim without a route or rule", `${target}/32`);
  await flood;
}
