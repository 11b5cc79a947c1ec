import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { spawn } from "node:child_process";
import { appendFileSync, chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { getPriority } from "node:os";
import { join } from "node:path";
import type { AnnouncingProcessArgument } from "../../../test/fixtures/bgp/announcing-process.ts";
import {
  BgpLab,
  bgpConfig,
  blackhole,
  established,
  flow,
  loopback,
  neighbor,
  SPEAKER_ASN,
  SPEAKER_LISTENS,
  until,
} from "../../../test/fixtures/bgp/bgp.ts";
import { address } from "../../../test/fixtures/host-rows.ts";
import { systemClock } from "../../system/clock.ts";
import { systemTimers } from "../../system/timers.ts";
import { endGobgpd } from "./gobgpd-process.ts";
import { endManagedGobgpd, ManagedSpeaker } from "./managed-speaker.ts";
import { ROUTES_TAKEN_MAX } from "./peer-message.ts";

setDefaultTimeout(60_000);
const ANNOUNCING_PROCESS = join(import.meta.dir, "../../../test/fixtures/bgp/announcing-process.ts");

const lab = new BgpLab();
afterEach(() => lab.end());

test("gobgpd and its routes outlive a service that is killed, and the next one finds them", async () => {
  const bird = await lab.bird();
  const argument: AnnouncingProcessArgument = {
    config: bgpConfig(),
    stateDir: lab.stateDir,
    routes: [blackhole("203.0.113.1/32"), flow("203.0.113.1/32"), flow("203.0.113.9/32")],
  };
  const service = spawn(process.execPath, [ANNOUNCING_PROCESS, JSON.stringify(argument)], {
    detached: true,
    stdio: "ignore",
  });
  lab.onEnd(async () => {
    service.kill("SIGKILL");
    await endManagedGobgpd({ stateDir: lab.stateDir, timers: systemTimers });
  });
  await until("in BIRD", async () => (await bird.hasRoute("203.0.113.1/32")) && (await bird.flowCount()) === 2);
  const pid = lab.gobgpdPid();

  const ended = new Promise((resolve) => service.once("exit", resolve));
  // The whole process group, as a terminal or a supervisor would.
  process.kill(-(service.pid ?? 0), "SIGKILL");
  await ended;
  expect(lab.gobgpdPid()).toBe(pid);
  expect(await bird.prefixes()).toEqual(["203.0.113.1/32"]);
  expect(await bird.flowCount()).toBe(2);

  const { announcer } = lab.announcer(bgpConfig());
  announcer.want([blackhole("203.0.113.2/32"), flow("203.0.113.9/32")]);
  await until("settled", async () => String(await bird.prefixes()) === "203.0.113.2/32");
  await until("flows settled", async () => (await bird.flowCount()) === 1);
  expect((await bird.flows()).map(({ match }) => match)).toEqual(["dst 203.0.113.9/32"]);
  expect(lab.gobgpdPid()).toBe(pid);
});

test("a neighbor over which gobgpd crashes again and again is left out, so that the others are served", async () => {
  const bird = await lab.bird();
  const config = bgpConfig({ neighbors: [neighbor(), neighbor({ address: loopback(3), remoteAsn: 65003 })] });
  const { announcer, warnings } = lab.announcer(config);
  const route = blackhole("203.0.113.1/32");
  announcer.want([route]);
  await until("connected", () => announcer.status().connected);
  let crashes = 0;
  const crash = () => {
    crashes++;
    process.kill(lab.gobgpdPid(), "SIGSEGV");
  };
  lab.pickyPeer({ host: 3, asn: 65003, hates: "192.0.2.99", onEstablished: crash });
  await until("left out", () => warnings.some((text) => text.includes("leaving it out")));
  await until("in BIRD", () => bird.hasRoute("203.0.113.1/32"));
  // The first crashes may come as gobgpd has just written about the other neighbor.
  expect(crashes).toBeGreaterThanOrEqual(3);
  expect(warnings.filter((text) => text.startsWith("gobgpd crashed,")).slice(-3)).toEqual(
    Array(3).fill(expect.stringContaining(`"last_neighbor":"${loopback(3)}"`)),
  );
  const fault = `neighbor ${loopback(3)}: left out for now, since gobgpd crashed over it`;
  await until(`the fault: ${fault}`, () => announcer.status().fault === fault);
});

test("a hung gobgpd is shown in the state, blocks no caller, and recovers when it continues", async () => {
  const bird = await lab.bird();
  const { announcer, warnings, faults } = lab.announcer(bgpConfig());
  await established(announcer);
  const first = blackhole("203.0.113.1/32");
  const second = blackhole("203.0.113.2/32");
  announcer.want([first]);
  await until("announced", () => announcer.routeState(first).kind === "announced");

  const pid = lab.gobgpdPid();
  process.kill(pid, "SIGSTOP");
  lab.onEnd(async () => {
    await endGobgpd({ pid, workingDirectory: lab.runDirectory(), gracefully: false, timers: systemTimers });
  });
  announcer.want([first, second]);
  await until("failed", () => announcer.routeState(second).kind === "speaker_down");
  expect(JSON.stringify(announcer.routeState(second))).toContain("does not answer");
  expect(announcer.status().connected).toBe(false);
  expect(announcer.status().neighbors.map((n) => n.state)).toEqual(["unknown"]);
  await until("tried again and again", () => faults.length >= 3);
  expect(warnings.length).toBe(1);

  process.kill(pid, "SIGCONT");
  await until("announced", () => announcer.routeState(second).kind === "announced");
  expect(await bird.prefixes()).toEqual(["203.0.113.1/32", "203.0.113.2/32"]);
  expect(lab.gobgpdPid()).toBe(pid);
});

test("a gobgpd that stays hung is replaced", async () => {
  let aheadMs = 0;
  const clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() + aheadMs };
  const { announcer, warnings, faults } = lab.announcer(bgpConfig(), { clock });
  const route = blackhole("203.0.113.1/32");
  announcer.want([route]);
  await until("no session", () => announcer.routeState(route).kind === "no_session");
  const frozen = lab.gobgpdPid();
  process.kill(frozen, "SIGSTOP");
  await until("found silent when it was to be adopted again", () => faults.includes("GetBgp"));
  expect(lab.gobgpdPid()).toBe(frozen);

  aheadMs = 31_000;
  await until("replaced", () => announcer.status().connected);
  expect(lab.gobgpdPid()).not.toBe(frozen);
  expect(warnings.some((warning) => warning.startsWith("gobgpd does not answer, killing it"))).toBe(true);
});

test("dials its neighbors when it does not listen, also after a refused attempt", async () => {
  const { announcer } = lab.announcer(bgpConfig({ listen: null }));
  announcer.want([blackhole("203.0.113.1/32")]);
  await until("a neighbor", () => announcer.status().connected);
  // GoBGP's first attempt is made within that time. By its own default the next one follows after 120 s or more.
  await Bun.sleep(10_000);
  // The kernel selects the source address of a dialling gobgpd.
  const bird = await lab.bird({ session: { address: "127.0.0.1", port: null } });
  await until("in BIRD", () => bird.hasRoute("203.0.113.1/32"), 30_000);
  await established(announcer);
});

test("listens on addresses of both families, and is adopted so", async () => {
  const { port } = SPEAKER_LISTENS;
  const config = bgpConfig({ listen: { addresses: [SPEAKER_LISTENS.address, address("::1")], port } });
  const first = lab.announcer(config).announcer;
  await until("connected", () => first.status().connected);
  const pid = lab.gobgpdPid();
  for (const hostname of config.listen?.addresses ?? []) {
    (await Bun.connect({ hostname, port, socket: { data() {} } })).end();
  }
  await first.stop({ withdraw: false });
  const second = lab.announcer(config).announcer;
  await until("connected", () => second.status().connected);
  expect(lab.gobgpdPid()).toBe(pid);
});

test("a reload with another local AS replaces gobgpd", async () => {
  const { announcer } = lab.announcer(bgpConfig());
  const route = blackhole("203.0.113.1/32");
  announcer.want([route]);
  await until("no session", () => announcer.routeState(route).kind === "no_session");
  const pid = lab.gobgpdPid();

  announcer.reload(bgpConfig({ localAsn: SPEAKER_ASN + 50 }));
  const bird = await lab.bird({ session: { asn: SPEAKER_ASN + 50 } });
  await until("in BIRD", () => bird.hasRoute("203.0.113.1/32"));
  expect(lab.gobgpdPid()).not.toBe(pid);
});

test("cuts a log that grew too long", async () => {
  const times = { pollMs: 20, checkMs: 20, retryMinMs: 20, retryMaxMs: 100, deadlineMs: 1_000, leaseMs: 30_000 };
  const { announcer } = lab.announcer(bgpConfig(), { times });
  await until("connected", () => announcer.status().connected);
  const log = join(lab.stateDir, "gobgpd/gobgpd.log");
  appendFileSync(log, "x".repeat(4 * 1024 * 1024 + 1));
  await until("cut", () => statSync(log).size < 64 * 1024);
});

const hasGroups = existsSync("/proc/self/autogroup");
const mayRaise = Bun.spawnSync(["nice", "-n", "-10", "true"], { stderr: "pipe" }).stderr.length === 0;
const noPriority = !hasGroups
  ? " (a kernel without groups by session)"
  : mayRaise
    ? ""
    : " (no permission to raise one)";

test.skipIf(noPriority !== "")(
  `gobgpd has the priority of the service, also among other sessions${noPriority}`,
  async () => {
    const argument: AnnouncingProcessArgument = { config: bgpConfig(), stateDir: lab.stateDir, routes: [] };
    const session = readFileSync("/proc/self/autogroup", "utf8");
    const program = ["-n", String(-10 - getPriority()), process.execPath, ANNOUNCING_PROCESS, JSON.stringify(argument)];
    const service = spawn("nice", program, { stdio: "ignore" });
    lab.onEnd(async () => {
      service.kill("SIGKILL");
      await endManagedGobgpd({ stateDir: lab.stateDir, timers: systemTimers });
    });
    // Before that there is no directory, or the process is not gobgpd yet.
    await until("gobgpd runs", () => existsSync(lab.speakerSocket()));
    expect(getPriority(lab.gobgpdPid())).toBe(-10);
    expect(readFileSync(`/proc/${lab.gobgpdPid()}/autogroup`, "utf8")).toContain("nice -10");
    expect(readFileSync("/proc/self/autogroup", "utf8")).toBe(session);
  },
);

test("runs gobgpd without privileges and with its socket out of others' reach", async () => {
  const { announcer } = lab.announcer(bgpConfig());
  await until("connected", () => announcer.status().connected);
  const status = readFileSync(`/proc/${lab.gobgpdPid()}/status`, "utf8");
  if (process.getuid?.() === 0) {
    expect(status).not.toMatch(/^Uid:\t0/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
  }
  expect(statSync(lab.runDirectory()).mode & 0o077).toBe(0);
  expect(readFileSync(`/proc/${lab.gobgpdPid()}/environ`, "utf8")).not.toContain("PATH");
});

test("a missing gobgpd is named with its remedy, and found once it is installed", async () => {
  let executable: string | null = null;
  const { announcer, warnings } = lab.announcer(bgpConfig(), { executable: () => executable });
  const route = blackhole("203.0.113.1/32");
  announcer.want([route]);
  await until("failed", () => announcer.routeState(route).kind === "speaker_down");
  expect(announcer.status().fault).toBe("gobgpd is not installed: apt-get install gobgpd");
  expect(warnings.length).toBe(1);
  executable = "/usr/bin/gobgpd";
  await until("no session", () => announcer.routeState(route).kind === "no_session");
});

test("replaces a gobgpd whose directory was removed under it", async () => {
  let aheadMs = 0;
  const clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() + aheadMs };
  const first = lab.announcer(bgpConfig()).announcer;
  await until("connected", () => first.status().connected);
  await first.stop({ withdraw: false });
  const lost = lab.gobgpdPid();
  rmSync(join(lab.stateDir, "gobgpd"), { recursive: true });

  const second = lab.announcer(bgpConfig(), { clock });
  await until("looked for", () => second.faults.includes("gobgpd"));
  aheadMs = 31_000;
  await until("replaced", () => second.announcer.status().connected);
  expect(lab.gobgpdPid()).not.toBe(lost);
});

test("an unusable state directory is a fault, not a crash", async () => {
  const file = join(lab.stateDir, "file");
  writeFileSync(file, "");
  const { announcer } = lab.announcer(bgpConfig(), { stateDir: file });
  await until("a fault", () => announcer.status().fault !== null);
  expect(announcer.status().fault).toContain("state directory");
  rmSync(file);
  chmodSync(lab.stateDir, 0o700);
  await until("connected", () => announcer.status().connected);
});

test("a neighbor that sends very many routes loses its session for a while, and the others keep theirs", async () => {
  const announces = Array.from({ length: 1.5 * ROUTES_TAKEN_MAX }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`);
  const neighbors = [neighbor(), neighbor({ address: loopback(3), remoteAsn: SPEAKER_ASN + 7 })];
  const quiet = await lab.bird();
  const { announcer } = lab.announcer(bgpConfig({ neighbors }));
  await established(announcer);
  announcer.want([blackhole("203.0.113.1/32")]);
  await lab.bird({ host: 3, asn: SPEAKER_ASN + 7, announces });
  const status = (host: number) => announcer.status().neighbors.find((one) => one.address === loopback(host));
  await until("its session is ended, and says why", () => status(3)?.fault?.includes("let it export nothing") === true);
  await until("its session is administratively down", () => status(3)?.state === "admin_down");
  expect(status(2)?.state).toBe("established");
  expect(await quiet.hasRoute("203.0.113.1/32")).toBe(true);
});

test("a neighbor that a reload adds waits until the export policy knows it", async () => {
  const speaker = new ManagedSpeaker({
    ...{
      config: bgpConfig(),
      stateDir: lab.stateDir,
      executable: () => lab.gobgpd,
      deadlineMs: 5000,
      leaseMs: 60_000,
    },
    ...{ routesUntilMs: () => null, clock: systemClock, timers: systemTimers, environment: { read: () => null } },
    log: { info() {}, warn() {} },
  });
  lab.onEnd(() => speaker.end());
  const client = await speaker.connect();
  const peers = async (of: typeof client) => (await of.listPeers()).map((peer) => peer.address).sort();
  await speaker.configure(client);
  expect(await peers(client)).toEqual([loopback(2)]);
  const added = neighbor({ address: loopback(3) });
  speaker.reload(bgpConfig({ neighbors: [neighbor(), added] }));
  // A look at the neighbors that was due before the link connects again.
  await speaker.configure(client);
  expect(await peers(client)).toEqual([loopback(2)]);
  expect(speaker.policies.addresses).toEqual([loopback(2)]);
  client.close();
  const next = await speaker.connect();
  expect(speaker.policies.addresses).toEqual([loopback(2), loopback(3)]);
  await speaker.configure(next);
  expect(await peers(next)).toEqual([loopback(2), loopback(3)]);
  next.close();
});
