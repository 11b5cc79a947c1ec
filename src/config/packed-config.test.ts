import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { isFrozen } from "../../test/fixtures/frozen.ts";
import { addressFromBytes } from "../net/address.ts";
import type { Config } from "./config.ts";
import { loadConfigOrThrow } from "./load/load.ts";
import { packConfig, unpackConfig } from "./packed-config.ts";

const FIXTURES = join(import.meta.dir, "../../test/fixtures/config");

/** As between two threads. */
async function moved(config: Config, turn: () => Promise<void> = async () => {}): Promise<Config> {
  const { packed, buffers } = packConfig(config);
  return unpackConfig(structuredClone(packed, { transfer: buffers }), turn);
}

describe("a configuration that went through another thread", () => {
  const files = readdirSync(FIXTURES).filter((name) => name.startsWith("good-"));

  test.each(files)("is what it was: %s", async (name) => {
    const original = loadConfigOrThrow(join(FIXTURES, name));
    const { lookup: _, whitelist: __, own, ...plain } = loadConfigOrThrow(join(FIXTURES, name));
    const copy = await moved(original);
    expect(copy).toMatchObject(plain);
    expect(copy.own.addresses()).toEqual(own.addresses());
    expect(Object.keys(copy).sort()).toEqual(Object.keys(original).sort());
    expect(isFrozen(copy)).toBe(true);
  });

  test("finds networks, hostgroups and whitelisted addresses as before, and others had their turn meanwhile", async () => {
    const networks = Array.from({ length: 2500 }, (_, i) => `10.${i >> 8}.${i & 255}.0/24`);
    const text = `networks: [${networks.join(", ")}, "2001:db8::/32"]
thresholds: {pps: 1, mbps: 1, flows_per_sec: 1}
protected_whitelist: [10.0.1.1, 10.9.0.0/16]
hostgroups: [{name: web, networks: [10.0.1.0/25, "2001:db8:1::/48"]}]
`;
    let turns = 0;
    const turn = async () => void turns++;
    const [before, after] = [configOf(text), await moved(configOf(text), turn)];
    expect(turns).toBeGreaterThan(1);
    for (let i = 0; i < 5000; i++) {
      const ip = addressFromBytes(Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, i >> 8, i & 255, 1));
      expect([after.lookup.group(ip), after.whitelist.find(ip)]).toEqual([
        before.lookup.group(ip),
        before.whitelist.find(ip),
      ]);
    }
    expect(after.lookup.table).toEqual(before.lookup.table);
    expect(after.networks[2500]).toMatchObject({ family: 6, length: 32, address: "2001:db8::" });
  });
});
