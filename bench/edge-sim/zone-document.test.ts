import { describe, expect, test } from "bun:test";
import { ZoneDocuments } from "../../src/edge/zones/zone-documents.ts";
import { zonesOf } from "../../test/fixtures/edge/zones.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { FleetConfig } from "./fleet-config.ts";
import { COUNT_NAMES, type SourceState, trafficIn } from "./traffic.ts";
import { appliedChallenge, readDocument } from "./zone-document.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");
const KEYS = [{ id: "c20260301", secret: "s", notBeforeMs: NOW, notAfterMs: NOW + 1 }];

/** As the service writes it. */
async function written(
  overrides: ConstructorParameters<typeof ZoneDocuments>[0]["overrides"] = new Map(),
): Promise<string> {
  const file = new FleetConfig({ nodes: 1, zones: 16, groups: 0, seed: 1 }).zonesText();
  const state = {
    zones: zonesOf(JSON.parse(file) as object),
    keysOf: () => KEYS,
    overrides,
    challenges: [{ zone: "zone-0001.example.net", token: "t", keyAuthorization: "t.k", expiresAtMs: NOW + 60_000 }],
    grants: [{ zone: "zone-0001.example.net", node: "e1", expiresAtMs: NOW + 60_000 }],
  };
  return new ZoneDocuments(state, NOW).of("all").body.text();
}

test("a document of the service is read whole", async () => {
  const { zones, challenges, grants } = readDocument(await written());
  expect(zones).toHaveLength(16);
  expect(zones[0]).toEqual({
    name: "zone-0001.example.net",
    decides: true,
    challenge: "off",
    rps: 60,
    dryRun: true,
    rungDryRun: true,
    auto: { zoneRps: 400, holdSeconds: 60 },
    h3: true,
    acmeDirectory: null,
    override: null,
    keyIds: ["c20260301"],
  });
  expect(zones.at(-1)?.decides).toBe(false);
  expect(challenges).toEqual([
    { zone: "zone-0001.example.net", token: "t", keyAuthorization: "t.k", expiresAtMs: NOW + 60_000 },
  ]);
  expect(grants).toEqual([{ zone: "zone-0001.example.net", node: "e1", expiresAtMs: NOW + 60_000 }]);
});

test("a lever holds until its time, and not a millisecond longer", async () => {
  const lever = { mode: "manual", untilMs: NOW + 5000, reason: "" } as const;
  const zone = readDocument(await written(new Map([["zone-0001.example.net", lever]]))).zones[0];
  if (zone === undefined) throw new Error("there is no zone");
  expect([0, 4999, 5000].map((ms) => appliedChallenge(zone, NOW + ms))).toEqual(["manual", "manual", "off"]);
});

test("keys that a node does not know are left alone", async () => {
  const document = JSON.parse(await written()) as Record<string, unknown>;
  expect(readDocument(JSON.stringify({ ...document, more: { of: "it" } }))).toEqual(readDocument(await written()));
});

describe("a document is refused", () => {
  test.each([
    ["of another version", { version: 2 }, "version 2 is none that this node knows"],
    ["without a version", { version: undefined }, "version undefined is none that this node knows"],
    ["without zones", { zones: null }, "zones: must be a list"],
    ["with a zone that is none", { zones: [1] }, "zones[0]: must be an object"],
    [
      "with a challenge that has no token",
      { acme_challenges: [{ zone: "z" }] },
      "acme_challenges[0].token: must be a text",
    ],
  ])("%s", async (_, change, message) => {
    const document = { ...(JSON.parse(await written()) as object), ...change };
    expect(() => readDocument(JSON.stringify(document))).toThrow(message);
  });

  test("that is no JSON", () => {
    expect(() => readDocument("{")).toThrow("it is no JSON");
  });
});

test("traffic is the same for the same seed, and its counts are those of its sources", async () => {
  const { zones } = readDocument(await written());
  const random = seededRandom(7);
  for (const zone of zones) {
    const [isDryRun, isRungDryRun] = [random() < 0.5, random() < 0.5];
    const challenge = (["off", "manual", "auto"] as const)[Math.floor(random() * 3)] ?? "off";
    const window = { seed: 1, node: "e1", zone, endMs: NOW, seconds: 10, isDryRun, challenge, isRungDryRun };
    const { counts, sources } = trafficIn(window);
    expect(trafficIn(window)).toEqual({ counts, sources });
    const of = (...states: SourceState[]) =>
      sources.filter(({ state }) => states.includes(state)).reduce((sum, { requests }) => sum + requests, 0);
    expect(counts).toMatchObject({ denied: of("denied"), would_deny: of("would-deny"), cleared: of("cleared") });
    expect(counts.requests).toBe(sources.reduce((sum, { requests }) => sum + requests, 0));
    expect(counts.status_2xx + counts.status_3xx + counts.status_4xx + counts.status_5xx).toBe(counts.requests);
    expect(Object.keys(counts)).toEqual([...COUNT_NAMES]);
    expect(trafficIn({ ...window, seed: 2 }).sources).not.toEqual(sources);
  }
});
