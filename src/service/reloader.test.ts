import { beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import type { Config } from "../config/config.ts";
import { loadConfigOrThrow } from "../config/load/load.ts";
import { NO_CHANGES } from "../mitigation/wanted-changes.ts";
import { systemTimers } from "../system/timers.ts";
import { ConfigReader } from "./config-reader.ts";
import { Reloader } from "./reloader.ts";

const config = (ttlSeconds: number, rest = "") => `networks: [192.0.2.0/24]
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 100}
ban: {ttl_seconds: ${ttlSeconds}}
${rest}`;

const dir = emptiedFolder("reloader");
let path: string;
beforeEach(() => {
  path = join(dir, "c.yaml");
});

/** A service that runs with 1 s; `onApply` runs when a configuration is put in force. */
function harness(onApply: (ttlSeconds: number) => void = () => {}, open: () => Promise<null> = async () => null) {
  writeFileSync(path, config(1));
  let running: Config = loadConfigOrThrow(path);
  const applied: number[] = [];
  const said: string[] = [];
  const reader = new ConfigReader(systemTimers);
  const say = (fields: object, message: string) => said.push(`${message} ${JSON.stringify(fields)}`);
  const apply = (next: Config) => {
    running = next;
    const ttlSeconds = next.mitigations[0]?.ban.ttlSeconds ?? 0;
    applied.push(ttlSeconds);
    onApply(ttlSeconds);
  };
  const log = { info: say, warn: say, error: say };
  return {
    reloader: new Reloader({
      ...{
        configPath: path,
        settings: () => join(path, "..", "none"),
        reader,
        log,
        warned: [],
        running: () => running,
        endedBy: () => [],
      },
      ...{ open, apply, wantedUnder: () => NO_CHANGES },
    }),
    applied,
    said,
  };
}

test("a reload puts the file in force and names what needs a restart #reload-names-keys", async () => {
  const { reloader, applied, said } = harness();
  writeFileSync(path, config(2, "detection: {tick_ms: 50}\n"));
  const changed = ["ban"];
  expect(await reloader.reload()).toEqual({
    kind: "reloaded",
    needsRestart: ["detection.tick_ms"],
    changed,
    changes: ["ban: ttl_seconds: 1 → 2"],
    routes: NO_CHANGES,
  });
  expect(reloader.needsRestart).toEqual(["detection.tick_ms"]);
  expect(applied).toEqual([2]);
  expect(said).toEqual([
    expect.stringMatching(/some of it may be unintended .*dry_run: warning: is true/),
    'configuration reloaded {"dry_run":true,"changed":["ban"],"changes":["ban: ttl_seconds: 1 → 2"],"needs_restart":["detection.tick_ms"]}',
  ]);
  said.length = 0;
  await reloader.reload();
  // Warnings that are in the log are not logged again.
  expect(said).toEqual([expect.stringContaining("configuration reloaded")]);
});

test("a broken file changes nothing, and its faults are reported and logged", async () => {
  const { reloader, applied, said } = harness();
  writeFileSync(path, `${config(2)}nonsense: 1\n`);
  const outcome = await reloader.reload();
  expect(outcome).toMatchObject({ kind: "invalid", problems: [expect.stringContaining("c.yaml:4: nonsense: ")] });
  expect(applied).toEqual([]);
  expect(said).toEqual([expect.stringContaining("reload refused, the running configuration is unchanged")]);
});

test("reloads come one after the other, each with the outcome of the file as it was then", async () => {
  const { reloader, applied } = harness((ttlSeconds) => writeFileSync(path, ttlSeconds === 2 ? "broken" : config(2)));
  writeFileSync(path, config(3));
  const first = reloader.reload();
  // It has started now, so the next one is another reload.
  await Promise.resolve();
  const second = reloader.reload();
  const third = reloader.reload();
  expect(await first).toMatchObject({ kind: "reloaded" });
  expect(await second).toMatchObject({ kind: "reloaded" });
  expect(await third).toMatchObject({ kind: "reloaded" });
  expect(await reloader.reload()).toMatchObject({ kind: "invalid" });
  expect(applied).toEqual([3, 2]);
});

test("many who ask at once make one reload", async () => {
  const { reloader, applied } = harness();
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => reloader.reload()));
  expect(outcomes.every(({ kind }) => kind === "reloaded")).toBe(true);
  expect(applied).toEqual([1]);
});

test("a stop answers those who wait, and nothing takes effect after it", async () => {
  const { reloader, applied } = harness();
  const first = reloader.reload();
  await Promise.resolve();
  const second = reloader.reload();
  reloader.stop();
  for (const outcome of [await first, await second, await reloader.reload()]) {
    expect(outcome).toEqual({ kind: "invalid", problems: ["the service is stopping"] });
  }
  expect(applied).toEqual([]);
});

test("a bug while a configuration is put in force is the caller's to know, and the next reload goes on", async () => {
  let isBroken = true;
  const { reloader } = harness(() => {
    if (isBroken) throw new Error("bug");
  });
  expect(reloader.reload()).rejects.toThrow("bug");
  await reloader.reload().catch(() => {});
  isBroken = false;
  expect(await reloader.reload()).toMatchObject({ kind: "reloaded" });
});

test("files that it names and that cannot be opened refuse a configuration", async () => {
  const { reloader, applied, said } = harness(undefined, async () => {
    throw new Error("/srv/asn.mmdb cannot be read");
  });
  writeFileSync(path, config(2));
  const problems = [`${path}: /srv/asn.mmdb cannot be read`];
  expect(await reloader.reload()).toEqual({ kind: "invalid", problems });
  expect(applied).toEqual([]);
  expect(said).toEqual([`reload refused, the running configuration is unchanged ${JSON.stringify({ problems })}`]);
});
