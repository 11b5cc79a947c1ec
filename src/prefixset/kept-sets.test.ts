import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { prefixSet } from "../../test/fixtures/prefix-set.ts";
import { KeptSets } from "./kept-sets.ts";
import { readPrefixSet } from "./set-content.ts";

const directory = emptiedFolder("kept-sets");

test("a set comes back as it was, but with no stamp of a file", async () => {
  const path = join(directory, "list");
  writeFileSync(path, "192.0.2.0/24\n8.0.0.0/8\n2001:db8::/32\n");
  const config = prefixSet("drop", { kind: "list", path });
  const content = readPrefixSet(config);
  const kept = new KeptSets(directory);
  await kept.keep(config, content);
  const changedMs = content.file?.changedMs;
  expect(kept.read(config)).toEqual({ ...content, file: { stamp: "", changedMs: changedMs ?? 0 } });
  // With a narrower bound since.
  expect(kept.read({ ...config, checks: { ...config.checks, shortest: { ipv4: 9, ipv6: 16 } } })).toBeNull();
  expect(kept.read(prefixSet("drop", { kind: "list", path: "/other" }))).toBeNull();
  await kept.retain([prefixSet("other", { kind: "list", path })]);
  expect(kept.read(config)).toBeNull();
});
