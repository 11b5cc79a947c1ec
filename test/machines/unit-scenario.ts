/**
 * What an operator does with the package under systemd, on a real driver: start, flood, block, upgrade, restart, kill, reload,
 * stop, purge. Runs inside a booted system, as root, with the package's own Bun; ends with 1 at the first thing that is not as it
 * should be. BIRD is the judge of what was announced.
 */
import { existsSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { runCommand } from "../fixtures/run-command.ts";
import { eventually as seenWithin } from "../fixtures/service.ts";
import { deviceOf, GUEST_MACS } from "./guest-wire.ts";

const API = "http://127.0.0.1:8080";
const CONFIG = "/etc/floodwall/floodwall.yaml";
const VICTIM = "203.0.113.7";
/** Banned by hand. */
const OTHER_VICTIM = "203.0.113.8";
/** There when an older version is installed. */
const NEWER_PACKAGE = "/srv/newer.deb";
const SOURCE = "198.51.100.77";
const BIRD_CONTROL = "/run/bird-peer.ctl";
const CAPTURE = "/srv/flood.pcap";
const SENDER = "/usr/local/bin/send_frames";
const DEADLINE_MS = 120_000;
/** What the unit names, of linux/capability.h: NET_BIND_SERVICE, NET_ADMIN, NET_RAW, PERFMON, BPF. */
const CAPABILITIES = [10, 12, 13, 38, 39];
/** NET_RAW, which an inline interface does not need. */
const GIVEN_UP = [13];

interface Status {
  readonly thresholds: { readonly pps: number };
  readonly capture: { readonly interfaces: readonly { readonly state: string; readonly mode: string }[] };
}

interface DataplaneStatus {
  readonly verdicts: Readonly<Record<string, { readonly packets: number }>>;
}

/** Without what made the package's executable take the part of Bun; in an emulated machine systemd answers late. */
const { BUN_BE_BUN: _, ...INHERITED } = process.env;
const ENVIRONMENT = { ...INHERITED, SYSTEMD_BUS_TIMEOUT: "2min" };

const run = (...argv: string[]) => runCommand(argv, { env: ENVIRONMENT });

function expectTrue(isTrue: boolean, what: string): void {
  if (!isTrue) throw new Error(what);
}

function eventually(check: () => boolean | Promise<boolean>, what: string): Promise<void> {
  return seenWithin(check, what, DEADLINE_MS, 100);
}

function config(device: string, pps: number): string {
  return `dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: ${pps}, mbps: 1000, flows_per_sec: 1000000 }
capture: { interfaces: [{ name: ${device}, mode: inline, xdp_mode: native }] }
dataplane: { enabled: true, interfaces: [${device}], xdp_mode: native }
bgp:
  speaker: managed
  local_asn: 64500
  router_id: 192.0.2.10
  listen: 192.0.2.10:179
  next_hop: 192.0.2.66
  neighbors: [{ address: 192.0.2.20, remote_asn: 64501, multihop_ttl: 4 }]
`;
}

const BIRD = `router id 192.0.2.20;
protocol device {}
protocol static { ipv4; route 192.0.2.66/32 blackhole; }
protocol bgp floodwall {
  local 192.0.2.20 as 64501; neighbor 192.0.2.10 as 64500;
  multihop 4; connect delay time 1; connect retry time 1; error wait time 1,2;
  ipv4 { import all; export none; };
}
`;

async function startPeer(): Promise<void> {
  const links = `ip netns add peer
    ip link add bgp0 type veth peer name bgp0 netns peer
    ip address add 192.0.2.10/24 dev bgp0; ip link set bgp0 up
    ip -n peer address add 192.0.2.20/24 dev bgp0; ip -n peer link set bgp0 up`;
  run("sh", "-ec", links);
  writeFileSync("/run/bird-peer.conf", BIRD);
  run(
    "ip",
    "netns",
    "exec",
    "peer",
    "bird",
    "-c",
    "/run/bird-peer.conf",
    "-s",
    BIRD_CONTROL,
    "-P",
    "/run/bird-peer.pid",
  );
  const isUp = () => run("birdc", "-s", BIRD_CONTROL, "show", "status").includes("up and running");
  await eventually(isUp, "BIRD is not up");
}

function hasRoute(victim = VICTIM): boolean {
  return run("birdc", "-s", BIRD_CONTROL, "show", "route").includes(`${victim}/32`);
}

async function get<T>(path: string): Promise<T> {
  const answer = await fetch(`${API}${path}`);
  expectTrue(answer.status === 200, `GET ${path}: ${answer.status} ${await answer.clone().text()}`);
  return (await answer.json()) as T;
}

async function post(path: string, body: object): Promise<void> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${API}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  expectTrue(answer.status === 200, `POST ${path}: ${answer.status} ${await answer.text()}`);
}

const status = () => get<Status>("/api/v1/status");

async function isReady(): Promise<boolean> {
  return (await fetch(`${API}/healthz`)).status === 200;
}

function send(times: number): void {
  run("ip", "netns", "exec", "sender", SENDER, "near0", CAPTURE, String(times));
}

function mainPid(): number {
  return Number(run("systemctl", "show", "--property=MainPID", "--value", "floodwall"));
}

function dropped(): number {
  const { verdicts } = JSON.parse(run("floodwall", "dataplane", "status", "--json")) as DataplaneStatus;
  return verdicts["drop_source"]?.packets ?? 0;
}

/** Sends, and sees that the filter drops some of it. */
async function expectDrops(): Promise<void> {
  const before = dropped();
  send(1);
  await eventually(() => dropped() > before, "nothing was dropped");
}

/** The routes stay in the peer's table all the time that `during` takes. */
async function routeStays(during: () => Promise<unknown>, victims: readonly string[] = [VICTIM]): Promise<void> {
  let isOver = false;
  let looks = 0;
  let gone: string | undefined;
  const watching = (async () => {
    for (; !isOver; looks++) {
      gone ??= victims.find((victim) => !hasRoute(victim));
      await Bun.sleep(20);
    }
  })();
  await during().finally(() => {
    isOver = true;
  });
  await watching;
  expectTrue(gone === undefined, `the route of ${gone} was gone meanwhile`);
  expectTrue(looks > 1, "no reader looked");
}

function unitsRights(pid: number): void {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1] ?? "";
  const bitsOf = (capabilities: readonly number[]) =>
    capabilities.reduce((bits, bit) => bits | (1n << BigInt(bit)), 0n);
  for (const set of ["CapEff", "CapPrm", "CapBnd"]) {
    const wanted = bitsOf(CAPABILITIES) & ~(set === "CapBnd" ? 0n : bitsOf(GIVEN_UP));
    expectTrue(BigInt(`0x${field(set)}`) === wanted, `${set} is ${field(set)}, not ${wanted.toString(16)}`);
  }
  expectTrue(field("NoNewPrivs") === "1", "new privileges are possible");
  expectTrue(field("Seccomp") === "2", "no system call is filtered");
  const owner = run("ps", "-o", "user=", "-p", String(pid)).trim();
  expectTrue(owner === "floodwall", `the service runs as ${owner}`);
}

let device = "";

/** Without standing still meanwhile; a start is over when the service is ready. */
async function systemctl(...argv: string[]): Promise<void> {
  const child = Bun.spawn(["systemctl", ...argv, "floodwall"], { env: ENVIRONMENT, stdout: "ignore", stderr: "pipe" });
  const complaint = await child.stderr.text();
  expectTrue((await child.exited) === 0, `systemctl ${argv.join(" ")}: ${complaint.trim()}`);
  if (["start", "restart"].includes(argv.join())) await eventually(isReady, "the service is not ready");
}

/** What a service knows that a newer one must know too. */
async function known() {
  const { bans } = await get<{ bans: readonly { target: string; state: string }[] }>("/api/v1/bans");
  const { active, recent } = await get<Record<"active" | "recent", readonly { id: string }[]>>("/api/v1/attacks");
  const { events } = await get<{ events: readonly { source: string }[] }>("/api/v1/audit?action=ban");
  const { sources } = await get<{ sources: readonly { source: string }[] }>("/api/v1/dataplane/sources");
  return {
    bans: bans.map(({ target, state }) => `${target} ${state}`).toSorted(),
    attacks: [...active, ...recent].map(({ id }) => id).toSorted(),
    orders: events.filter(({ source }) => source === "api").length,
    blocks: sources.map(({ source }) => source),
  };
}

/** The package's scripts restart the service; nothing else touches it. */
async function upgrade(): Promise<void> {
  await post("/api/v1/ban", { ip: OTHER_VICTIM });
  await eventually(() => hasRoute(OTHER_VICTIM), "the route of a ban by hand did not come");
  const isRecorded = async () => (await known()).orders === 1;
  await eventually(isRecorded, "the history has no ban by hand");
  const [before, pid] = [await known(), mainPid()];
  const version = run("dpkg-query", "-W", "floodwall").trim();
  await routeStays(async () => {
    const child = Bun.spawn(["dpkg", "--install", NEWER_PACKAGE], { env: ENVIRONMENT, stdout: "pipe", stderr: "pipe" });
    const [output, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()]);
    expectTrue((await child.exited) === 0, `dpkg: ${output}${complaint}`);
    await eventually(() => mainPid() !== pid && mainPid() > 0, "the service was not started again");
    await eventually(isReady, "the newer service is not ready");
    await expectDrops();
  }, [VICTIM, OTHER_VICTIM]);
  expectTrue(!readlinkSync(`/proc/${mainPid()}/exe`).includes("deleted"), "the older executable still runs");
  const { attacks, ...after } = await known();
  // What the test of the filter sent may be another attack.
  const same = { ...after, attacks: attacks.filter((id) => before.attacks.includes(id)) };
  expectTrue(Bun.deepEquals(before, same), `known before: ${JSON.stringify(before)}, after: ${JSON.stringify(same)}`);
  console.log(`  ${version} -> ${run("dpkg-query", "-W", "floodwall").trim()}: ${JSON.stringify(after)}`);
}

const STEPS: Readonly<Record<string, () => unknown>> = {
  "a peer and a sender": async () => {
    device = deviceOf(GUEST_MACS.far);
    run("ip", "link", "set", device, "up");
    run("ip", "netns", "add", "sender");
    run("ip", "link", "set", deviceOf(GUEST_MACS.near), "netns", "sender", "name", "near0");
    run("ip", "-n", "sender", "link", "set", "near0", "up");
    await startPeer();
    writeFileSync(CONFIG, config(device, 1000));
  },
  // What is wrong stands in its output.
  "check --here": () => console.log(run("sh", "-c", `floodwall check --here ${CONFIG} 1>&2 || exit 1`).trimEnd()),
  "the unit starts": () => systemctl("start"),
  "user, capabilities and system calls are the unit's": () => unitsRights(mainPid()),
  "capture in native mode": async () => {
    await eventually(async () => (await status()).capture.interfaces[0]?.state === "running", "capture does not run");
    const mode = (await status()).capture.interfaces[0]?.mode ?? "";
    expectTrue(mode.startsWith("native"), `the mode is ${mode}`);
    run("floodwall", "dataplane", "status");
  },
  "a flood's route is in BIRD": () => {
    const isAnnounced = () => {
      send(20);
      return hasRoute();
    };
    return eventually(isAnnounced, "no route came");
  },
  "a source block drops packets": async () => {
    await post("/api/v1/dataplane/sources", { victim: VICTIM, source: SOURCE, ttl_seconds: 3600 });
    await expectDrops();
  },
  ...(existsSync(NEWER_PACKAGE) ? { "an upgrade keeps routes, filter, orders, attacks and history": upgrade } : {}),
  "systemctl restart keeps the route and the filter": () => routeStays(() => systemctl("restart").then(expectDrops)),
  "kill -9: systemd starts it again, the route stays": () =>
    routeStays(async () => {
      const pid = mainPid();
      run("kill", "-9", String(pid));
      await eventually(() => mainPid() > 0 && mainPid() !== pid, "systemd did not start it again");
      await eventually(isReady, "the service is not ready");
    }),
  "systemctl reload": async () => {
    writeFileSync(CONFIG, config(device, 1234));
    await systemctl("reload");
    await eventually(async () => (await status()).thresholds.pps === 1234, "the new thresholds are not in force");
  },
  "systemctl stop: filter and route stay": () => routeStays(() => systemctl("stop").then(expectDrops)),
  "purge: nothing is left": async () => {
    await systemctl("start");
    run("dpkg", "--purge", "floodwall");
    await eventually(() => !hasRoute(), "the route is still there");
    const link = run("ip", "-details", "link", "show", device);
    expectTrue(!link.includes("prog/xdp"), `an XDP program is still there: ${link}`);
    const left = run("sh", "-c", "ls -d /sys/fs/bpf/floodwall /etc/floodwall /var/lib/floodwall 2>/dev/null || true");
    expectTrue(left === "", `left behind: ${left}`);
    // The guard of gobgpd sees at its next look that this has ended.
    const isEmpty = () => run("sh", "-c", "pgrep -u floodwall || true") === "";
    await eventually(isEmpty, "a process of the service's user is left");
  },
};

for (const [name, step] of Object.entries(STEPS)) {
  const startMs = performance.now();
  try {
    await step();
    console.log(`  ok      ${name} (${((performance.now() - startMs) / 1000).toFixed(1)} s)`);
  } catch (cause) {
    console.log(`  FAILED  ${name}: ${cause instanceof Error ? cause.message : String(cause)}`);
    console.log(Bun.spawnSync(["journalctl", "-u", "floodwall", "-n", "40", "--no-pager"]).stdout.toString());
    process.exit(1);
  }
}
