import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../../test/fixtures/folders.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { FakeProfiles, profileRecord } from "../../test/fixtures/packets/profile-source.ts";
import { TrafficProfiles } from "../detection/attack/traffic-profile.ts";
import { ProfileFile } from "./profile-file.ts";

const root = folder("profiles");
const file = () => new ProfileFile(mkdtempSync(join(root, "state-")));

const WEB = address("203.0.113.1");
const DNS = address("2001:db8::53");

function counted(...hosts: readonly [typeof WEB, number][]): TrafficProfiles {
  const source = new FakeProfiles();
  for (const [host, destinationPort] of hosts) {
    source.hosts.set(host, [profileRecord({ destinationPort }), profileRecord({ destinationPort })]);
  }
  return new TrafficProfiles(source, { of: () => null });
}
const portsOf = (profiles: TrafficProfiles, host: typeof WEB) =>
  profiles.of(host)?.packets.map(({ header }) => header.ports?.destination);

test("profiles come back after a restart", async () => {
  const stored = file();
  await stored.save(counted([WEB, 443], [DNS, 53]));
  const profiles = counted();
  expect(await stored.load(profiles)).toBe(2);
  expect([portsOf(profiles, WEB), portsOf(profiles, DNS)]).toEqual([
    [443, 443],
    [53, 53],
  ]);
});

test("what was restored is saved again while nothing newer is known", async () => {
  const stored = file();
  await stored.save(counted([WEB, 443]));
  const second = counted([DNS, 53]);
  await stored.load(second);
  await stored.save(second);
  const third = counted();
  expect(await stored.load(third)).toBe(2);
  expect(portsOf(third, WEB)).toEqual([443, 443]);
});

test("without a file there is nothing, and no error", async () => {
  expect(await file().load(counted())).toBe(0);
});

test.each([
  ["is cut off", (bytes: Buffer) => bytes.subarray(0, bytes.length - 30)],
  ["has no end", (bytes: Buffer) => bytes.subarray(0, bytes.length - 20)],
  ["goes on behind its end", (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(3)])],
  ["is empty", () => Buffer.alloc(0)],
  ["is of another version", (bytes: Buffer) => Buffer.from(bytes.with(4, 9))],
  ["claims too many packets", (bytes: Buffer) => Buffer.from(bytes.with(8 + 16, 200))],
])("a file that %s is set aside, and what came before the damage is kept", async (_, damage) => {
  const stored = file();
  await stored.save(counted([WEB, 443]));
  writeFileSync(stored.path, damage(readFileSync(stored.path)));
  expect(stored.load(counted())).rejects.toThrow("is damaged and was set aside");
  await stored.load(counted()).catch(() => {});
  expect([existsSync(stored.path), existsSync(`${stored.path}.damaged`)]).toEqual([false, true]);
});

test("a weight that is no number counts as one", async () => {
  const stored = file();
  await stored.save(counted([WEB, 443]));
  const bytes = readFileSync(stored.path);
  bytes.writeFloatLE(Number.NaN, 8 + 20 + 20);
  writeFileSync(stored.path, bytes);
  const profiles = counted();
  await stored.load(profiles);
  expect(profiles.of(WEB)?.packets.map(({ standsFor }) => standsFor)).toEqual([1, 1]);
});
