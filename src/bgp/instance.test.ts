import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { BGP_INSTANCE_MAX } from "../limits.ts";
import { Instance, WITHOUT_INSTANCE } from "./instance.ts";

const stateDir = emptiedFolder("instance");
let warnings: string[];
beforeEach(() => {
  warnings = [];
});

function started({ configured = null, isSpeakerOwn = false }: { configured?: number | null; isSpeakerOwn?: boolean }) {
  return new Instance({ stateDir, configured, isSpeakerOwn, warn: (_, message) => warnings.push(message) });
}

test("a random number is above those that may be configured, and the next start has it too", () => {
  const { instance } = started({});
  expect(instance).toBeGreaterThan(BGP_INSTANCE_MAX);
  expect(instance).toBeLessThan(2 ** 24);
  expect(started({}).instance).toBe(instance);
  expect(warnings).toEqual([]);
});

test("takes over routes without an instance and those of its earlier numbers, until they are adopted", async () => {
  const first = started({ configured: 7 });
  expect(first.takesOver(WITHOUT_INSTANCE)).toBe(true);
  expect(first.takesOver(8)).toBe(false);
  const second = started({ configured: 8 });
  expect([second.takesOver(WITHOUT_INSTANCE), second.takesOver(7), second.takesOver(8)]).toEqual([true, true, false]);
  second.adopted();
  await second.settled();
  const third = started({});
  expect([third.takesOver(WITHOUT_INSTANCE), third.takesOver(7), third.takesOver(8)]).toEqual([false, false, true]);
});

test("a number that cannot be stored is that of a build without instances, so that a later start adopts its routes", () => {
  mkdirSync(join(stateDir, "bgp-instance.new"));
  const { instance } = started({});
  expect(instance).toBe(WITHOUT_INSTANCE);
  expect(started({ configured: 7 }).instance).toBe(7);
  rmSync(join(stateDir, "bgp-instance.new"), { recursive: true });
  expect(started({}).takesOver(instance)).toBe(true);
  expect(warnings[0]).toContain("cannot be written");
});

test("a file that cannot be read now is not taken for a damaged one: the start fails, and the next one has the number", () => {
  const { instance } = started({});
  renameSync(join(stateDir, "bgp-instance"), join(stateDir, "kept"));
  mkdirSync(join(stateDir, "bgp-instance"));
  expect(() => started({})).toThrow("cannot be read");
  rmSync(join(stateDir, "bgp-instance"), { recursive: true });
  renameSync(join(stateDir, "kept"), join(stateDir, "bgp-instance"));
  expect(started({}).instance).toBe(instance);
});

test("with a damaged file, every route in a speaker of its own is taken over, and none in a shared one", () => {
  const damage = () => writeFileSync(join(stateDir, "bgp-instance"), '{"instance":');
  damage();
  expect(started({}).takesOver(123_456)).toBe(false);
  damage();
  const own = started({ isSpeakerOwn: true });
  expect(own.takesOver(123_456)).toBe(true);
  own.adopted();
  expect(own.takesOver(123_456)).toBe(false);
  expect(warnings).toHaveLength(2);
});
