import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../../test/fixtures/folders.ts";
import { ExporterFile } from "./exporter-file.ts";

const root = folder("exporters");
const file = () => new ExporterFile(mkdtempSync(join(root, "state-")));

const SAVED = new Map([
  ["[::]:2055", Uint8Array.from({ length: 300 }, (_, i) => i % 251)],
  ["192.0.2.9:4739", new Uint8Array()],
]);

test("what exporters said comes back, by port", async () => {
  const stored = file();
  await stored.save(SAVED);
  expect(stored.load()).toEqual(SAVED);
  await stored.save(new Map());
  expect(stored.load()).toEqual(new Map());
  expect(existsSync(`${stored.path}.new`)).toBe(false);
});

test("without a file nothing was said", () => {
  expect(file().load()).toEqual(new Map());
});

describe("a damaged file is set aside, and the next start finds none", () => {
  const damages: [string, (bytes: Buffer) => Uint8Array][] = [
    ["empty", () => new Uint8Array()],
    ["cut within its check sum", (bytes) => bytes.subarray(0, -1)],
    ["cut within what was said", (bytes) => bytes.subarray(0, 40)],
    ["of another kind", () => Buffer.alloc(8192, 0x5a)],
    ["with a changed byte", (bytes) => Buffer.from(bytes.map((byte, i) => (i === 60 ? byte ^ 1 : byte)))],
    ["with more behind it", (bytes) => Buffer.concat([bytes, Buffer.alloc(4)])],
  ];
  test.each(damages)("%s", async (_, damage) => {
    const stored = file();
    await stored.save(SAVED);
    const damaged = damage(readFileSync(stored.path));
    writeFileSync(stored.path, damaged);
    expect(() => stored.load()).toThrow(/exporters.bin is damaged and was moved to .*exporters.bin.damaged/);
    expect(new Uint8Array(readFileSync(`${stored.path}.damaged`))).toEqual(new Uint8Array(damaged));
    expect(stored.load()).toEqual(new Map());
  });
});

test("a file of a later version is not taken", async () => {
  const stored = file();
  await stored.save(SAVED);
  const bytes = readFileSync(stored.path);
  bytes.writeUInt32LE(2, 4);
  const digest = new Bun.CryptoHasher("sha256").update(bytes.subarray(0, -32)).digest();
  bytes.set(digest, bytes.length - 32);
  writeFileSync(stored.path, bytes);
  expect(() => stored.load()).toThrow("damaged");
});
