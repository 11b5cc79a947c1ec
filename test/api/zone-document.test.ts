/**
 * The zone document, field by field (docs/interface.md#zone-document), as a node of the channel gets it. That each zone
 * has all that its file says, and its defaults, is in src/edge/zones.
 */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { ZoneDocumentWire } from "../../src/http/wire/edge/zone.ts";
import { EdgeChannelServer } from "../fixtures/edge/edge-channel.ts";

const NAME = "www.example.net";

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

describe("the scope of a zone document #zone-document-scope", () => {
  test.each([
    ["a node's are those without a hostgroup, and of its groups", "bound1", "e1", ["bare", "shop", "www"]],
    ["another node has others", "bound2", "e2", ["bare", "mail", "www"]],
    ["an operator's bare GET gets every zone", "admin", null, ["bare", "mail", "shop", "www"]],
    ["an agent's that names no node gets what every node gets", "unbound", null, ["bare", "www"]],
  ])("%s", async (_, token, node, names) => {
    expect(await channel.zoneNames({ token, node })).toEqual(names.map((name) => `${name}.example.net`));
  });
});
