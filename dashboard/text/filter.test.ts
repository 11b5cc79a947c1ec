import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import {
  attacksKept,
  attackValues,
  bansKept,
  completions,
  FILTER_FIELDS,
  filterText,
  parseFilter,
  TERMS_MAX,
  termOf,
  totalScope,
  withTerm,
} from "./filter.ts";

const share = (key: string) => ({ key, packets: 1, bytes: 1 });
const attack = (id: string, group: string, country: string, more: object = {}) =>
  ({
    id,
    target: `203.0.113.${id}`,
    group,
    classification: { type: "udp_flood" },
    sample: {
      protocols: [share("udp")],
      top_src_ports: [share("19")],
      top_dst_ports: [share("80")],
      top_asns: [share("AS64500 Example, Inc.")],
      top_countries: [share(country)],
      top_prefixes: [share("198.18.0.0/24")],
      top_interfaces: [{ exporter: "edge1", interface: 17, packets: 1, bytes: 1, share: 1 }],
    },
    ...more,
  }) as unknown as AttackWire;
const attacks = [attack("1", "web", "DE", { tenant: "acme" }), attack("2", "dns", "FR"), attack("3", "web", "FR")];
const kept = (filter: string) => attacksKept(parseFilter(filter), attacks).map(({ id }) => id);

describe("the filter of a view", () => {
  test.each([
    ["", ["1", "2", "3"]],
    ["hostgroup=web", ["1", "3"]],
    ["hostgroup=web;country=FR", ["3"]],
    ["country=FR;country=DE", ["1", "2", "3"]],
    ["country!=FR", ["1"]],
    ["customer=acme", ["1"]],
    ["customer!=acme", ["2", "3"]],
    ["host=203.0.113.2", ["2"]],
    ["kind=udp_flood;src_port=19;dst_port=80;protocol=UDP", ["1", "2", "3"]],
    ["asn=as64500", ["1", "2", "3"]],
    ["asn=AS6450", []],
    ["exporter=edge1;interface=edge1 interface 17;prefix=198.18.0.0/24", ["1", "2", "3"]],
    ["exporter!=edge1", []],
  ])("%s", (filter, ids) => {
    expect(kept(filter)).toEqual(ids);
  });

  test("is the same from the address as it was put there, whatever is in a value", () => {
    const terms = [
      { field: "asn", value: "AS64500 A; B 100 % = C", isExcluded: true },
      { field: "country", value: "DE", isExcluded: false },
    ] as const;
    expect(parseFilter(filterText(terms))).toEqual(terms);
    expect(filterText([])).toBeNull();
  });

  test("has terms of known fields only, and a bound", () => {
    expect(termOf("nosuch=1")).toBeNull();
    expect(termOf("hostgroup")).toBeNull();
    expect(termOf("hostgroup=")).toBeNull();
    expect(termOf(" hostgroup != web ")).toEqual({ field: "hostgroup", value: "web", isExcluded: true });
    const many = (count: number) => Array.from({ length: count }, (_, i) => `dst_port=${i}`).join(";");
    for (const count of [TERMS_MAX - 1, TERMS_MAX]) expect(parseFilter(many(count)).length).toBe(count);
    expect(parseFilter(many(TERMS_MAX + 1)).length).toBe(TERMS_MAX);
  });

  test("a term is put in, taken out again, and turned into its contrary", () => {
    const only = { field: "country", value: "DE", isExcluded: false } as const;
    expect(withTerm([], only)).toEqual([only]);
    expect(withTerm([only], only)).toEqual([]);
    expect(withTerm([only], { ...only, isExcluded: true })).toEqual([{ ...only, isExcluded: true }]);
  });

  test("completes fields, and values of the attacks, the most frequent first", () => {
    expect(completions(attacks, "ho")).toEqual(FILTER_FIELDS.map((field) => `${field}=`));
    expect(completions(attacks, "hostgroup=")).toEqual(["hostgroup=web", "hostgroup=dns"]);
    expect(completions(attacks, "country!=F")).toEqual(["country!=FR", "country!=DE"]);
  });

  test("a ban has the values of its attack, and one by hand only its address", () => {
    const ban = (target: string) => ({ target, prefix: `${target}/32` }) as BanWire;
    const bans = [ban("203.0.113.1"), ban("203.0.113.99")];
    const targets = (filter: string) => bansKept(parseFilter(filter), bans, attacks).map(({ target }) => target);
    expect(targets("hostgroup=web")).toEqual(["203.0.113.1"]);
    expect(targets("host=203.0.113.99")).toEqual(["203.0.113.99"]);
    expect(targets("country!=DE")).toEqual(["203.0.113.99"]);
    expect(targets("")).toEqual(["203.0.113.1", "203.0.113.99"]);
  });

  test("of the rates of all hosts one hostgroup is shown; other terms are named", () => {
    const scope = (filter: string) => {
      const { hostgroup, ignored } = totalScope(parseFilter(filter));
      return [hostgroup, ignored.map(({ field }) => field)];
    };
    expect(scope("hostgroup=web;protocol=udp")).toEqual(["web", ["protocol"]]);
    expect(scope("hostgroup=web")).toEqual(["web", []]);
    expect(scope("hostgroup=web;hostgroup=dns")).toEqual([null, ["hostgroup", "hostgroup"]]);
    expect(scope("hostgroup!=web;country=DE")).toEqual([null, ["hostgroup", "country"]]);
  });

  test("what is not known of an attack is no value", () => {
    const bare = { id: "9", group: "web" } as AttackWire;
    for (const field of FILTER_FIELDS) expect(attackValues(bare, field)).toEqual(field === "hostgroup" ? ["web"] : []);
  });
});
