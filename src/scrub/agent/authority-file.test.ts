import { beforeEach, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { selfSigned } from "../../../test/fixtures/edge/certificate.ts";
import { emptiedFolder } from "../../../test/fixtures/folders.ts";
import { KeptFiles } from "../../system/kept-file.ts";
import { AuthorityFile } from "./authority-file.ts";

const directory = emptiedFolder("authority");
let said: unknown[];
beforeEach(() => {
  said = [];
});

const path = () => join(directory, "ca.pem");

async function opened(): Promise<AuthorityFile> {
  const files = new KeptFiles(directory, "authority", 1e6);
  const kept = {
    read: (name: string, source: string) => files.read(name, source),
    keep: async (...[name, source, content]: Parameters<KeptFiles["keep"]>) => {
      writing = files.keep(name, source, content);
      await writing;
    },
  };
  return new AuthorityFile({
    path: path(),
    kept,
    onRead: (error, hasLast) => said.push([error === null ? null : error.replace(path(), "FILE"), hasLast]),
    onNotKept: (cause) => said.push(cause),
  });
}
let writing: Promise<void> = Promise.resolve();

test("the authority is the one of the file as it is now", async () => {
  const [first, second] = [selfSigned().cert, selfSigned().cert];
  const file = await opened();
  writeFileSync(path(), first);
  expect(file.read()).toBe(first);
  writeFileSync(path(), second);
  expect(file.read()).toBe(second);
});

test.each([
  ["gone", null, /ENOENT/],
  ["empty", "", /has no certificate in PEM/],
  ["cut", "-----BEGIN CERTIFICATE-----\nMIIB", /has a certificate that is damaged/],
])("where the file is %s, the last good one is in use, over a restart too", async (_, text, error) => {
  const { cert } = selfSigned();
  writeFileSync(path(), cert);
  const before = await opened();
  before.read();
  await writing;
  if (text === null) rmSync(path());
  else writeFileSync(path(), text);
  for (const file of [before, await opened()]) {
    expect(file.read()).toBe(cert);
    expect(said.at(-1)).toEqual([expect.stringMatching(error), true]);
  }
});

test("without any, the system's do not take its place", async () => {
  const file = await opened();
  expect(() => file.read()).toThrow("no certificate authority");
  expect(said).toEqual([[expect.stringMatching(/^FILE: /), false]]);
});
