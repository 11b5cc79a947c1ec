/**
 * The zone document, field by field (docs/interface.md#zone-document), as a node of the channel gets it. That each zone
 * has all that its file says, and its defaults, is in src/edge/zones.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { ZoneDocumentWire } from "../../src/http/wire/edge/zone.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";

const NAME = "www.example.net";
const LEVER = { mode: "auto", ttl_seconds: 60, reason: "ticket 7" };
const UNTIL = "2026-03-01T12:01:00.000Z";

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

test("zone document name is the zone's hostname, in lower case #zone-document-name", async () => {
  expect(await zone({ name: "WWW.Example.NET" })).toMatchObject({ name: NAME });
});

test("zone document origins are host:port strings, in the file's order #zone-document-origins", async () => {
  const origins = ["b.example.net:8443", "192.0.2.1:443", "[2001:db8::1]:443"];
  expect(await zone({ origins })).toMatchObject({ origins });
});

test("zone document acme_directory, acme_fallback, extra_directives_file and tls.h3 are omitted when unset #zone-document-acme-directory", async () => {
  expect(Object.keys(await zone())).toEqual(["name", "origins", "tls", "policy", "clearance_keys"]);
  const [directory, fallback] = ["https://ca.example.net/d", "https://ca.example.org/d"];
  const extra = { extra_directives_file: "/etc/extra.conf" };
  const own = { acme_directory: directory, acme_fallback: fallback, ...extra };
  expect(await zone({ acme: { directory, fallback }, ...extra })).toMatchObject(own);
});

test("challenge_override is in the zone document while a lever is set, and changes its bytes and ETag #zone-document-challenge-override", async () => {
  expect(await zone()).not.toHaveProperty("challenge_override");
  const before = await channel.etag();
  await channel.lever(NAME, LEVER);
  const set = await channel.etag();
  expect((await zone())["challenge_override"]).toEqual({ mode: "auto", until: UNTIL, reason: "ticket 7" });
  clock().advance(59_999);
  expect([set === before, await channel.etag()]).toEqual([false, set]);
  clock().advance(1);
  expect(await channel.etag()).toBe(before);
});

describe("zone document clearance_keys #zone-document-clearance-keys", () => {
  test("turn exactly at midnight UTC: the ETag moves, parked polls wake, and a fresh one has the new keys", async () => {
    clock().advance(12 * 3_600_000 - 10_000);
    const { answer, etag } = await channel.parked();
    clock().advance(9_999);
    expect(await channel.etag()).toBe(etag);
    clock().advance(1);
    const woken = await answer;
    expect([woken.status, woken.headers.get("etag")]).toEqual([200, await channel.etag()]);
    const { zones } = (await woken.json()) as { zones: { clearance_keys: { id: string }[] }[] };
    expect(zones[0]?.clearance_keys.map(({ id }) => id)).toEqual(["c20260301", "c20260302"]);
  });

  test("follow a wall clock that is set, forth and back", async () => {
    const { answer, etag } = await channel.parked();
    clock().setWall("2026-03-03T10:00:00.000Z");
    clock().advance(1000);
    expect((await answer).headers.get("etag")).not.toBe(etag);
    clock().setWall("2026-03-01T12:00:00.000Z");
    expect(await channel.etag()).toBe(etag);
  });
});

describe("the scope of a zone document #zone-document-scope", () => {
  test.each([
    ["a node's are those without a hostgroup, and of its groups", "bound1", "e1", ["bare", "shop", "www"]],
    ["another node has others", "bound2", "e2", ["bare", "mail", "www"]],
    ["an operator's bare GET gets every zone", "admin", null, ["bare", "mail", "shop", "www"]],
    ["an agent's that names no node gets what every node gets", "unbound", null, ["bare", "www"]],
  ])("%s", async (_, token, node, names) => {
    expect(await channel.zoneNames({ token, node })).toEqual(names.map((name) => `${name}.example.net`));
  });

  test("levers, challenges and grants are those of the node's zones", async () => {
    const mail = { zone: "mail.example.net" };
    const as = { token: "bound2", node: "e2" };
    await channel.lever(mail.zone, LEVER);
    await channel.slot(mail, as);
    await channel.publish(mail, as);
    expect(JSON.stringify(await channel.document())).not.toContain(mail.zone);
    const { zones, ...theirs } = await channel.document(as);
    expect(zones.find(({ name }) => name === mail.zone)).toMatchObject({ challenge_override: { until: UNTIL } });
    const challenge = { ...mail, token: "tok_1", key_authorization: "tok_1.thumb" };
    const grant = { ...mail, node: "e2", expires_at: "2026-03-01T12:10:00.000Z" };
    expect(theirs).toMatchObject({ acme_challenges: [challenge], issuance_grants: [grant] });
  });
});
