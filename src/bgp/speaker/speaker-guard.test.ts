import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { type ChildProcess, spawn } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { AnnouncingProcessArgument } from "../../../test/fixtures/bgp/announcing-process.ts";
import { BgpLab, bgpConfig, blackhole, established, until } from "../../../test/fixtures/bgp/bgp.ts";
import { eventually } from "../../../test/fixtures/service.ts";
import { systemClock } from "../../system/clock.ts";
import { systemTimers } from "../../system/timers.ts";
import { findGobgpd, isGobgpd, signal, startGobgpd, startTicks, unprivilegedUser } from "./gobgpd-process.ts";
import { endManagedGobgpd } from "./managed-speaker.ts";
import { DEADLINE_FROM_RUN, SpeakerDirectory } from "./speaker-directory.ts";
import { SpeakerGuard, script } from "./speaker-guard.ts";

setDefaultTimeout(60_000);
const ANNOUNCING_PROCESS = join(import.meta.dir, "../../../test/fixtures/bgp/announcing-process.ts");
const ROUTE = "203.0.113.1/32";
/** A guard ends gobgpd after seven looks, here in less than four seconds. */
const GUARD = { leaseMs: 1_000, guardLookMs: 500 };

const lab = new BgpLab();
afterEach(() => lab.end());

/** Process ids. A guard that begins to sleep is two processes of its name for a moment, until one executes the program. */
function guards(): number[] {
  const isGuard = (entry: string) => {
    try {
      const isNamed = readFileSync(`/proc/${entry}/comm`, "utf8") === "floodwall-guard\n";
      return isNamed && readFileSync(`/proc/${entry}/cmdline`, "utf8").endsWith(`\0${lab.gobgpdPid()}\0`);
    } catch {
      return false;
    }
  };
  const found = readdirSync("/proc").filter(isGuard);
  return found.filter((entry) => !found.includes(parentOf(entry))).map(Number);
}

function startedService(changes: Partial<AnnouncingProcessArgument> = {}): ChildProcess {
  const argument: AnnouncingProcessArgument = {
    ...{ times: GUARD, config: bgpConfig(), stateDir: lab.stateDir, routes: [blackhole(ROUTE)], ...changes },
  };
  const service = spawn(process.execPath, [ANNOUNCING_PROCESS, JSON.stringify(argument)], { stdio: "ignore" });
  lab.onEnd(async () => {
    service.kill("SIGKILL");
    await endManagedGobgpd({ stateDir: lab.stateDir, timers: systemTimers });
  });
  return service;
}

/** "": it has ended. */
function parentOf(entry: string): string {
  try {
    return /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${entry}/status`, "utf8"))?.[1] ?? "";
  } catch {
    return "";
  }
}

/** A service that announces one route and is killed as soon as BIRD has it. */
async function killedService({ routesLastMs }: { routesLastMs?: number } = {}): Promise<void> {
  const bird = await lab.bird();
  const service = startedService(routesLastMs === undefined ? {} : { routesLastMs });
  await until("in BIRD", () => bird.hasRoute(ROUTE));
  const ended = new Promise((resolve) => service.once("exit", resolve));
  service.kill("SIGKILL");
  await ended;
  expect(await bird.hasRoute(ROUTE)).toBe(true);
  await until("the route expired or is kept", async () => !(await bird.hasRoute(ROUTE)) || routesLastMs === undefined);
}

test("ends gobgpd and its routes when they expired and the killed service has not come back", async () => {
  await killedService({ routesLastMs: 2_000 });
  await until("ended", () => findGobgpd(lab.runDirectory()) === null);
});

test("ends a gobgpd whose service is killed while it starts, also when its folder is removed then", async () => {
  const service = startedService({ times: { leaseMs: 1_000, guardLookMs: 100 }, routesLastMs: 0 });
  const run = join(realpathSync(lab.stateDir), "gobgpd/run");
  await eventually(() => existsSync(join(run, "gobgpd.sock")), "gobgpd is not started", 20_000, 0);
  service.kill("SIGKILL");
  const pid = lab.gobgpdPid();
  rmSync(lab.stateDir, { recursive: true, force: true });
  expect(isGobgpd(pid, run)).toBe(true);
  lab.onEnd(async () => signal(pid, "SIGKILL"));
  await until("ended", () => !isGobgpd(pid, run));
});

test("leaves routes alone that have not expired, and a service that comes back", async () => {
  await killedService();
  const pid = lab.gobgpdPid();
  const [guard] = guards();
  // Without routes, the lease of a living service alone keeps gobgpd.
  const times = { pollMs: 200, checkMs: 500, retryMinMs: 50, retryMaxMs: 500, deadlineMs: 500, leaseMs: 2_000 };
  const { announcer } = lab.announcer(bgpConfig(), { times });
  await established(announcer);
  // Longer than the lease and the guard's looks.
  await Bun.sleep(6_000);
  expect(lab.gobgpdPid()).toBe(pid);
  expect(guards()).toEqual([guard ?? 0]);
});

test("a killed guard is replaced, and gobgpd that is started again has one of its own", async () => {
  const times = { pollMs: 50, checkMs: 50, retryMinMs: 20, retryMaxMs: 100, deadlineMs: 1_000, leaseMs: 30_000 };
  const { announcer } = lab.announcer(bgpConfig(), { times });
  await until("connected", () => announcer.status().connected);
  await until("guarded", () => guards().length === 1);
  const [first = 0] = guards();
  process.kill(first, "SIGKILL");
  await until("guarded again", () => guards().length === 1 && guards()[0] !== first);
  const [second = 0] = guards();
  const pid = lab.gobgpdPid();
  process.kill(pid, "SIGKILL");
  await until("started again", () => {
    const running = findGobgpd(lab.runDirectory());
    return running !== null && running !== pid;
  });
  await until("guarded again", () => guards().length === 1 && guards()[0] !== second);
  expect(readFileSync(`/proc/${guards()[0]}/status`, "utf8")).toMatch(/^CapEff:\t0+$/m);
});

test("a guard that is just being started is not started again", async () => {
  const directory = new SpeakerDirectory(lab.stateDir);
  const user = unprivilegedUser();
  const run = directory.prepare(user);
  // Any program of this name in this directory is taken for gobgpd.
  copyFileSync("/bin/sleep", join(run, "gobgpd"));
  const command = { executable: "./gobgpd", args: ["60"], user, bindsLowPort: false };
  startGobgpd({ ...command, launcher: [], workingDirectory: run, logFile: directory.logFile() });
  lab.onEnd(async () => {
    await endManagedGobgpd({ stateDir: lab.stateDir, timers: systemTimers });
  });
  await until("it runs", () => findGobgpd(run) !== null);
  const speaker = { pid: lab.gobgpdPid(), run, user, bindsLowPort: false };
  const unexpected = () => expect.unreachable();
  const options = { directory, clock: systemClock, routesUntilMs: () => null, leaseMs: 60_000, warn: unexpected };
  for (let round = 0; round < 10; round += 1) {
    const guard = new SpeakerGuard(options);
    for (let look = 0; look < 20; look += 1) guard.watch(speaker);
    await until("guarded", () => guards().length > 0);
    await Bun.sleep(20);
    const [started = 0, ...others] = guards();
    expect(others).toEqual([]);
    process.kill(started, "SIGKILL");
    await until("killed", () => guards().length === 0);
  }
});

test("a guard whose deadline cannot be written is ended, and logged once until the service can write again", async () => {
  const times = { pollMs: 20, checkMs: 20, retryMinMs: 20, retryMaxMs: 100, deadlineMs: 1_000, leaseMs: 30_000 };
  const { announcer, warnings } = lab.announcer(bgpConfig(), { times });
  announcer.want([]);
  await until("guarded", () => announcer.status().connected && guards().length === 1);
  expect(warnings).toEqual([]);
  const deadline = join(lab.stateDir, "gobgpd/routes-until");
  rmSync(deadline);
  mkdirSync(deadline);
  await until("ended", () => guards().length === 0);
  announcer.want([blackhole(ROUTE)]);
  expect(warnings).toEqual([
    expect.stringContaining("gobgpd has no guard: if the service dies, its routes stay until the next start"),
  ]);
  rmdirSync(deadline);
  await until("guarded again", () => guards().length === 1);
  expect(warnings).toHaveLength(1);
});

test.each([
  ["that was started then is ended", 0, true],
  ["of the same id that was started later is not", -1, false],
] as const)("of processes named gobgpd in its folder the one %s", async (_, ticks, isEnded) => {
  const run = new SpeakerDirectory(lab.stateDir).prepare(null);
  copyFileSync("/bin/sleep", join(run, "gobgpd"));
  writeFileSync(join(run, DEADLINE_FROM_RUN), "1\n");
  const child = spawn("./gobgpd", ["60"], { cwd: run, stdio: "ignore" });
  const pid = child.pid ?? 0;
  const ended = new Promise<boolean>((resolve) => child.once("exit", () => resolve(true)));
  await until("it runs", () => readFileSync(`/proc/${pid}/comm`, "utf8") === "gobgpd\n");
  const started = String(Number(startTicks(pid)) + ticks);
  const guard = spawn("/bin/sh", ["-c", script(20), "test-guard", "", started, String(pid)], {
    cwd: run,
    stdio: "ignore",
  });
  lab.onEnd(async () => {
    guard.kill("SIGKILL");
    child.kill("SIGKILL");
  });
  // A guard of another process ends at once.
  const guardEnded = new Promise<boolean>((resolve) => guard.once("exit", () => resolve(false)));
  expect(await Promise.race([ended, guardEnded])).toBe(isEnded);
  expect(child.exitCode ?? child.signalCode).toBe(isEnded ? "SIGTERM" : null);
});
