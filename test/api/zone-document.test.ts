/** The zone document, field by field (docs/interface.md#zone-document), as a node of the channel gets it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { ZoneDocumentWire } from "../../src/http/wire/edge/zone.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";

const NAME = "www.example.net";
const DAY_MS = 86_400_000;
const H3 = { min_version: "1.2", h3: true };

let channel: EdgeChannelServer;

beforeEach(() => {
  channel = new EdgeChannelServer();
});
afterEach(() => channel.stop());

/** The one zone, as its file says. */
async function zone(entry: object = {}): Promise<Record<string, unknown>> {
  channel.configure({ zones: [{ name: NAME, ...entry }] });
  const document = await channel.document();
  expect([...Value.Errors(ZoneDocumentWire, document)]).toEqual([]);
  return document.zones[0] ?? {};
}

const clock = () => channel.server.clock;

test("zone document version is 1, and the three lists are there, also without any edge", async () => {
  channel.edge.reconfigure(null);
  const document = await channel.document({ token: "admin", node: null });
  expect(document).toEqual({ version: 1, zones: [], acme_challenges: [], issuance_grants: [] });
});

/** That each has all that its file says, and its defaults, is in src/edge/zones/zone-documents.test.ts. */
test.each<[string, object, object]>([
  ["name is the zone's hostname, in lower case", { name: "WWW.Example.NET" }, { name: NAME }],
  [
    "origins are host:port strings, in the file's order",
    { origins: ["b.example.net:8443", "192.0.2.1:443", "[2001:db8::1]:443"] },
    { origins: ["b.example.net:8443", "192.0.2.1:443", "[2001:db8::1]:443"] },
  ],
  [
    "tls has h3_options only on departure from the defaults",
    { tls: { h3: true, h3_options: { advertise: false } } },
    { tls: { min_version: "1.2", h3: true, h3_options: { advertise: false, alt_svc_max_age_seconds: 86_400 } } },
  ],
  ["tls has no options that are the defaults", { tls: { h3: true, h3_options: { advertise: true } } }, { tls: H3 }],
  [
    "policy has what the file says, and every default",
    { policy: { mode: "none", rate: { rps: 0, concurrency: 7 } } },
    { policy: { mode: "none", failure_mode: "open", challenge: "off", dry_run: true, rate: { concurrency: 7 } } },
  ],
])("zone document %s", async (_, entry, told) => {
  const wire = await zone(entry);
  expect(wire).toMatchObject(told);
  if ("tls" in told) expect(wire["tls"]).toEqual(told.tls as object);
});

test("zone document acme_directory, acme_fallback, extra_directives_file and tls.h3 are omitted when unset", async () => {
  expect(Object.keys(await zone())).toEqual(["name", "origins", "tls", "policy", "clearance_keys"]);
  const acme = { directory: "https://ca.example.net/d", fallback: "https://ca.example.org/d" };
  expect(await zone({ acme, extra_directives_file: "/etc/extra.conf" })).toMatchObject({
    acme_directory: "https://ca.example.net/d",
    acme_fallback: "https://ca.example.org/d",
    extra_directives_file: "/etc/extra.conf",
  });
});

describe("zone document challenge_override", () => {
  const set = () => channel.lever(NAME, { mode: "auto", ttl_seconds: 60, reason: "ticket 7" });

  test("is {mode, until, reason} while a lever is set, and absent otherwise", async () => {
    expect(await zone()).not.toHaveProperty("challenge_override");
    await set();
    expect((await zone())["challenge_override"]).toEqual({
      mode: "auto",
      until: "2026-03-01T12:01:00.000Z",
      reason: "ticket 7",
    });
  });

  test("bytes and ETag change when the operator acts, once more when it lapses, and never between", async () => {
    const tags = [await channel.etag()];
    await set();
    for (let i = 0; i < 60; i++) {
      tags.push(await channel.etag());
      clock().advance(1000);
    }
    tags.push(await channel.etag());
    const changes = tags.filter((tag, i) => tag !== tags[i - 1]);
    expect(changes).toHaveLength(3);
    expect(changes[2]).toBe(changes[0] ?? "");
  });
});

describe("zone document clearance_keys", () => {
  interface Key {
    readonly id: string;
    readonly secret: string;
    readonly not_before: string;
    readonly not_after: string;
  }
  const keysOf = async (entry?: object) => (await zone(entry))["clearance_keys"] as Key[];

  test("are of the current and the previous UTC day, each honoured 48 h, sorted by not_before", async () => {
    const keys = await keysOf();
    expect(keys.map(({ id }) => id)).toEqual(["c20260228", "c20260301"]);
    expect(keys.map((key) => key.not_before)).toEqual(["2026-02-28T00:00:00.000Z", "2026-03-01T00:00:00.000Z"]);
    for (const key of keys) {
      expect(Date.parse(key.not_after) - Date.parse(key.not_before)).toBe(2 * DAY_MS);
      expect(Buffer.from(key.secret, "base64url")).toHaveLength(32);
    }
  });

  test("turn exactly at midnight UTC: the ETag moves, parked polls wake, and a fresh one has the new keys", async () => {
    clock().advance(12 * 3_600_000 - 10_000);
    const { answer, etag } = await channel.parked();
    clock().advance(9_999);
    expect(await channel.etag()).toBe(etag);
    clock().advance(1);
    const woken = await answer;
    expect([woken.status, woken.headers.get("etag")]).toEqual([200, await channel.etag()]);
    const { zones } = (await woken.json()) as { zones: { clearance_keys: Key[] }[] };
    expect(zones[0]?.clearance_keys.map(({ id }) => id)).toEqual(["c20260301", "c20260302"]);
    expect(woken.headers.get("etag")).not.toBe(etag);
  });

  test("follow a wall clock that is set, forth and back", async () => {
    const { answer, etag } = await channel.parked();
    clock().setWall("2026-03-03T10:00:00.000Z");
    clock().advance(1000);
    expect((await answer).headers.get("etag")).not.toBe(etag);
    clock().setWall("2026-03-01T12:00:00.000Z");
    expect(await channel.etag()).toBe(etag);
  });

  test("are a zone's own, and a day's key stays the same the day after", async () => {
    const [, today] = await keysOf();
    expect((await keysOf({ name: "other.example.net" }))[1]?.secret).not.toBe(today?.secret);
    clock().advance(DAY_MS);
    expect((await keysOf())[0]).toEqual(today as Key);
  });
});

test("zone document has no other fields, and nothing of tenants or hostgroups", async () => {
  await zone({ tenant: "acme", hostgroup: "web" });
  const text = await (await channel.poll()).text();
  expect(text).not.toContain('acme"');
  expect(text).not.toMatch(/"tenant"|"hostgroup"/);
});

describe("zone document scope:", () => {
  test.each([
    ["a node's are those without a hostgroup, and of its groups", "bound1", "e1", ["bare", "shop", "www"]],
    ["another node has others", "bound2", "e2", ["bare", "mail", "www"]],
    ["an operator's bare GET gets every zone", "admin", null, ["bare", "mail", "shop", "www"]],
    ["an agent's that names no node gets what every node gets", "unbound", null, ["bare", "www"]],
  ])("%s", async (_, token, node, names) => {
    expect(await channel.zoneNames({ token, node })).toEqual(names.map((name) => `${name}.example.net`));
  });

  test("levers, challenges and grants are those of the node's zones", async () => {
    const order = { zone: "mail.example.net" };
    const as = { token: "bound2", node: "e2" };
    await channel.lever(order.zone, { mode: "manual", ttl_seconds: 60, reason: "" });
    await channel.slot(order, as);
    await channel.publish(order, as);
    expect(JSON.stringify(await channel.document())).not.toContain(order.zone);
    const theirs = await channel.document(as);
    expect(theirs.zones.find(({ name }) => name === order.zone)).toMatchObject({
      challenge_override: { mode: "manual", until: "2026-03-01T12:01:00.000Z", reason: "" },
    });
    expect(theirs).toMatchObject({
      acme_challenges: [{ ...order, token: "tok_1", key_authorization: "tok_1.thumb" }],
      issuance_grants: [{ ...order, node: "e2", expires_at: "2026-03-01T12:10:00.000Z" }],
    });
  });
});
