/** The systemd unit in deploy/ is one that systemd takes, and its capabilities are all that the service needs. */
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, freePort } from "../fixtures/service.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { THRESHOLD_PPS, World } from "../lab/world.ts";
import { ROOT } from "../source-tree.ts";

const UNIT = readFileSync(join(ROOT, "deploy/floodwall.service"), "utf8");

const analyze = Bun.which("systemd-analyze");
const skipped = analyze === null ? " (skipped: systemd-analyze is not installed)" : "";

test.skipIf(analyze === null)(`systemd finds nothing amiss in the unit${skipped}`, async () => {
  const directory = mkdtempSync(join(tmpdir(), `floodwall-unit-${process.pid}-`));
  try {
    const file = join(directory, "floodwall.service");
    // Its program must be there to be found.
    writeFileSync(file, UNIT.replaceAll("/opt/floodwall", ROOT));
    const run = Bun.spawn([analyze ?? "", "verify", file], { stdout: "pipe", stderr: "pipe" });
    const output = `${await run.stdout.text()}${await run.stderr.text()}`;
    expect({ code: await run.exited, output }).toEqual({ code: 0, output: "" });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

interface Status {
  readonly capture: { readonly interfaces: readonly { readonly state: string; readonly mode: string }[] };
}

const VICTIM = "203.0.113.7";
const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

let world: World | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

/** As systemd would: nothing beyond the unit's set, and no way to more. */
function withTheUnitsRights(): string[] {
  const capabilities = [...UNIT.matchAll(/^CapabilityBoundingSet=(.*)$/gm)].flatMap(([, set = ""]) => set.split(" "));
  const kept = capabilities.map((name) => name.replace("CAP_", "+").toLowerCase());
  return ["setpriv", "--no-new-privs", "--bounding-set", ["-all", ...kept].join(), "--inh-caps=-all"];
}

test.skipIf(unavailable !== null).each([
  ["mirror", "real-time priority"],
  ["inline", ""],
] as const)(`its rights suffice for a %s interface and a managed gobgpd${reason}`, async (mode, extra) => {
  world = await World.create({
    apiPort: await freePort(),
    hysteresisSeconds: 1,
    mode,
    runner: withTheUnitsRights(),
  });
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
  const bounding = /^CapBnd:\s*([0-9a-f]+)$/m.exec(readFileSync(`/proc/${service.pid}/status`, "utf8"))?.[1];
  // Without CAP_SYS_ADMIN, bit 21: the service did run with fewer rights than the test.
  expect(BigInt(`0x${bounding}`) & (1n << 21n)).toBe(0n);
});
