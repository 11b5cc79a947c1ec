/** Protection profiles chosen by the API, by the whole service (docs/interface.md#protection-command). */

import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { ProtectionsWire, ProtectionWire } from "../../src/http/wire/protection.ts";
import { PROTECTION_NOTE_MAX } from "../../src/limits.ts";
import { onlyValue } from "../../src/net/range.ts";
import { FreshService } from "../fixtures/fresh-service.ts";
import { agent } from "../fixtures/http/node-channel.ts";

const CONFIG = `dry_run: false
networks: [203.0.113.0/24, 2001:db8::/32]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
mitigation: scrub
dataplane: { interfaces: [fw-absent0] }
scrub_profiles: [{ name: voice, tcp: reset, services: [{ protocol: udp, ports: ["5060"] }], source_mbps: 8 }]
hostgroups:
  - name: web
    networks: [203.0.113.0/25]
    tenant: acme
    scrub: { profile: web, selectable_profiles: [voice, dns] }
  - { name: mail, networks: [203.0.113.128/25], tenant: other }
`;
const TOKENS = [
  { ...agent("noc"), role: "operator" },
  { ...agent("acme"), role: "operator", tenant: "acme" },
  { ...agent("look"), role: "viewer", tenant: "acme" },
  agent("node"),
] as const;
type Caller = (typeof TOKENS)[number]["name"];

const fresh = new FreshService(CONFIG, TOKENS);

const LIST = "/api/v1/protection";
const path = (prefix: string) => `${LIST}/${encodeURIComponent(prefix)}`;
const choose = (prefix: string, body: object | string = { profile: "voice" }, caller: Caller = "noc") =>
  fresh.running.order<ProtectionWire>("PUT", path(prefix), body, caller);
const remove = (prefix: string, caller: Caller = "noc") =>
  fresh.running.order<ProtectionWire>("DELETE", path(prefix), null, caller);
const shown = (prefix: string, caller: Caller = "noc") => fresh.running.get<ProtectionWire>(path(prefix), caller);
const list = (caller: Caller = "noc") => fresh.running.get<ProtectionsWire>(LIST, caller);
const chosen = async (caller: Caller = "noc") => (await list(caller)).protections.map(({ prefix }) => prefix);
const refused = (status: number, error: string): unknown => ({ status, body: { error } });

/** Rules of the kernel towards the prefix, as `action protocol`. */
function kernelRules(prefix: string): string[] {
  fresh.clock.advance(1000);
  return fresh.running.filters.rules
    .filter(({ rule }) => rule.destination?.text === prefix)
    .map(({ rule }) => `${rule.action.kind} ${onlyValue(rule.protocols) ?? "any"}`);
}

const VOICE = {
  allowed: ["udp/5060"],
  validators: ["TCP: unknown sources prove their address, are reset, and connect again"],
  limits: [
    "8 Mbit/s of each source (IPv4 /32, IPv6 /64)",
    "100 Mbit/s of all sources together that were connected before and have not proved it",
  ],
};
const VOICE_RULES = ["validate_reset 6", "limit_source any", "pass 17", "discard any"];

describe("protection", () => {
  test("is shown with its filter in words, who decided, and what the caller may choose #protection-shown", async () => {
    const before = await shown("203.0.113.7");
    expect([...Value.Errors(ProtectionWire, before)]).toEqual([]);
    expect(before).toMatchObject({
      prefix: "203.0.113.7/32",
      hostgroup: "web",
      source: "configuration",
      when: "attack",
    });
    expect(before.setting).toEqual(before.configured);
    const icmp = ["icmp at 100 packets/s", "icmpv6 at 100 packets/s"];
    expect(before.setting?.filter.allowed).toEqual(["tcp/80,443", "udp/443", "udp/from 53,123", ...icmp]);
    expect(before.selectable?.profiles).toEqual(["web", "dns", "mail", "game", "vpn", "voice"]);
    expect((await shown("203.0.113.7", "look")).selectable).toEqual({ profiles: ["voice", "dns"], always: false });
    await choose("203.0.113.0/28", { profile: "voice", always: true, note: "ticket 7" });
    const after = await shown("203.0.113.7");
    expect([...Value.Errors(ProtectionWire, after)]).toEqual([]);
    expect(after).toMatchObject({ source: "operator", when: "always", configured: before.configured });
    expect(after.setting).toEqual({ profile: "voice", always: true, filter: VOICE });
    const said = { profile: "voice", always: true, note: "ticket 7", chosen_by: "operator", operator: "noc" };
    expect(after.choice).toMatchObject({ prefix: "203.0.113.0/28", ...said, active: true });
  });

  test("list has the choices, each hostgroup's setting, and the profiles #protection-list", async () => {
    await choose("2001:db8::/48", { profile: "dns" });
    await choose("203.0.113.7", { profile: "voice" }, "acme");
    const all = await list();
    expect([...Value.Errors(ProtectionsWire, all)]).toEqual([]);
    expect(all.protections.map(({ prefix, source }) => `${prefix} ${source}`)).toEqual([
      "2001:db8::/48 operator",
      "203.0.113.7/32 tenant",
    ]);
    expect(all.hostgroups.map(({ name, setting }) => `${name} ${setting.profile}`)).toEqual([
      "global undefined",
      "web web",
      "mail undefined",
    ]);
    expect(all.profiles.find(({ name }) => name === "voice")).toEqual({
      name: "voice",
      built_in: false,
      filter: VOICE,
    });
    const { protections, hostgroups, profiles } = await list("look");
    expect(protections.map(({ prefix }) => prefix)).toEqual(["203.0.113.7/32"]);
    expect(hostgroups.map(({ name }) => name)).toEqual(["web"]);
    expect(profiles.map(({ name }) => name)).toEqual(["dns", "voice"]);
  });
});

describe("protection command", () => {
  test("takes effect at once on what is always in force, and ends so #protection-command-takes-effect", async () => {
    expect(kernelRules("203.0.113.7/32")).toEqual([]);
    expect((await choose("203.0.113.7", { profile: "voice", always: true })).status).toBe(200);
    expect(kernelRules("203.0.113.7/32")).toEqual(VOICE_RULES);
    const ids = fresh.running.filters.rules.map(({ id }) => id);
    await choose("203.0.113.8", { profile: "voice", always: true });
    kernelRules("");
    // Others' rules are the same, and so are their counts.
    expect(fresh.running.filters.rules.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    expect((await remove("203.0.113.7")).body).toMatchObject({ source: "configuration", when: "attack" });
    expect(kernelRules("203.0.113.7/32")).toEqual([]);
    expect(kernelRules("203.0.113.8/32")).toEqual(VOICE_RULES);
  });

  test("takes effect at once on a ban that scrubs, also of the longest of several choices #protection-command-takes-effect", async () => {
    await fresh.running.post("/api/v1/ban", { ip: "203.0.113.7" }, "noc");
    const web = kernelRules("203.0.113.7/32");
    expect(web).toContain("validate_transparent 6");
    await choose("203.0.113.7", { profile: "voice" });
    const voice = kernelRules("203.0.113.7/32");
    expect(voice[0]).toBe("validate_reset 6");
    expect(voice.at(-1)).toBe("discard any");
    await choose("203.0.113.0/28", { profile: "dns" });
    expect(kernelRules("203.0.113.7/32")).toEqual(voice);
    await remove("203.0.113.7");
    expect(kernelRules("203.0.113.7/32")).toContain("validate_dns 17");
    await remove("203.0.113.0/28");
    expect(kernelRules("203.0.113.7/32")).toEqual(web);
  });

  test("keeps choices over a restart, before the first rules are put #protection-command-choices-survive", async () => {
    await choose("203.0.113.7", { profile: "voice", always: true, note: "é" });
    const before = await list();
    await fresh.restart();
    expect(await list()).toEqual(before);
    expect(kernelRules("203.0.113.7/32")).toEqual(VOICE_RULES);
  });

  test("refuses bad input #protection-command-refusals", async () => {
    const rule = "must be a CIDR such as 192.0.2.0/24 or 2001:db8::/32";
    const hosts = "203.0.113.7/24 has host bits set: write 203.0.113.0/24";
    expect<unknown>(await choose("x/y")).toEqual(refused(400, `invalid prefix: x/y: ${rule}`));
    expect<unknown>(await choose("203.0.113.7/24")).toEqual(refused(400, `invalid prefix: 203.0.113.7/24: ${hosts}`));
    const bad: readonly (readonly [object | string, string])[] = [
      [{}, "profile is required"],
      [{ profile: 1 }, "profile must be a string"],
      [{ profile: "web", always: "no" }, "always: expected boolean"],
      [{ profile: "web", when: "always" }, 'unknown field "when"'],
      [
        { profile: "web", note: "é".repeat(PROTECTION_NOTE_MAX + 1) },
        `note has more than ${PROTECTION_NOTE_MAX} characters`,
      ],
      ["[]", "not an object"],
    ];
    for (const [body, error] of bad) {
      expect<unknown>(await choose("203.0.113.7", body)).toEqual(refused(400, `invalid JSON body: ${error}`));
    }
    expect((await choose("203.0.113.7", { profile: "web", note: "é".repeat(PROTECTION_NOTE_MAX) })).status).toBe(200);
  });

  test("refuses what the configuration does not have #protection-command-refusals", async () => {
    const outside = "prefix is not within one of networks and one hostgroup";
    for (const prefix of ["203.0.113.0/24", "198.51.100.1"]) {
      expect<unknown>(await choose(prefix)).toEqual(refused(409, outside));
      expect<unknown>(await fresh.running.order("GET", path(prefix), null, "noc")).toEqual(refused(404, outside));
    }
    const unknown = "unknown profile: GET /api/v1/protection has those there are";
    expect<unknown>(await choose("203.0.113.7", { profile: "shop" })).toEqual(refused(409, unknown));
    expect<unknown>(await remove("203.0.113.7")).toEqual(refused(404, "no protection was chosen for this prefix"));
    expect(await fresh.metric('svc_protection_refused_total{reason="unknown_profile"}')).toBe(1);
  });

  test("a choice of a tenant is within its addresses and what the operator allows #protection-command-of-a-tenant", async () => {
    const foreign = refused(403, "target is outside your tenant");
    for (const prefix of ["203.0.113.200", "203.0.113.0/24", "198.51.100.1", "2001:db8::1"]) {
      expect<unknown>(await choose(prefix, { profile: "voice" }, "acme")).toEqual(foreign);
      expect<unknown>(await choose(prefix, "{", "acme")).toEqual(foreign);
      expect<unknown>(await remove(prefix, "acme")).toEqual(foreign);
      expect<unknown>(await fresh.running.order("GET", path(prefix), null, "acme")).toEqual(foreign);
    }
    const no = "tenants may not choose this profile here: GET /api/v1/protection has those they may";
    for (const profile of ["web", "shop"]) {
      expect<unknown>(await choose("203.0.113.7", { profile }, "acme")).toEqual(refused(409, no));
    }
    const when = "tenants may not choose here when a profile applies: leave out always";
    const always = { profile: "voice", always: true };
    expect<unknown>(await choose("203.0.113.7", always, "acme")).toEqual(refused(409, when));
    expect((await choose("203.0.113.7", { profile: "voice" }, "acme")).body).toMatchObject({ source: "tenant" });
    await fresh.reload(CONFIG.replace("[voice, dns]", "[voice, dns], selectable_always: true"));
    expect((await choose("203.0.113.7", always, "acme")).body).toMatchObject({ when: "always" });
  });

  test("a choice of an operator is not changed by a tenant, who does not see the operator's texts #protection-command-of-an-operator", async () => {
    await choose("203.0.113.7", { profile: "voice", note: "owes us money" });
    const no = refused(409, "an operator chose the protection of this prefix: ask them to change it");
    expect<unknown>(await choose("203.0.113.7", { profile: "dns" }, "acme")).toEqual(no);
    expect<unknown>(await remove("203.0.113.7", "acme")).toEqual(no);
    expect(JSON.stringify(await list("acme"))).not.toMatch(/owes us|noc/);
    expect(await chosen("acme")).toEqual(["203.0.113.7/32"]);
  });

  test("a choice that the configuration does not allow any more stays in the list, without effect, and is logged #protection-command-that-the-configuration", async () => {
    await choose("203.0.113.7", { profile: "voice", always: true });
    await fresh.reload(CONFIG.replace("name: voice", "name: phone").replace("[voice, dns]", "[dns]"));
    expect(kernelRules("203.0.113.7/32")).toEqual([]);
    const [row] = (await list()).protections;
    expect(row).toMatchObject({ source: "configuration", setting: { profile: "web", always: false } });
    expect(row?.choice).toMatchObject({ profile: "voice", active: false });
    expect(row?.choice?.cause).toBe("the configuration has no such profile any more");
    const choices = [{ prefix: "203.0.113.7/32", profile: "voice", cause: "unknown_profile" }];
    expect(fresh.running.logged).toContainEqual(expect.objectContaining({ level: "warn", count: 1, choices }));
    const line = 'svc_protection_choices{chosen_by="operator",state="inactive"}';
    expect(await fresh.metric(line)).toBe(1);
    // Of a prefix that is another tenant's now, the former one sees nothing.
    await choose("203.0.113.9", { profile: "dns" }, "acme");
    await fresh.reload(CONFIG.replace("tenant: acme", "tenant: shop"));
    expect([await chosen("acme"), (await chosen()).length]).toEqual([[], 2]);
    expect((await remove("203.0.113.9")).status).toBe(200);
  });

  test("a removal may have a reason, which its row has #protection-command-remove-reason", async () => {
    await choose("203.0.113.7");
    const end = (body: object) => fresh.running.order("DELETE", path("203.0.113.7"), body, "noc");
    expect((await end({ reason: "x".repeat(201) })).status).toBe(400);
    expect((await end({ why: "ticket 7" })).status).toBe(400);
    expect((await end({ reason: "ticket 7 is over" })).status).toBe(200);
    expect(fresh.running.audited.at(-1)?.reason).toBe("203.0.113.7/32: ticket 7 is over");
  });

  test("each command is audited with who and what, refusals too #protection-command-is-audited", async () => {
    await choose("203.0.113.0/28", { profile: "voice", always: false, note: "ticket 7" });
    await choose("203.0.113.7", { profile: "web" }, "acme");
    await remove("203.0.113.0/28");
    await choose("203.0.113.7", {}, "look");
    const row = { action: "protection", targetType: "prefix", dryRun: false };
    const what = "203.0.113.0/28 voice, while attacked: ticket 7";
    expect(fresh.running.audited).toMatchObject([
      { ...row, result: "set", operator: "noc", target: "203.0.113.0", reason: what },
      { ...row, result: "rejected", operator: "acme", tenant: "acme", target: "203.0.113.7" },
      { ...row, result: "cleared", operator: "noc", reason: "203.0.113.0/28" },
      { ...row, result: "rejected", operator: "look", reason: "this token's role may not perform this action" },
    ]);
  });
});
