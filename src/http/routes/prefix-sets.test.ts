import { afterEach, beforeEach, expect, test } from "bun:test";
import { admitCallers, as } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import { prefixSet } from "../../../test/fixtures/prefix-set.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

const WRITTEN_MS = Date.parse("2026-01-02T03:04:05.000Z");

test("each prefix set is listed with its source, size and age, and why a newer file is not in use #get-api-v1-prefix-sets", async () => {
  const of = { prefixes: 3, hash: "ab", fileChangedMs: WRITTEN_MS, readMs: WRITTEN_MS + 500, error: null };
  const nothing = { prefixes: 0, hash: null, fileChangedMs: null, readMs: null };
  const mmdb = { kind: "mmdb", path: "/srv/c.mmdb", countries: ["DE"], autonomousSystems: [] } as const;
  server.backend.prefixSets = () => [
    { ...of, config: prefixSet("drop", { kind: "list", path: "/srv/drop" }), error: "line 1: torn" },
    { ...of, config: prefixSet("de", mmdb) },
    { ...of, config: prefixSet("bogons", { kind: "builtin", set: "bogons" }), fileChangedMs: null },
    { ...nothing, config: prefixSet("none", { kind: "list", path: "/srv/none" }), error: "absent" },
  ];
  const answer = await fetch(`${server.base}/api/v1/prefix-sets`, { headers: as("viewer") });
  const file = { file_changed_at: "2026-01-02T03:04:05.000Z", age_seconds: expect.any(Number) };
  const same = { prefixes: 3, hash: "ab", read_at: "2026-01-02T03:04:05.500Z" };
  expect(await answer.json()).toEqual({
    prefix_sets: [
      { name: "drop", kind: "list", file: "/srv/drop", ...file, ...same, error: "line 1: torn" },
      { name: "de", kind: "mmdb", file: "/srv/c.mmdb", ...file, countries: ["DE"], ...same },
      { name: "bogons", kind: "builtin", ...same },
      { name: "none", kind: "list", file: "/srv/none", prefixes: 0, error: "absent" },
    ],
  });
});

test("prefix sets of which the configuration has none are an empty list #prefix-sets", async () => {
  const answer = await fetch(`${server.base}/api/v1/prefix-sets`, { headers: as("viewer") });
  expect(await answer.json()).toEqual({ prefix_sets: [] });
});
