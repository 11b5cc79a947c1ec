import { afterEach, beforeEach, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import type { AnnouncingProcessArgument } from "../../test/fixtures/announcing-process.ts";
import {
  address,
  BgpLab,
  bgpConfig,
  blackhole,
  loopback,
  neighbor,
  PEER_ASN,
  SPEAKER_ASN,
  SPEAKER_LISTENS,
  until,
} from "../../test/fixtures/bgp.ts";
import type { Bird } from "../../test/fixtures/bird.ts";
import { systemTimers } from "../system/timers.ts";
import type { GobgpAnnouncer } from "./gobgp-announcer.ts";
import { GobgpClient } from "./gobgp-client.ts";
import { endGobgpd, findGobgpd } from "./gobgpd-process.ts";
import { peerAddress } from "./neighbor.ts";

const DEADLINE_MS = 60_000;
const ANNOUNCING_PROCESS = join(import.meta.dir, "../../test/fixtures/announcing-process.ts");

let lab: BgpLab;
beforeEach(() => {
  lab = new BgpLab();
});
afterEach(() => lab.end());

function runDirectory(): string {
  return join(lab.stateDir, "gobgpd/run");
}

function gobgpdPid(): number {
  const pid = findGobgpd(runDirectory());
  if (pid === null) throw new Error("gobgpd does not run");
  return pid;
}

function established(announcer: GobgpAnnouncer, host = 2): Promise<void> {
  return until(`session with ${loopback(host)}`, () =>
    announcer.status().neighbors.some((n) => n.address === loopback(host) && n.state === "established"),
  );
}

async function prefixes(bird: Bird): Promise<readonly string[]> {
  return (await bird.routes()).map((route) => route.prefix).sort();
}

test(
  "announces and withdraws IPv4 and IPv6 exactly as wanted",
  async () => {
    const bird = await lab.bird();
    const { announcer, latenciesMs } = lab.announcer(bgpConfig());
    await established(announcer);
    const v4 = blackhole("203.0.113.9/32", { communities: ["65535:666", "65001:1"] });
    const v6 = blackhole("2001:db8::9/128");

    announcer.want([v4, v6]);
    await until("announced", () => [v4, v6].every((route) => announcer.routeState(route.prefix).kind === "announced"));
    await until("in BIRD", async () => (await bird.routes()).length === 2);
    expect(await bird.routes()).toEqual([
      {
        prefix: "203.0.113.9/32",
        session: "speaker",
        nextHop: "192.0.2.1",
        asPath: String(SPEAKER_ASN),
        communities: ["65001:1", "65535:666"],
        localPref: 100,
      },
      {
        prefix: "2001:db8::9/128",
        session: "speaker",
        nextHop: "100::1",
        asPath: String(SPEAKER_ASN),
        communities: ["65535:666"],
        localPref: 100,
      },
    ]);
    expect(announcer.status().neighbors[0]?.advertised).toBe(2);
    expect(latenciesMs.length).toBe(2);

    announcer.want([v6]);
    await until("v4 withdrawn", async () => String(await prefixes(bird)) === "2001:db8::9/128");
    announcer.want([]);
    await until("v6 withdrawn", async () => (await prefixes(bird)).length === 0);
  },
  DEADLINE_MS,
);

test(
  "sends the local preference to an iBGP peer and replaces a route whose attributes change",
  async () => {
    const bird = await lab.bird({ asn: SPEAKER_ASN });
    const { announcer } = lab.announcer(bgpConfig({ neighbors: [neighbor({ remoteAsn: SPEAKER_ASN })] }));
    await established(announcer);

    announcer.want([blackhole("203.0.113.9/32", { localPref: 250 })]);
    await until("in BIRD", () => bird.hasRoute("203.0.113.9/32"));
    expect((await bird.routes()).map((route) => route.localPref)).toEqual([250]);

    announcer.want([blackhole("203.0.113.9/32", { localPref: 300, communities: ["65001:7"] })]);
    await until("replaced", async () => (await bird.routes())[0]?.localPref === 300);
    expect((await bird.routes()).map((route) => route.communities)).toEqual([["65001:7"]]);
  },
  DEADLINE_MS,
);

test(
  "a service that starts again adopts gobgpd with its session and withdraws what is no longer wanted",
  async () => {
    const bird = await lab.bird();
    const first = lab.announcer(bgpConfig()).announcer;
    await established(first);
    first.want([blackhole("203.0.113.1/32"), blackhole("203.0.113.2/32")]);
    await until("both in BIRD", async () => (await prefixes(bird)).length === 2);
    const pid = gobgpdPid();
    const session = await bird.ask("show protocols speaker");

    await first.stop({ withdraw: false });
    expect(await prefixes(bird)).toEqual(["203.0.113.1/32", "203.0.113.2/32"]);

    const second = lab.announcer(bgpConfig()).announcer;
    second.want([blackhole("203.0.113.2/32"), blackhole("203.0.113.3/32")]);
    await until("settled", async () => String(await prefixes(bird)) === "203.0.113.2/32,203.0.113.3/32");
    expect(gobgpdPid()).toBe(pid);
    expect(await bird.ask("show protocols speaker")).toEqual(session);
    await until("announced", () => second.routeState(blackhole("203.0.113.3/32").prefix).kind === "announced");
  },
  DEADLINE_MS,
);

test(
  "gobgpd and its routes outlive a service that is killed, and the next one finds them",
  async () => {
    const bird = await lab.bird();
    const argument: AnnouncingProcessArgument = {
      config: bgpConfig(),
      stateDir: lab.stateDir,
      route: blackhole("203.0.113.1/32"),
    };
    const service = spawn(process.execPath, [ANNOUNCING_PROCESS, JSON.stringify(argument)], {
      detached: true,
      stdio: "ignore",
    });
    lab.onEnd(async () => {
      service.kill("SIGKILL");
    });
    await until("in BIRD", () => bird.hasRoute("203.0.113.1/32"));
    const pid = gobgpdPid();

    const ended = new Promise((resolve) => service.once("exit", resolve));
    // The whole process group, as a terminal or a supervisor would.
    process.kill(-(service.pid ?? 0), "SIGKILL");
    await ended;
    expect(gobgpdPid()).toBe(pid);
    expect(await prefixes(bird)).toEqual(["203.0.113.1/32"]);

    const { announcer } = lab.announcer(bgpConfig());
    announcer.want([blackhole("203.0.113.2/32")]);
    await until("settled", async () => String(await prefixes(bird)) === "203.0.113.2/32");
    expect(gobgpdPid()).toBe(pid);
  },
  DEADLINE_MS,
);

test(
  "stop with withdrawal leaves neither routes nor gobgpd",
  async () => {
    const bird = await lab.bird();
    const { announcer } = lab.announcer(bgpConfig());
    await established(announcer);
    announcer.want([blackhole("203.0.113.1/32")]);
    await until("in BIRD", () => bird.hasRoute("203.0.113.1/32"));

    await announcer.stop({ withdraw: true });
    expect(findGobgpd(runDirectory())).toBeNull();
    await until("withdrawn", async () => (await prefixes(bird)).length === 0);
  },
  DEADLINE_MS,
);

test(
  "a killed gobgpd is started again and has all routes once",
  async () => {
    const bird = await lab.bird();
    const { announcer, warnings, faults } = lab.announcer(bgpConfig());
    await established(announcer);
    const routes = ["203.0.113.1/32", "203.0.113.2/32", "2001:db8::1/128"].map((text) => blackhole(text));
    announcer.want(routes);
    await until("all in BIRD", async () => (await prefixes(bird)).length === 3);
    const killed = gobgpdPid();

    process.kill(killed, "SIGKILL");
    await until("down", () => !announcer.status().connected);
    expect(announcer.routeState(routes[0]?.prefix ?? blackhole("::1/128").prefix).kind).toBe("failed");

    await established(announcer);
    await until("announced again", () => routes.every((r) => announcer.routeState(r.prefix).kind === "announced"));
    await until("all in BIRD again", async () => (await prefixes(bird)).length === 3);
    expect(gobgpdPid()).not.toBe(killed);
    expect(warnings.length).toBe(1);
    expect(faults.length).toBe(1);
  },
  DEADLINE_MS,
);

test(
  "a frozen gobgpd is told by the state, holds nobody up, and is back when it thaws",
  async () => {
    const bird = await lab.bird();
    const { announcer, warnings, faults } = lab.announcer(bgpConfig());
    await established(announcer);
    const first = blackhole("203.0.113.1/32");
    const second = blackhole("203.0.113.2/32");
    announcer.want([first]);
    await until("announced", () => announcer.routeState(first.prefix).kind === "announced");

    const pid = gobgpdPid();
    process.kill(pid, "SIGSTOP");
    lab.onEnd(async () => {
      await endGobgpd({ pid, workingDirectory: runDirectory(), gracefully: false, timers: systemTimers });
    });
    announcer.want([first, second]);
    await until("failed", () => announcer.routeState(second.prefix).kind === "failed");
    expect(JSON.stringify(announcer.routeState(second.prefix))).toContain("does not answer");
    expect(announcer.status().connected).toBe(false);
    expect(announcer.status().neighbors.map((n) => n.state)).toEqual(["unknown"]);
    await until("tried again and again", () => faults.length >= 3);
    expect(warnings.length).toBe(1);

    process.kill(pid, "SIGCONT");
    await until("announced", () => announcer.routeState(second.prefix).kind === "announced");
    expect(await prefixes(bird)).toEqual(["203.0.113.1/32", "203.0.113.2/32"]);
    expect(gobgpdPid()).toBe(pid);
  },
  DEADLINE_MS,
);

test(
  "a gobgpd that stays frozen is replaced",
  async () => {
    let aheadMs = 0;
    const clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() + aheadMs };
    const { announcer, warnings, faults } = lab.announcer(bgpConfig(), { clock });
    const route = blackhole("203.0.113.1/32");
    announcer.want([route]);
    await until("no session", () => announcer.routeState(route.prefix).kind === "no_session");
    const frozen = gobgpdPid();
    process.kill(frozen, "SIGSTOP");
    await until("found silent when it was to be adopted again", () => faults.includes("GetBgp"));
    expect(gobgpdPid()).toBe(frozen);

    aheadMs = 31_000;
    await until("replaced", () => announcer.status().connected);
    expect(gobgpdPid()).not.toBe(frozen);
    expect(warnings.some((warning) => warning.startsWith("gobgpd does not answer, killing it"))).toBe(true);
  },
  DEADLINE_MS,
);

test(
  "dials its neighbors when it does not listen",
  async () => {
    // Which address a dialling gobgpd comes from is the kernel's choice.
    const bird = await lab.bird({ session: { address: "127.0.0.1", port: null } });
    const { announcer } = lab.announcer(bgpConfig({ listen: null }));
    announcer.want([blackhole("203.0.113.1/32")]);
    await until("in BIRD", () => bird.hasRoute("203.0.113.1/32"), 30_000);
    expect(announcer.status().neighbors.map((n) => n.state)).toEqual(["established"]);
  },
  DEADLINE_MS,
);

test(
  "without a session a route says so, and is announced when one comes up",
  async () => {
    const { announcer } = lab.announcer(bgpConfig());
    const route = blackhole("203.0.113.1/32");
    announcer.want([route]);
    await until("no session", () => announcer.routeState(route.prefix).kind === "no_session");

    let calls = 0;
    announcer.onChange(() => calls++);
    const bird = await lab.bird();
    await until("announced", () => announcer.routeState(route.prefix).kind === "announced");
    expect(await prefixes(bird)).toEqual(["203.0.113.1/32"]);
    expect(calls).toBeGreaterThan(0);

    await bird.ask("disable speaker");
    await until("no session again", () => announcer.routeState(route.prefix).kind === "no_session");
    expect(announcer.status().neighbors.map((n) => [n.state === "established", n.advertised])).toEqual([[false, 0]]);
  },
  DEADLINE_MS,
);

test(
  "a route of a family that no neighbor takes is not called announced",
  async () => {
    const bird = await lab.bird({ session: { families: [4] } });
    const { announcer } = lab.announcer(bgpConfig());
    await established(announcer);
    const v6 = blackhole("2001:db8::1/128");
    announcer.want([v6, blackhole("203.0.113.1/32")]);
    await until("failed", () => announcer.routeState(v6.prefix).kind === "failed");
    expect(announcer.routeState(v6.prefix)).toEqual({
      kind: "failed",
      cause: "no established neighbor takes IPv6 unicast routes",
    });
    await until("the other in BIRD", () => bird.hasRoute("203.0.113.1/32"));
  },
  DEADLINE_MS,
);

test(
  "a route that cannot be sent fails alone",
  async () => {
    const bird = await lab.bird();
    const { announcer } = lab.announcer(bgpConfig());
    await established(announcer);
    const wrong = blackhole("203.0.113.1/32", { communities: ["65536:1"] });
    announcer.want([wrong, blackhole("203.0.113.2/32")]);
    await until("the other in BIRD", () => bird.hasRoute("203.0.113.2/32"));
    expect(announcer.routeState(wrong.prefix)).toEqual({ kind: "failed", cause: "invalid community 65536:1" });
  },
  DEADLINE_MS,
);

test(
  "passes no route of one neighbor on to another",
  async () => {
    const source = await lab.bird({ announces: ["198.51.100.0/24"] });
    const other = await lab.bird({ host: 3, asn: PEER_ASN + 1 });
    const neighbors = [neighbor(), neighbor({ address: loopback(3), remoteAsn: PEER_ASN + 1 })];
    const { announcer } = lab.announcer(bgpConfig({ neighbors }));
    await established(announcer, 2);
    await established(announcer, 3);
    await until("the neighbor's route is there to be passed on", async () => (await receivedRoutes(loopback(2))) === 1);
    announcer.want([blackhole("203.0.113.1/32")]);
    for (const bird of [source, other]) {
      await until("the own route in BIRD", () => bird.hasRoute("203.0.113.1/32"));
      expect(await prefixes(bird)).toEqual(["203.0.113.1/32"]);
    }
  },
  DEADLINE_MS,
);

/** What the neighbor sent, whether accepted or not. */
async function receivedRoutes(address: string): Promise<number> {
  const target = { kind: "unix", path: join(runDirectory(), "gobgpd.sock") } as const;
  const client = new GobgpClient({ target, deadlineMs: 1_000 });
  const peers = await client.listPeers();
  client.close();
  const families = peers.find((peer) => peerAddress(peer) === address)?.afiSafis ?? [];
  return families.reduce((sum, family) => sum + Number(family.state?.received ?? 0n), 0);
}

test(
  "2,000 routes are all announced and all withdrawn",
  async () => {
    const bird = await lab.bird();
    const { announcer } = lab.announcer(bgpConfig());
    await established(announcer);
    const routes = Array.from({ length: 2_000 }, (_, i) => blackhole(`198.18.${i >> 8}.${i & 255}/32`));
    announcer.want(routes);
    await until("all announced", () => routes.every((r) => announcer.routeState(r.prefix).kind === "announced"));
    await until("all in BIRD", async () => (await bird.routes()).length === 2_000);
    expect(announcer.status().neighbors[0]?.advertised).toBe(2_000);
    announcer.want([]);
    await until("none in BIRD", async () => (await bird.routes()).length === 0);
  },
  DEADLINE_MS,
);

test(
  "a reload sets changed neighbors and leaves the session of the others alone",
  async () => {
    const kept = await lab.bird();
    const { announcer } = lab.announcer(bgpConfig());
    await established(announcer);
    announcer.want([blackhole("203.0.113.1/32")]);
    await until("in BIRD", () => kept.hasRoute("203.0.113.1/32"));
    const before = await kept.ask("show protocols speaker");

    const added = await lab.bird({ host: 3, asn: PEER_ASN + 1 });
    const third = neighbor({ address: loopback(3), remoteAsn: PEER_ASN + 9 });
    announcer.reload(bgpConfig({ neighbors: [neighbor(), third] }));
    await until("added", () => announcer.status().neighbors.some((n) => n.remoteAsn === PEER_ASN + 9));
    expect(announcer.routeState(blackhole("203.0.113.1/32").prefix).kind).toBe("announced");

    announcer.reload(bgpConfig({ neighbors: [neighbor(), { ...third, remoteAsn: PEER_ASN + 1 }] }));
    await established(announcer, 3);
    await until("in the added BIRD", () => added.hasRoute("203.0.113.1/32"));

    announcer.reload(bgpConfig());
    await until("removed", () => announcer.status().neighbors.length === 1);
    expect(await kept.ask("show protocols speaker")).toEqual(before);
    expect(() => announcer.reload(bgpConfig({ speaker: "external", grpc: "/x" }))).toThrow("bug");
  },
  DEADLINE_MS,
);

test(
  "a reload with another local AS replaces gobgpd",
  async () => {
    const { announcer } = lab.announcer(bgpConfig());
    const route = blackhole("203.0.113.1/32");
    announcer.want([route]);
    await until("no session", () => announcer.routeState(route.prefix).kind === "no_session");
    const pid = gobgpdPid();

    announcer.reload(bgpConfig({ localAsn: SPEAKER_ASN + 50 }));
    const bird = await lab.bird({ session: { asn: SPEAKER_ASN + 50 } });
    await until("in BIRD", () => bird.hasRoute("203.0.113.1/32"));
    expect(gobgpdPid()).not.toBe(pid);
  },
  DEADLINE_MS,
);

test(
  "an MD5 password is taken from the environment and written nowhere",
  async () => {
    const password = "only-for-this-test";
    const bird = await lab.bird({ session: { password } });
    const environment = { read: (name: string) => (name === "PEER_PASSWORD" ? password : null) };
    const config = bgpConfig({ neighbors: [neighbor({ passwordEnv: "PEER_PASSWORD" })] });
    const { announcer, warnings } = lab.announcer(config, { environment });
    announcer.want([blackhole("203.0.113.1/32")]);
    await until("in BIRD", () => bird.hasRoute("203.0.113.1/32"));
    for (const file of ["gobgpd.toml", "gobgpd.log"]) {
      expect(readFileSync(join(lab.stateDir, "gobgpd", file), "utf8")).not.toContain(password);
    }
    expect(warnings.join()).not.toContain(password);
  },
  DEADLINE_MS,
);

test(
  "looking at the neighbors again leaves them as they are",
  async () => {
    const bird = await lab.bird({ asn: SPEAKER_ASN, session: { password: "one" } });
    const ibgp = neighbor({ remoteAsn: SPEAKER_ASN, passwordEnv: "PEER_PASSWORD" });
    const direct = neighbor({ address: loopback(3), multihopTtl: 0 });
    const { announcer } = lab.announcer(bgpConfig({ neighbors: [ibgp, direct] }), {
      environment: { read: () => "one" },
      times: { pollMs: 20, checkMs: 20, retryMinMs: 20, retryMaxMs: 100, deadlineMs: 1_000 },
    });
    await established(announcer);
    const before = await bird.ask("show protocols speaker");
    const addedPeers = () => readFileSync(join(lab.stateDir, "gobgpd/gobgpd.log"), "utf8").split("Add a peer").length;
    const added = addedPeers();
    const seenMs = performance.now();
    await until("many looks", () => performance.now() - seenMs > 500);
    expect(addedPeers()).toBe(added);
    expect(await bird.ask("show protocols speaker")).toEqual(before);
  },
  DEADLINE_MS,
);

test(
  "cuts a log that grew too long",
  async () => {
    mkdirSync(join(lab.stateDir, "gobgpd"));
    const log = join(lab.stateDir, "gobgpd/gobgpd.log");
    writeFileSync(log, "x".repeat(4 * 1024 * 1024 + 1));
    const { announcer } = lab.announcer(bgpConfig());
    await until("connected", () => announcer.status().connected);
    expect(statSync(log).size).toBeLessThan(64 * 1024);
  },
  DEADLINE_MS,
);

test(
  "a neighbor whose password is not set is named and the others are set",
  async () => {
    const bird = await lab.bird();
    const locked = neighbor({ address: loopback(3), passwordEnv: "ABSENT" });
    const { announcer, warnings } = lab.announcer(bgpConfig({ neighbors: [locked, neighbor()] }));
    announcer.want([blackhole("203.0.113.1/32")]);
    await until("in BIRD", () => bird.hasRoute("203.0.113.1/32"));
    expect(announcer.status().fault).toBe(`neighbor ${loopback(3)}: environment variable ABSENT is not set`);
    expect(warnings.length).toBe(1);
  },
  DEADLINE_MS,
);

test(
  "runs gobgpd without privileges and with its socket out of others' reach",
  async () => {
    const { announcer } = lab.announcer(bgpConfig());
    await until("connected", () => announcer.status().connected);
    const status = readFileSync(`/proc/${gobgpdPid()}/status`, "utf8");
    if (process.getuid?.() === 0) {
      expect(status).not.toMatch(/^Uid:\t0/m);
      expect(status).toMatch(/^CapEff:\t0+$/m);
    }
    expect(statSync(runDirectory()).mode & 0o077).toBe(0);
    expect(readFileSync(`/proc/${gobgpdPid()}/environ`, "utf8")).not.toContain("PATH");
  },
  DEADLINE_MS,
);

test(
  "a missing gobgpd is named with its remedy, and found once it is installed",
  async () => {
    let executable: string | null = null;
    const { announcer, warnings } = lab.announcer(bgpConfig(), { executable: () => executable });
    const route = blackhole("203.0.113.1/32");
    announcer.want([route]);
    await until("failed", () => announcer.routeState(route.prefix).kind === "failed");
    expect(announcer.status().fault).toBe("gobgpd is not installed: apt-get install gobgpd");
    expect(warnings.length).toBe(1);
    executable = "/usr/bin/gobgpd";
    await until("no session", () => announcer.routeState(route.prefix).kind === "no_session");
  },
  DEADLINE_MS,
);

test(
  "a port in use is named, and taken when it becomes free",
  async () => {
    const server = await listenOn(loopback(1), SPEAKER_LISTENS.port);
    const { announcer, warnings } = lab.announcer(bgpConfig());
    await until("a fault", () => announcer.status().fault !== null);
    expect(announcer.status().fault).toContain("address already in use");
    await until("tried again", () => warnings.length >= 1);
    await new Promise((resolve) => server.close(resolve));
    await until("connected", () => announcer.status().connected);
    expect(announcer.status().fault).toBeNull();
  },
  DEADLINE_MS,
);

function listenOn(host: string, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(port, host, () => resolve(server));
  });
}

test(
  "why gobgpd does not start is told in its own words",
  async () => {
    const listen = { ...SPEAKER_LISTENS, address: address("192.0.2.99") };
    const { announcer } = lab.announcer(bgpConfig({ listen }));
    await until("a fault", () => announcer.status().fault !== null);
    expect(announcer.status().fault).toStartWith("gobgpd does not start: failed to set global config: ");
    expect(announcer.status().fault).toContain("cannot assign requested address");
  },
  DEADLINE_MS,
);

test(
  "removes the socket that a killed gobgpd left behind",
  async () => {
    const first = lab.announcer(bgpConfig()).announcer;
    await until("connected", () => first.status().connected);
    await first.stop({ withdraw: false });
    process.kill(gobgpdPid(), "SIGKILL");
    await until("gone", () => findGobgpd(runDirectory()) === null);
    expect(statSync(join(runDirectory(), "gobgpd.sock")).isSocket()).toBe(true);

    const second = lab.announcer(bgpConfig()).announcer;
    await until("connected", () => second.status().connected);
  },
  DEADLINE_MS,
);

test(
  "an unusable state directory is a fault, not a crash",
  async () => {
    const file = join(lab.stateDir, "file");
    writeFileSync(file, "");
    const { announcer } = lab.announcer(bgpConfig(), { stateDir: file });
    await until("a fault", () => announcer.status().fault !== null);
    expect(announcer.status().fault).toContain("state directory");
    rmSync(file);
    chmodSync(lab.stateDir, 0o700);
    await until("connected", () => announcer.status().connected);
  },
  DEADLINE_MS,
);
