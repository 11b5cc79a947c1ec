import { describe, expect, test } from "bun:test";
import { configOf } from "../../../test/fixtures/config/parsed-config.ts";
import { prefix } from "../../../test/fixtures/networks.ts";
import { memoryStore } from "../../../test/fixtures/storage/memory-state.ts";
import { PROTECTION_CHOICES_MAX, PROTECTION_CHOICES_PER_TENANT } from "../../limits.ts";
import { enclosingPrefix } from "../../net/prefix.ts";
import type { ScrubConfig } from "../scrub/scrub-config.ts";
import { serviceText } from "../scrub/scrub-filter.ts";
import type { ProtectionChoice } from "./choice.ts";
import { type ProtectionOrder, Protections } from "./protections.ts";

const CONFIG = `networks: [10.0.0.0/8, 2001:db8::/32]
protected_whitelist: [10.9.0.0/16]
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 500}
mitigation: scrub
dataplane: {interfaces: [eth0]}
scrub_profiles: [{name: voice, source_packets_per_second: 50}]
hostgroups:
  - name: web
    networks: [10.1.0.0/16, 2001:db8:1::/48]
    tenant: acme
    scrub: {profile: web, source_mbps: 8, dry_run: true, selectable_profiles: [dns, voice], selectable_always: true}
  - {name: mail, networks: [10.2.0.0/16], tenant: other, scrub: {selectable_profiles: [mail]}}
  - {name: plain, networks: [10.4.0.0/16], mitigation: flowspec}
`;

const order = (text: string, changes: Partial<ProtectionOrder> = {}): ProtectionOrder => ({
  ...{ prefix: prefix(text), profile: "dns", always: null, note: "", operator: "noc", tenant: null, chosenAt: 0 },
  ...changes,
});

function table(config = CONFIG) {
  const memory = memoryStore();
  const seen: string[] = [];
  const protections = new Protections({
    config: configOf(config),
    store: memory.store.table("protections"),
    onChange: () => seen.push("changed"),
    observer: {
      began: ({ prefix }) => seen.push(`chosen ${prefix}`),
      ended: (end, choices) => seen.push(...choices.map(({ prefix }) => `${end} ${prefix}`)),
      refused: (refusal) => seen.push(refusal),
      inactive: (choices) => seen.push(...choices.map(({ choice, cause }) => `${choice.prefix} ${cause}`)),
    },
  });
  const { mitigations } = configOf(config);
  const scrubOf = (text: string) => protections.scrubOf(prefix(text), mitigations[0]?.scrub as ScrubConfig);
  const choose = async (...given: Parameters<typeof order>) => {
    const answer = await protections.choose(order(...given));
    return answer.kind === "done" ? "done" : answer.refusal;
  };
  const profileOf = (text: string) => scrubOf(text).profile;
  return { ...memory, protections, seen, choose, scrubOf, profileOf };
}

describe("a chosen protection", () => {
  test("decides by the longest prefix that contains the whole, in place of the hostgroup's", async () => {
    const { choose, profileOf } = table();
    for (const [text, profile] of [
      ["10.1.0.0/24", "dns"],
      ["10.1.0.128/25", "game"],
      ["10.1.0.200/32", "vpn"],
      ["2001:db8:1::/64", "mail"],
    ] as const) {
      expect(await choose(text, { profile })).toBe("done");
    }
    expect(
      ["10.1.0.1/32", "10.1.0.129/32", "10.1.0.200/32", "10.1.0.192/26", "10.1.0.0/23", "10.1.1.1/32"].map(profileOf),
    ).toEqual(["dns", "game", "vpn", "game", null, null]);
    expect(profileOf("2001:db8:1::7/128")).toBe("mail");
  });

  test("is the profile alone, with what the configuration says of nodes, dry run and always", async () => {
    const { scrubOf, choose } = table();
    await choose("10.1.0.1/32", { profile: "voice" });
    expect(scrubOf("10.1.0.1/32")).toMatchObject({
      ...{ profile: "voice", isAlways: false, countsOnly: true, services: null },
      sourceLimits: { packets: 50, bytes: 0 },
    });
    await choose("10.1.0.1/32", { always: true });
    expect(scrubOf("10.1.0.1/32")).toMatchObject({ profile: "dns", isAlways: true, dns: true });
  });

  test("that does not say when it applies does so as the choice around it, and so a tenant does not switch that off", async () => {
    const { protections, choose } = table();
    const isAlways = (text: string) => protections.of(prefix(text))?.scrub?.isAlways;
    await choose("10.1.0.1/32", { profile: "voice", tenant: "acme" });
    expect(isAlways("10.1.0.1/32")).toBe(false);
    await choose("10.1.0.0/24", { always: true });
    await choose("10.1.0.0/28");
    expect(["10.1.0.1/32", "10.1.0.2/32", "10.1.0.99/32"].map(isAlways)).toEqual([true, true, true]);
    expect(protections.all().map(({ scrub }) => scrub?.isAlways)).toEqual([true, true, true]);
    await choose("10.1.0.0/28", { always: false });
    expect(["10.1.0.1/32", "10.1.0.2/32", "10.1.0.99/32"].map(isAlways)).toEqual([false, false, true]);
    await protections.remove(prefix("10.1.0.0/28"), null);
    expect(isAlways("10.1.0.1/32")).toBe(true);
  });

  test("of the profile that the configuration has keeps the keys beside it", async () => {
    const { scrubOf, choose } = table();
    await choose("10.1.0.1/32", { profile: "web", always: true });
    expect(scrubOf("10.1.0.1/32")).toMatchObject({ isAlways: true, sourceLimits: { packets: 20_000, bytes: 1e6 } });
  });

  test("of a part is not cut off by the filter of a prefix around it: that is as mild as each", async () => {
    const { scrubOf, choose } = table();
    await choose("10.4.0.0/24", { profile: "web" });
    const web = scrubOf("10.4.0.0/24");
    await choose("10.4.0.16/28", { profile: "vpn" });
    const both = scrubOf("10.4.0.0/24");
    expect(both).toMatchObject({ tcp: "transparent", sourceLimits: { packets: 0, connections: 200 } });
    const ports = (of: ScrubConfig) => of.services?.map(serviceText) ?? [];
    expect(ports(both)).toEqual([...new Set([...ports(web), ...ports(scrubOf("10.4.0.16/28"))])]);
    expect(scrubOf("10.4.0.0/24")).toBe(both);
    // One without services lets all pass.
    await choose("10.4.0.32/28", { profile: "voice" });
    expect(scrubOf("10.4.0.0/24")).toMatchObject({ services: null });
    expect(ports(scrubOf("10.4.0.1/32"))).toEqual(ports(web));
  });

  test("says when it applies, or why never", async () => {
    const { protections, choose } = table();
    const when = (text: string) => protections.of(prefix(text))?.application;
    await choose("10.1.0.1/32", { always: true });
    await choose("10.4.0.1/32");
    expect(when("10.1.0.1/32")).toEqual({ when: "always", cause: null });
    expect(when("10.1.0.2/32")).toEqual({ when: "attack", cause: null });
    expect(when("10.9.0.2/32")).toEqual({ when: "never", cause: "it is in protected_whitelist" });
    expect(when("10.4.0.1/32")).toMatchObject({ when: "never", cause: expect.stringContaining("no ban of its") });
    expect(protections.of(prefix("10.0.0.0/15"))).toBeNull();
    expect(protections.of(prefix("192.0.2.0/24"))).toBeNull();
    const bare = table(CONFIG.replace(/mitigation: scrub\ndataplane.*\n/, "")).protections;
    expect(bare.of(prefix("10.1.0.1/32"))?.application).toMatchObject({
      when: "never",
      cause: expect.stringContaining("data plane"),
    });
  });
});

describe("refused", () => {
  test.each([
    ["a prefix outside of the networks", "192.0.2.0/24", {}, "not_one_hostgroup"],
    ["a prefix of several hostgroups", "10.0.0.0/14", {}, "not_one_hostgroup"],
    ["a prefix that begins in one hostgroup and is wider", "10.4.0.0/15", {}, "not_one_hostgroup"],
    ["a profile that there is not", "10.1.0.1/32", { profile: "shop" }, "unknown_profile"],
    ["the same of a tenant", "10.1.0.1/32", { profile: "shop", tenant: "acme" }, "not_selectable"],
    ["a profile that tenants may not choose", "10.1.0.1/32", { profile: "web", tenant: "acme" }, "not_selectable"],
    [
      "a tenant that says when",
      "10.2.0.1/32",
      { profile: "mail", tenant: "other", always: false },
      "always_not_selectable",
    ],
    ["a foreign prefix", "10.2.0.1/32", { profile: "mail", tenant: "acme" }, "other_tenant"],
  ])("is %s", async (_, text, changes, refusal) => {
    const { choose, seen, file, profileOf } = table();
    expect(await choose(text, changes)).toBe(refusal);
    expect(seen).toEqual([refusal]);
    expect(file.names("protections")).toEqual([]);
    expect(profileOf(text)).toBeNull();
  });

  test("is what a tenant would change of an operator's choice, not the other way round", async () => {
    const { protections, choose, profileOf } = table();
    const own = { tenant: "acme", profile: "voice" };
    await choose("10.1.0.1/32", { profile: "game" });
    expect(await choose("10.1.0.1/32", own)).toBe("chosen_by_operator");
    expect(await protections.remove(prefix("10.1.0.1/32"), "acme")).toMatchObject({ refusal: "chosen_by_operator" });
    expect(profileOf("10.1.0.1/32")).toBe("game");
    expect(await choose("10.1.0.2/32", own)).toBe("done");
    expect(await choose("10.1.0.2/32", { profile: "web" })).toBe("done");
    expect(await choose("10.1.0.3/32", own)).toBe("done");
    expect(await protections.remove(prefix("10.1.0.3/32"), "acme")).toMatchObject({ kind: "done", isSaved: true });
    expect(await protections.remove(prefix("10.1.0.3/32"), null)).toBeNull();
  });

  test("is one more than a tenant may have, and one more than there may be; a change of one is not", async () => {
    const { protections, choose } = table();
    const nth = (i: number) => enclosingPrefix(prefix(`10.1.${i >> 8}.${i & 255}/32`).address, 32).text;
    const own = { tenant: "acme", profile: "voice" };
    for (let i = 0; i < PROTECTION_CHOICES_PER_TENANT; i++) expect(await choose(nth(i), own)).toBe("done");
    expect(await choose(nth(5000), own)).toBe("too_many_of_tenant");
    expect(await choose(nth(0), { ...own, note: "again" })).toBe("done");
    const restored = Array.from({ length: PROTECTION_CHOICES_MAX - 1 - PROTECTION_CHOICES_PER_TENANT }, (_, i) => {
      const text = nth(PROTECTION_CHOICES_PER_TENANT + i);
      return { ...order(text), prefix: text };
    });
    protections.restore(restored);
    expect(await choose(nth(4999))).toBe("done");
    expect(await choose(nth(5000))).toBe("too_many_choices");
    expect(await choose(nth(1), { note: "again" })).toBe("done");
  });
});

describe("after a change of the configuration", () => {
  type Change = readonly [
    cause: string,
    how: Partial<Omit<ProtectionChoice, "prefix">>,
    ...was: readonly [string, string][],
  ];
  const CHANGES: readonly Change[] = [
    ["not_one_hostgroup", {}, ["10.1.0.0/16, ", "10.1.0.0/25, "]],
    ["unknown_profile", { profile: "voice" }, ["name: voice", "name: phone"], ["dns, voice", "dns"]],
    ["other_tenant", { tenant: "acme" }, ["tenant: acme", "tenant: shop"]],
    ["not_selectable", { tenant: "acme" }, ["[dns, voice]", "[web]"]],
    [
      "always_not_selectable",
      { tenant: "acme", always: true },
      ["selectable_always: true", "selectable_always: false"],
    ],
  ];
  test.each(CHANGES)("%s: the choice is kept without effect, and comes back", (cause, how, ...changes) => {
    const { protections, seen, profileOf } = table();
    const { prefix: _, ...rest } = order("10.1.0.0/24", how);
    const choice: ProtectionChoice = { prefix: "10.1.0.0/24", ...rest };
    protections.restore([choice]);
    expect([profileOf("10.1.0.1/32"), seen]).toEqual([choice.profile, []]);
    const changed = changes.reduce((text, [was, is]) => text.replace(was, is), CONFIG);
    for (let i = 0; i < 2; i++) protections.reconfigure(configOf(changed));
    expect([profileOf("10.1.0.1/32"), seen]).toEqual([null, [`10.1.0.0/24 ${cause}`]]);
    expect(protections.all()).toMatchObject([{ judged: { kind: "inactive", cause, choice } }]);
    const chooser = choice.tenant === null ? "operator" : "tenant";
    expect(protections.counts()[chooser]).toEqual({ active: 0, inactive: 1 });
    protections.reconfigure(configOf(CONFIG));
    expect(profileOf("10.1.0.1/32")).toBe(choice.profile);
  });

  test("a choice that a start finds without effect is said, too", () => {
    const { protections, seen } = table();
    const { prefix: _, ...rest } = order("10.1.0.0/24", { profile: "gone" });
    protections.restore([{ prefix: "10.1.0.0/24", ...rest }]);
    expect(seen).toEqual(["10.1.0.0/24 unknown_profile"]);
  });
});
