/** The systemd unit in deploy/ is one that systemd takes, and its capabilities are all that the compiled service needs. */
import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile, EXECUTABLES, strippedAddon } from "../../deploy/compile.ts";
import { findGobgpd } from "../../src/bgp/speaker/gobgpd-process.ts";
import { eventually, freePort } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { THRESHOLD_PPS, World } from "../lab/world.ts";
import { ROOT } from "../source-tree.ts";

const UNIT = readFileSync(join(ROOT, "deploy/floodwall.service"), "utf8");

const analyze = Bun.which("systemd-analyze");
const skipped = analyze === null ? " (skipped: systemd-analyze is not installed)" : "";

const undo = new Undo();
const worlds = new Undo();
const directory = undo.folder("executable");

const UNITS = ["floodwall.service", "floodwall-scrub.service"];
test.skipIf(analyze === null).each(UNITS)(`systemd finds nothing amiss in %s${skipped}`, async (name) => {
  const file = join(directory, name);
  // Its program must be there to be found.
  const text = readFileSync(join(ROOT, "deploy", name), "utf8");
  writeFileSync(file, text.replaceAll(/^ExecStart=\S+/gm, `ExecStart=${process.execPath}`));
  const { exitCode, stdout, stderr } = Bun.spawnSync([analyze ?? "", "verify", "--man=no", file], { stderr: "pipe" });
  expect([exitCode, stdout.toString() + stderr.toString()]).toEqual([0, ""]);
});

test.each(UNITS)("%s is started again for ever, and its failed starts are counted over restarts", (name) => {
  const text = readFileSync(join(ROOT, "deploy", name), "utf8");
  const [unit = "", service = ""] = text.split(/^\[Service\]$/m);
  expect(unit).toMatch(/^StartLimitIntervalSec=0$/m);
  for (const line of ["Restart=always", "RuntimeDirectoryPreserve=restart", `RuntimeDirectory=${name.split(".")[0]}`]) {
    expect(service.split("\n")).toContain(line);
  }
});

interface Status {
  readonly capture: { readonly interfaces: readonly { readonly state: string; readonly mode: string }[] };
}

const VICTIM = "203.0.113.7";
const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

let executable: string;
beforeAll(async () => {
  const [service] = EXECUTABLES;
  if (service === undefined) throw new Error("nothing is compiled");
  executable = (await compile(service, await strippedAddon(), directory)).path;
  chmodSync(directory, 0o711);
}, 60_000);
afterAll(() => undo.all());
afterEach(() => worlds.all());

/** Anyone but root. */
const USER = 64321;
/** Where limits cannot be raised, as in some containers, these give what the unit's limits give. */
const INSTEAD_OF_LIMITS = ["CAP_IPC_LOCK", "CAP_SYS_NICE"];

const CAPABILITIES = /^AmbientCapabilities=(.*)$/m.exec(UNIT)?.[1]?.split(" ") ?? [];

/** As systemd would: another user, the unit's rights and no way to more. It runs the executable, not the tree. */
function asTheUnitDoes(): string[] {
  const names = [...CAPABILITIES, ...INSTEAD_OF_LIMITS].map((name) => name.replace("CAP_", "+").toLowerCase());
  const set = ["-all", ...names].join();
  const rights = [`--bounding-set=${set}`, `--inh-caps=${set}`, `--ambient-caps=${set}`];
  const setpriv = `setpriv --reuid=${USER} --regid=${USER} --clear-groups --no-new-privs ${rights.join(" ")}`;
  // The last argument is the configuration, in the folder that is to be the service's; the first two are Bun and main.ts.
  const script = `for file; do :; done; folder=$(dirname "$file"); chmod 711 "$folder"; chmod 644 "$file"
    mkdir "$folder/state"; chown ${USER} "$folder/state"; shift 2; exec ${setpriv} ${executable} "$@"`;
  return ["sh", "-ec", script, "sh"];
}

/** Of a process's status: `CapEff`, say. */
function capabilitiesOf(pid: number, set: string): bigint {
  const bits = new RegExp(`^${set}:\\s*([0-9a-f]+)$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return BigInt(`0x${bits}`);
}

test.skipIf(unavailable !== null).each([
  ["mirror", "real-time priority"],
  ["inline", ""],
] as const)(`its rights suffice for a %s interface and a managed gobgpd${reason}`, async (mode, extra) => {
  const world = await World.create({ apiPort: await freePort(), hysteresisSeconds: 1, mode, runner: asTheUnitDoes() });
  worlds.add(() => world.close());
  const { bird, service } = world;
  const capture = async () => (await service.get<Status>("/api/v1/status")).body.capture.interfaces[0];
  await eventually(
    async () => (await capture())?.state === "running",
    () => `the capture does not run:\n${service.output}`,
  );
  expect((await capture())?.mode).toContain(extra);
  const flood = world.send({ profile: "udp", target: VICTIM, pps: 5 * THRESHOLD_PPS, seconds: 1 });
  await eventually(
    () => bird.hasRoute(`${VICTIM}/32`),
    () => `no route:\n${service.output}`,
  );
  await flood;
  expect(statSync(`/proc/${service.pid}`).uid).toBe(USER);
  const bounding = capabilitiesOf(service.pid, "CapBnd").toString(2).replaceAll("0", "");
  expect(bounding).toHaveLength(CAPABILITIES.length + INSTEAD_OF_LIMITS.length);
  const gobgpd = findGobgpd(join(service.directory, "state/gobgpd/run"));
  expect(gobgpd && capabilitiesOf(gobgpd, "CapEff")).toBe(0n);
  expect(Bun.spawnSync(["pgrep", "-u", String(USER), "-f", `floodwall-guard ${gobgpd}$`]).exitCode).toBe(0);
});
