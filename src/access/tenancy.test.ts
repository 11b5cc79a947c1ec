import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { tenancyOf } from "../../test/fixtures/http/callers.ts";
import { ANYONE } from "./principal.ts";

const GROUPS = `networks: [192.0.2.0/24, 198.51.100.0/24, 2001:db8::/32]
thresholds: {pps: 1, mbps: 1, flows_per_sec: 1}
hostgroups:
  - {name: web, networks: [192.0.2.0/25, 2001:db8:1::/48], tenant: acme}
  - {name: dns, networks: [192.0.2.53/32], tenant: other}
  - {name: lab, networks: [192.0.2.64/26]}
  - {name: mail, networks: [192.0.2.128/25], tenant: acme}
`;

describe("an address is owned", () => {
  const tenancy = tenancyOf(GROUPS);

  test.each([
    ["192.0.2.1", "acme"],
    ["192.0.2.200", "acme"],
    ["2001:db8:1::1", "acme"],
    ["192.0.2.53", "other"],
    ["192.0.2.65", null],
    ["198.51.100.1", null],
    ["2001:db8::1", null],
    ["203.0.113.1", null],
  ])("%s by %p, by its longest prefix", (ip, tenant) => {
    expect(tenancy.tenantOf(address(ip))).toBe(tenant);
  });

  test("by the tenant of global, where no hostgroup takes it and a network holds it", () => {
    const whole = tenancyOf(`tenant: house\n${GROUPS}`);
    expect(whole.tenantOf(address("198.51.100.1"))).toBe("house");
    expect(whole.tenantOf(address("2001:db8::1"))).toBe("house");
    expect(whole.tenantOf(address("192.0.2.1"))).toBe("acme");
    expect(whole.tenantOf(address("192.0.2.65"))).toBeNull();
    expect(whole.tenantOf(address("203.0.113.1"))).toBeNull();
  });
});

test("a tenant owns its groups, and global where it is its own", () => {
  const tenancy = tenancyOf(`tenant: other\n${GROUPS}`);
  expect([...tenancy.groupsOf("acme")]).toEqual(["web", "mail"]);
  expect([...tenancy.groupsOf("other")]).toEqual(["global", "dns"]);
  expect([...tenancy.groupsOf("nobody")]).toEqual([]);
});

test("a caller without a tenant may act everywhere, one with a tenant on its own addresses", () => {
  const tenancy = tenancyOf(GROUPS);
  const acme = { ...ANYONE, tenant: "acme" };
  const own = (ip: string) => [tenancy.owns(ANYONE, address(ip)), tenancy.owns(acme, address(ip))];
  expect(own("192.0.2.1")).toEqual([true, true]);
  expect(own("192.0.2.53")).toEqual([true, false]);
  expect(own("192.0.2.65")).toEqual([true, false]);
  expect(own("203.0.113.1")).toEqual([true, false]);
});
