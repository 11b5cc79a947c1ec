import { beforeEach, describe, expect, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import { zonesOf } from "../../../test/fixtures/edge/zones.ts";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { ClearanceKeys } from "./clearance-keys.ts";
import { type ZoneDocument, ZoneDocuments, type ZoneState } from "./zone-documents.ts";

const NOON = "2026-11-22T12:00:00.000Z";
const MINUTE_MS = 60_000;

let clock: ManualClock;
let keys: ClearanceKeys;

beforeEach(() => {
  clock = new ManualClock(NOON);
  const store = { load: () => [], save: async () => {} };
  let count = 0;
  const randomBytes = (bytes: number) => new Uint8Array(bytes).fill(++count);
  keys = new ClearanceKeys({ store, randomBytes, onUnsaved: () => {} }, clock.wallMs());
});

/** Only what matters; the rest is empty. */
function stateOf(more: Partial<ZoneState> = {}): ZoneState {
  return { zones: [], keysOf: keys.at(clock.wallMs()), overrides: new Map(), challenges: [], grants: [], ...more };
}

function documentsOf(more: Partial<ZoneState> = {}): ZoneDocuments {
  return new ZoneDocuments(stateOf(more), clock.wallMs());
}

type Wire = Record<string, unknown>;

async function read(document: ZoneDocument): Promise<{ [list: string]: Wire[] }> {
  return JSON.parse(await document.body.text());
}

const zone = (name: string, more: object = {}) => ({ name, origins: ["192.0.2.1:443"], ...more });

async function zoneWire(entry: object): Promise<Wire> {
  const { zones } = await read(documentsOf({ zones: zonesOf({ zones: [entry] }) }).of("all"));
  return zones?.[0] ?? {};
}

const inMinutes = (minutes: number) => Date.parse(NOON) + minutes * MINUTE_MS;
const lever = (minutes: number) => ({ mode: "auto" as const, untilMs: inMinutes(minutes), reason: "ticket 7" });
const challenge = (name: string, token: string, minutes = 10) => ({
  zone: name,
  token,
  keyAuthorization: `${token}.thumb`,
  expiresAtMs: inMinutes(minutes),
});
const grant = (name: string, node: string, minutes = 10) => ({ zone: name, node, expiresAtMs: inMinutes(minutes) });

describe("zone document", () => {
  test("version is 1, and the three lists are there without items #zone-document-version", async () => {
    expect(await documentsOf().of("all").body.text()).toBe(
      '{"version":1,"zones":[],"acme_challenges":[],"issuance_grants":[]}',
    );
  });

  test("policy is fully resolved, zeros of rate omitted, and nothing is there that is unset #zone-document-policy", async () => {
    const wire = await zoneWire(zone("www.example.net"));
    const { clearance_keys: clearanceKeys, ...rest } = wire;
    expect(rest).toEqual({
      name: "www.example.net",
      origins: ["192.0.2.1:443"],
      tls: { min_version: "1.2" },
      policy: {
        mode: "decide",
        failure_mode: "open",
        challenge: "off",
        rate: {},
        dry_run: true,
        challenge_options: {
          dry_run: true,
          exempt_paths: [],
          difficulty: 18,
          cookie_ttl_seconds: 1800,
          auto: { zone_rps: 0, hold_seconds: 300 },
        },
      },
    });
    const secret = expect.stringMatching(/^[A-Za-z0-9_-]{43}$/);
    expect(clearanceKeys).toEqual([
      { id: "c20261121", secret, not_before: "2026-11-21T00:00:00.000Z", not_after: "2026-11-23T00:00:00.000Z" },
      { id: "c20261122", secret, not_before: "2026-11-22T00:00:00.000Z", not_after: "2026-11-24T00:00:00.000Z" },
    ]);
  });

  test("has no other fields than those of all that a zone says, neither its tenant nor its hostgroup #zone-document-has-no-other-fields", async () => {
    const challengeOptions = { dry_run: false, exempt_paths: ["/b", "/a"], difficulty: 12, cookie_ttl_seconds: 60 };
    const policy = { mode: "none", failure_mode: "closed", challenge: "manual", dry_run: false, rate: { rps: 5 } };
    const wire = await zoneWire({
      ...zone("www.example.net", { tenant: "acme", hostgroup: "web", extra_directives_file: "/etc/extra.conf" }),
      origins: ["b.example.net:443", "a.example.net:443"],
      tls: { min_version: "1.3", h3: true },
      acme: { directory: "https://ca.example.net/d", fallback: "https://ca.example.org/d" },
      policy: { ...policy, challenge_options: { ...challengeOptions, auto: { zone_rps: 9, hold_seconds: 1 } } },
    });
    delete wire["clearance_keys"];
    expect(wire).toEqual({
      name: "www.example.net",
      origins: ["b.example.net:443", "a.example.net:443"],
      tls: { min_version: "1.3", h3: true },
      policy: {
        ...policy,
        challenge_options: { ...challengeOptions, exempt_paths: ["/a", "/b"], auto: { zone_rps: 9, hold_seconds: 1 } },
      },
      acme_directory: "https://ca.example.net/d",
      acme_fallback: "https://ca.example.org/d",
      extra_directives_file: "/etc/extra.conf",
    });
  });

  test.each([
    [{ rps: 3 }, { rps: 3 }],
    [{ concurrency: 4 }, { concurrency: 4 }],
    [
      { rps: 3, concurrency: 4 },
      { rps: 3, concurrency: 4 },
    ],
    [{ rps: 0, concurrency: 0 }, {}],
  ])("policy has the rate %j as %j #zone-document-policy", async (rate, expected) => {
    const { policy } = await zoneWire(zone("a", { policy: { rate } }));
    expect((policy as Wire)["rate"]).toEqual(expected);
  });

  test.each([
    ["nothing", {}, {}],
    ["h3 off", { h3: false }, {}],
    ["the default of each option", { h3: true, h3_options: {} }, { h3: true }],
    [
      "the default spelt out",
      { h3: true, h3_options: { advertise: true, alt_svc_max_age_seconds: 86_400 } },
      { h3: true },
    ],
    [
      "no advertisement",
      { h3: true, h3_options: { advertise: false } },
      { h3: true, h3_options: { advertise: false, alt_svc_max_age_seconds: 86_400 } },
    ],
    [
      "another age",
      { h3: true, h3_options: { alt_svc_max_age_seconds: 60 } },
      { h3: true, h3_options: { advertise: true, alt_svc_max_age_seconds: 60 } },
    ],
  ])("tls has h3 and its options only on departure: %s #zone-document-tls", async (_name, tls, expected) => {
    expect((await zoneWire(zone("a", { tls })))["tls"]).toEqual({ min_version: "1.2", ...expected });
  });
});

describe("a node", () => {
  const zones = zonesOf({
    zones: [
      zone("all.example.net"),
      zone("web.example.net", { hostgroup: "web" }),
      zone("g.example.net", { hostgroup: "global" }),
    ],
  });
  const names = async (scope: readonly string[] | "all", state: Partial<ZoneState> = {}) =>
    (await read(documentsOf({ zones, ...state }).of(scope)))["zones"]?.map(({ name }) => name);

  test("is sent its zones alone, by name, and an operator of all #zone-document-scope", async () => {
    expect(await names(["global"])).toEqual(["all.example.net", "g.example.net"]);
    expect(await names(["web"])).toEqual(["all.example.net", "web.example.net"]);
    expect(await names("all")).toEqual(["all.example.net", "g.example.net", "web.example.net"]);
  });

  test("is sent levers, challenges and grants of its zones alone, each sorted #zone-document-challenge-override #zone-document-scope", async () => {
    const state = {
      zones,
      overrides: new Map(["web.example.net", "gone.example.net"].map((name) => [name, lever(5)])),
      challenges: [
        challenge("web.example.net", "b"),
        challenge("gone.example.net", "x"),
        challenge("web.example.net", "a"),
        challenge("all.example.net", "c"),
      ],
      grants: [grant("web.example.net", "e2"), grant("web.example.net", "e1"), grant("all.example.net", "e3")],
    };
    const documents = documentsOf(state);
    const web = await read(documents.of(["web"]));
    expect(web["zones"]?.map((wire) => wire["challenge_override"])).toEqual([
      undefined,
      { mode: "auto", until: "2026-11-22T12:05:00.000Z", reason: "ticket 7" },
    ]);
    const expires = { expires_at: "2026-11-22T12:10:00.000Z" };
    expect(web["acme_challenges"]).toEqual([
      { zone: "all.example.net", token: "c", key_authorization: "c.thumb", ...expires },
      { zone: "web.example.net", token: "a", key_authorization: "a.thumb", ...expires },
      { zone: "web.example.net", token: "b", key_authorization: "b.thumb", ...expires },
    ]);
    expect(web["issuance_grants"]).toEqual([
      { zone: "all.example.net", node: "e3", ...expires },
      { zone: "web.example.net", node: "e1", ...expires },
      { zone: "web.example.net", node: "e2", ...expires },
    ]);
    expect(await documents.of(["global"]).body.text()).not.toMatch(/web\.example|ticket/);
    expect(await documents.of("all").body.text()).not.toContain("gone.example");
  });

  test("shares the bytes between nodes with the same content", () => {
    const documents = documentsOf({ zones });
    const document = documents.of(["web", "global"]);
    expect(documents.of(["global", "mail", "web", "web"])).toBe(document);
    expect(documents.of(["mail"])).not.toBe(document);
    expect(documents.of(["mail"])).toBe(documents.of([]));
    expect(documents.of("all").etag).toBe(document.etag);
  });
});

describe("a state that is to come", () => {
  const many = (origin: string) =>
    zonesOf({ zones: Array.from({ length: 250 }, (_, i) => zone(`z${i}.example.net`, { origins: [origin] })) });

  test("is prepared in slices, changes nothing yet, and is written like others", async () => {
    const [before, after] = [stateOf({ zones: many("a:1") }), stateOf({ zones: many("b:1") })];
    const documents = new ZoneDocuments(before, clock.wallMs());
    const { etag } = documents.of("all");
    let turns = 0;
    await documents.prepare(after, clock.wallMs(), async () => void turns++);
    expect(turns).toBe(2);
    expect(documents.of("all").etag).toBe(etag);
    documents.refresh(after, clock.wallMs());
    expect(documents.of("all").etag).toBe(new ZoneDocuments(after, clock.wallMs()).of("all").etag);
  });

  test("that differs from the prepared one is written as it is", async () => {
    const zones = many("a:1");
    const documents = documentsOf();
    const overrides = new Map([["z7.example.net", lever(1)]]);
    await documents.prepare(stateOf({ zones, overrides }), clock.wallMs(), async () => {});
    clock.advance(MINUTE_MS);
    documents.refresh(stateOf({ zones, overrides }), clock.wallMs());
    expect(documents.of("all").etag).toBe(documentsOf({ zones }).of("all").etag);
  });
});

describe("the ETag", () => {
  const zones = zonesOf({ zones: [zone("www.example.net")] });

  test("is the content's hash in quotes", async () => {
    const { etag, body } = documentsOf({ zones }).of("all");
    const hash = new Bun.CryptoHasher("sha256").update(await body.text()).digest("base64url");
    expect(etag).toBe(`"${hash}"`);
  });

  test("moves at midnight UTC, when the keys turn, and at no other moment of two days", () => {
    const documents = documentsOf({ zones });
    let etag = documents.of("all").etag;
    const moves: string[] = [];
    for (let minute = 0; minute < 2 * 1440; minute++) {
      clock.advance(MINUTE_MS);
      documents.refresh(stateOf({ zones }), clock.wallMs());
      if (documents.of("all").etag !== etag) moves.push(new Date(clock.wallMs()).toISOString());
      etag = documents.of("all").etag;
    }
    expect(moves).toEqual(["2026-11-23T00:00:00.000Z", "2026-11-24T00:00:00.000Z"]);
  });

  test("moves when lever, challenge and grant expire, to the millisecond, with a timer for the next change alone #zone-document-challenge-override", () => {
    const timers = new ManualTimers(clock);
    const more = {
      zones,
      overrides: new Map([["www.example.net", lever(3)]]),
      challenges: [challenge("www.example.net", "a", 2)],
      grants: [grant("www.example.net", "e1", 1)],
    };
    const documents = documentsOf(more);
    const moves: string[] = [];
    const arm = () => {
      timers.after(documents.nextChangeMs - clock.wallMs(), () => {
        const before = documents.of("all").etag;
        documents.refresh(stateOf(more), clock.wallMs());
        if (documents.of("all").etag !== before) moves.push(new Date(clock.wallMs()).toISOString().slice(11));
        arm();
      });
    };
    arm();
    clock.advance(13 * 60 * MINUTE_MS);
    expect(moves).toEqual(["12:01:00.000Z", "12:02:00.000Z", "12:03:00.000Z", "00:00:00.000Z"]);
    expect(documents.of("all").etag).toBe(documentsOf({ zones }).of("all").etag);
  });

  test("comes back when a lever is cleared #zone-document-challenge-override", () => {
    const documents = documentsOf({ zones });
    const { etag } = documents.of("all");
    documents.refresh(stateOf({ zones, overrides: new Map([["www.example.net", lever(3)]]) }), clock.wallMs());
    expect(documents.of("all").etag).not.toBe(etag);
    documents.refresh(stateOf({ zones }), clock.wallMs());
    expect(documents.of("all").etag).toBe(etag);
  });
});

describe("documents of many scopes", () => {
  const zones = ["a", "b", "c"].map((name) =>
    zone(`${name}.example.net`, { hostgroup: name === "a" ? "web" : "mail" }),
  );
  const scopes = [["web"], ["mail"], ["web", "mail"]] as const;

  test("are written once for all scopes with the same zones, whatever else these list", () => {
    const documents = documentsOf({ zones: zonesOf({ zones }) });
    expect(documents.of(["mail", "web"])).toBe(documents.of(["web", "global", "mail", "web"]));
    expect(documents.reading().documents).toBe(1);
  });

  test("keep their tags, and their bodies within a bound: what is beyond is written again, with the same bytes", async () => {
    const state = stateOf({ zones: zonesOf({ zones }) });
    const whole = new ZoneDocuments(state, clock.wallMs());
    const bodies = await Promise.all(scopes.map((scope) => whole.of(scope).body.text()));
    const bound = (bodies[1] ?? "").length + (bodies[2] ?? "").length;
    const documents = new ZoneDocuments(state, clock.wallMs(), bound);
    for (const scope of scopes) documents.of(scope);
    expect(documents.reading()).toEqual({ documents: 3, bytesKept: bound });
    for (const [i, scope] of scopes.entries()) {
      expect(documents.of(scope).etag).toBe(whole.of(scope).etag);
      expect(await documents.of(scope).body.text()).toBe(bodies[i] ?? "");
    }
    expect(documents.reading().bytesKept).toBe(bound);
  });

  describe("in gzip", () => {
    const long = (["web", "mail"] as const).flatMap((hostgroup) =>
      Array.from({ length: 20 }, (_, i) => zone(`${hostgroup}${i}.example.net`, { hostgroup })),
    );
    const state = () => stateOf({ zones: zonesOf({ zones: long }) });
    const bytesOf = ({ body, gzipped }: ZoneDocument) => body.size + (gzipped?.size ?? 0);

    test("are made once while they are kept, and count", async () => {
      const documents = new ZoneDocuments(state(), clock.wallMs());
      const [web, mail] = [documents.of(["web"]), documents.of(["mail"])];
      const gzipped = await web.gzipped?.bytes();
      expect(gunzipSync(gzipped ?? new Uint8Array()).toString()).toBe(await web.body.text());
      expect(web.gzipped).toBe(web.gzipped);
      expect(documents.reading().bytesKept).toBe(bytesOf(web) + mail.body.size);
    });

    test.each([0, 1])("take the room of others: that of document %d", async (which) => {
      const whole = new ZoneDocuments(state(), clock.wallMs());
      const sizes = whole.of(["web"]).body.size + whole.of(["mail"]).body.size;
      const documents = new ZoneDocuments(state(), clock.wallMs(), sizes);
      const both = [documents.of(["web"]), documents.of(["mail"])];
      const [kept, dropped] = which === 0 ? both : both.toReversed();
      if (kept === undefined || dropped === undefined) throw new Error("no documents");
      const scope = which === 0 ? ["mail"] : ["web"];
      expect(kept.gzipped).toBe(kept.gzipped);
      expect(documents.reading().bytesKept).toBe(bytesOf(kept));
      // Bodies that are not kept are written again each time.
      expect(await dropped.gzipped?.bytes()).toEqual(await whole.of(scope).gzipped?.bytes());
      expect(dropped.gzipped).not.toBe(dropped.gzipped);
      expect(await dropped.body.text()).toBe(await whole.of(scope).body.text());
      expect(documents.reading().bytesKept).toBe(bytesOf(kept));
    });

    test("are not there where a document is short", () => {
      expect(documentsOf({ zones: zonesOf({ zones }) }).of(["web"]).gzipped).toBeNull();
    });
  });

  test("are kept one in any case", () => {
    const state = stateOf({ zones: zonesOf({ zones }) });
    const small = new ZoneDocuments(state, clock.wallMs(), 1);
    for (const scope of scopes) small.of(scope);
    expect(small.reading().bytesKept).toBe(small.of(scopes[2]).body.size);
  });
});
