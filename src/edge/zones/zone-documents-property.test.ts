/** Bytes and ETag of zone documents depend on the meaning only, not on order and spelling in the zones file. */
import { expect, test } from "bun:test";
import { zonesOf } from "../../../test/fixtures/edge/zones.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { ClearanceKeys } from "./clearance-keys.ts";
import { type ZoneDocument, ZoneDocuments, type ZoneState } from "./zone-documents.ts";

const SEED = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
const ROUNDS = 60;
const NOW_MS = Date.parse("2026-11-22T12:00:00.000Z");
const SCOPES = [["global"], ["web"], ["mail"], ["web", "mail"], ["global", "web", "mail"], "all"] as const;

const random = seededRandom(SEED);
const below = (count: number) => Math.floor(random() * count);
const pick = <T>(values: readonly T[]) => values[below(values.length)] as T;
const sometimes = (entry: object) => (random() < 0.5 ? entry : {});

const store = { load: () => [], save: async () => {} };
const clearance = new ClearanceKeys(
  { store, randomBytes: (count) => new Uint8Array(count), onUnsaved: () => {} },
  NOW_MS,
);

interface Entry {
  readonly name: string;
  readonly hostgroup?: string;
}

/** A zone of the file with random keys. */
function entry(i: number): Entry {
  return {
    name: `z${i}.example.net`,
    origins: Array.from({ length: 1 + below(3) }, (_, j) => `o${j}.example.net:${1 + below(9)}`),
    ...sometimes({ tenant: pick(["acme", "other"]) }),
    ...sometimes({ hostgroup: pick(["web", "mail", "global"]) }),
    ...sometimes({ tls: { h3: true, ...sometimes({ h3_options: { advertise: random() < 0.5 } }) } }),
    ...sometimes({
      acme: { ...sometimes({ directory: "https://a.example/d" }), ...sometimes({ fallback: "https://b.example/d" }) },
    }),
    ...sometimes({
      policy: {
        ...sometimes({ challenge: pick(["auto", "manual", "off"]) }),
        ...sometimes({ rate: { ...sometimes({ rps: below(9) }), ...sometimes({ concurrency: below(9) }) } }),
        ...sometimes({
          challenge_options: { exempt_paths: ["/a", "/b", "/c"].slice(below(3)), difficulty: 12 + below(11) },
        }),
      },
    }),
  } as Entry;
}

function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ value }) => value);
}

/** The same meaning: keys and unordered lists in another order; names in another case. */
function permuted(value: unknown, key = ""): unknown {
  if (key === "name") {
    return String(value).replaceAll(/[a-z]/g, (letter) => (random() < 0.5 ? letter.toUpperCase() : letter));
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => permuted(item));
    return key === "zones" || key === "exempt_paths" ? shuffled(items) : items;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(shuffled(Object.entries(value)).map(([inner, held]) => [inner, permuted(held, inner)]));
}

function documentsOf(entries: readonly Entry[], more: Partial<ZoneState> = {}): ZoneDocuments {
  const rest = { overrides: new Map(), challenges: [], grants: [], ...more };
  const zones = zonesOf(permuted({ zones: entries }) as object);
  return new ZoneDocuments({ zones, keysOf: clearance.at(NOW_MS), ...rest }, NOW_MS);
}

async function bytesOf({ etag, body }: ZoneDocument): Promise<{ etag: string; text: string }> {
  return { etag, text: await body.text() };
}

const entriesOf = () => Array.from({ length: 1 + below(12) }, (_, i) => entry(i));

test(`any permutation of a zones file gives the same bytes and ETag (seed ${SEED})`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const entries = entriesOf();
    const [one, other] = [documentsOf(entries), documentsOf(entries)];
    for (const scope of SCOPES) expect(await bytesOf(other.of(scope))).toEqual(await bytesOf(one.of(scope)));
  }
});

test(`levers, challenges and grants have no order either (seed ${SEED})`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const entries = entriesOf();
    const expiresAtMs = NOW_MS + 1;
    const overrides = entries.map(({ name }) => [name, { mode: "auto", untilMs: expiresAtMs, reason: "r" }] as const);
    const challenges = entries.flatMap(({ name: zone }) =>
      ["a", "b"].map((token) => ({ zone, token, keyAuthorization: `${token}.k`, expiresAtMs })),
    );
    const grants = entries.map(({ name: zone }, i) => ({ zone, node: `e${i}`, expiresAtMs }));
    const documents = () =>
      documentsOf(entries, {
        overrides: new Map(shuffled(overrides)),
        challenges: shuffled(challenges),
        grants: shuffled(grants),
      });
    const [one, other] = [documents(), documents()];
    for (const scope of SCOPES) expect(await bytesOf(other.of(scope))).toEqual(await bytesOf(one.of(scope)));
  }
});

test(`a zone that comes changes the documents of those who serve it alone (seed ${SEED})`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const entries = entriesOf();
    const added = entry(entries.length);
    const [before, after] = [documentsOf(entries), documentsOf([...entries, added])];
    for (const scope of SCOPES) {
      const { hostgroup } = added;
      const isConcerned =
        hostgroup === undefined || scope === "all" || (scope as readonly string[]).includes(hostgroup);
      const [was, is] = [await bytesOf(before.of(scope)), await bytesOf(after.of(scope))];
      if (isConcerned) expect(is.etag).not.toBe(was.etag);
      else expect(is).toEqual(was);
    }
  }
});

test(`a change of owner is none to a node (seed ${SEED})`, async () => {
  const entries = entriesOf();
  const [one, other] = ["acme", "other"].map((tenant) => documentsOf(entries.map((kept) => ({ ...kept, tenant }))));
  for (const scope of SCOPES) expect(other?.of(scope).etag).toBe(one?.of(scope).etag as string);
});
