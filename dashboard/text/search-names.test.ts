import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { explorationOf } from "./exploration.ts";
import { searchHits } from "./search.ts";
import { type NameLists, namedThings } from "./search-names.ts";

const attack = {
  id: "a1",
  target: "203.0.113.7",
  scope: "host",
  group: "acme-web",
  active: true,
  started_at: "2026-03-01T12:00:00.000Z",
  sample: {
    top_sources: [{ key: "198.18.0.1", packets: 1, bytes: 1 }],
    top_asns: [{ key: "AS64999 Example, Inc.", packets: 1, bytes: 1 }],
  },
} as unknown as AttackWire;

const lists: NameLists = {
  hostgroups: [{ name: "global" }, { name: "acme-web", tenant: "acme" }, { name: "acme-dns", tenant: "acme" }],
  zones: [{ zone: "shop.example.net" }],
  rules: [{ name: "no-chargen", match: "udp from port 19" }],
  sets: [{ name: "bogons" }],
  profiles: [{ name: "voice" }],
  nodes: [{ name: "scrub1", alive: true }],
  neighbors: [{ address: "10.98.0.3", remote_asn: 64500, state: "established", advertised: 0 }],
  attacks: [attack],
  isUnscoped: true,
};
const searched = (text: string, own: NameLists = lists) =>
  searchHits(text, { active: [attack], recent: [], bans: [], views: [], named: namedThings(own) });

describe("the search by names", () => {
  test.each([
    ["acme", ["Customer acme", "Hostgroup acme-web", "Hostgroup acme-dns"]],
    ["shop", ["Zone shop.example.net"]],
    ["charg", ["Filter rule no-chargen"]],
    ["bogons", ["Prefix set bogons"]],
    ["voice", ["Profile voice"]],
    ["scrub1", ["Scrub node scrub1"]],
    ["as64500", ["BGP neighbor 10.98.0.3"]],
    ["AS64999", ["AS64999 Example, Inc."]],
    ["filter", ["Filter rule no-chargen", "Filter rules and prefix sets"]],
  ])("%s", (text, titles) => {
    expect(searched(text).map(({ title }) => title)).toEqual(titles);
  });

  test("a customer leads to its page, a network to its traffic, commas in its name and all", () => {
    expect(searched("Customer")[0]?.steps).toEqual(["incidents", "of", "tenant", "acme"]);
    const query = new URLSearchParams(searched("AS64999")[0]?.query);
    expect(query.get("by")).toBe("asn");
    expect(explorationOf(query).only).toEqual(["AS64999 Example, Inc."]);
  });

  test("a tenant is led to the attack, since the networks of all traffic are not for it", () => {
    expect(searched("AS64999", { ...lists, isUnscoped: false })[0]?.steps).toEqual(["attacks", "a1"]);
  });

  test("the address of a neighbor is that of a neighbor, that of a source one of a source, never of a host", () => {
    const titles = (text: string) => searched(text).map(({ title }) => title.split(" ")[0]);
    expect(titles("10.98.0.3")).toEqual(["BGP", "Earlier", "Audit"]);
    expect(titles("198.18.0.1")).toEqual(["Source", "Earlier", "Audit"]);
    expect(titles("203.0.113.7")).toEqual(["Host", "Attack", "Earlier", "Audit"]);
  });

  test.each([11, 12, 13])("of %d names at most twelve are found", (count) => {
    const sets = Array.from({ length: count }, (_, i) => ({ name: `list${i}` }));
    expect(searched("list", { ...lists, sets }).filter(({ title }) => title.startsWith("Prefix")).length).toBe(
      Math.min(12, count),
    );
  });
});
