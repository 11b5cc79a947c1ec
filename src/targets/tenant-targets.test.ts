import { expect, test } from "bun:test";
import { attackEvent, NO_TARGETS, orderEvent, targets } from "../../test/fixtures/notify/notify.ts";
import { Routing } from "../notify/routing.ts";
import { forgettingTable } from "../system/record-table.ts";
import type { TenantTargetRules } from "./tenant-target.ts";
import { type TargetOrder, TENANT_TARGETS_PER_TENANT, TenantTargets } from "./tenant-targets.ts";

const RULES: TenantTargetRules = {
  kinds: new Set(["webhook", "pagerduty"]),
  places: { hosts: ["*.acme.example"], privateNetworks: [] },
  placesOf: new Map([["beta", { hosts: ["hooks.beta.example"], privateNetworks: [] }]]),
  nat64: [],
};

function order(changes: Partial<TargetOrder> = {}): TargetOrder {
  const by = { tenant: "acme", name: "hook", operator: "noc", setAt: 0 };
  return { ...by, kind: "webhook", url: "https://hooks.acme.example/1", ...changes };
}

function setup(rules: TenantTargetRules | null = RULES) {
  const present = { rules, changes: 0 };
  const own = new TenantTargets({
    ...{ store: forgettingTable(), stored: [], rules: () => present.rules },
    onChange: () => present.changes++,
  });
  const refusal = async (changes: Partial<TargetOrder>) => {
    const answer = await own.set(order(changes));
    return answer.kind === "refused" ? answer.refusal : null;
  };
  return { own, present, refusal };
}

test("a target is set, replaced under its name and removed", async () => {
  const { own, present } = setup();
  await own.set(order());
  await own.set(order({ url: "https://hooks.acme.example/2" }));
  expect(own.inForce().map(({ id, url }) => [id, url])).toEqual([["acme/hook", "https://hooks.acme.example/2"]]);
  expect([await own.remove("acme/hook"), await own.remove("acme/hook")]).toEqual([{ isSaved: true }, null]);
  expect([own.inForce(), present.changes]).toEqual([[], 3]);
});

test("kinds and hosts are those of the configuration, also of targets that were set before", async () => {
  const { own, present, refusal } = setup();
  expect(await refusal({ kind: "slack" })).toBe("kind_not_allowed");
  expect(await refusal({ url: "https://acme.example.evil.example/" })).toBe("host_not_allowed");
  expect(await refusal({ url: "https://127.0.0.1/" })).toBe("host_not_allowed");
  expect(await refusal({ url: "https://user@hooks.acme.example.evil.example" })).toBe("host_not_allowed");
  const { url: _, ...withoutUrl } = order({ kind: "pagerduty", name: "pager", secret: "key" });
  expect((await own.set(withoutUrl)).kind).toBe("done");
  await own.set(order());
  present.rules = { ...RULES, places: { hosts: [], privateNetworks: [] } };
  expect(own.inForce().map(({ name }) => name)).toEqual(["pager"]);
  present.rules = null;
  expect(own.inForce()).toEqual([]);
  expect(await refusal({})).toBe("kind_not_allowed");
  present.rules = RULES;
  expect(own.inForce()).toHaveLength(2);
});

test("a host that is allowed to one tenant is to no other", async () => {
  const { refusal } = setup();
  const url = "https://hooks.beta.example/1";
  expect(await refusal({ url })).toBe("host_not_allowed");
  expect(await refusal({ url, tenant: "beta" })).toBeNull();
  expect(await refusal({ url: "https://hooks.acme.example/2", tenant: "beta" })).toBeNull();
});

test("each tenant has as many as each other, and one of all of them is replaced, not added", async () => {
  const { refusal } = setup();
  for (let i = 0; i < TENANT_TARGETS_PER_TENANT; i++) expect(await refusal({ name: `hook${i}` })).toBe(null);
  expect(await refusal({ name: "more" })).toBe("too_many_of_tenant");
  expect(await refusal({ name: "hook0" })).toBe(null);
  expect(await refusal({ tenant: "other" })).toBe(null);
});

test("what another build set, and this one does not know, is without effect", () => {
  const stored = [{ id: "acme/x", ...order(), kind: "carrier_pigeon" }];
  const own = new TenantTargets({ store: forgettingTable(), stored, rules: () => RULES, onChange: () => {} });
  expect([own.inForce(), own.all()]).toEqual([[], stored]);
});

test("a tenant gets what is of it, by its own filter, and the configured targets what they get without it", async () => {
  const { own } = setup();
  await own.set(order());
  await own.set(order({ name: "pager", kind: "pagerduty", secret: "k", severity: "critical" }));
  await own.set(order({ tenant: "other", events: ["order_made"] }));
  const config = targets({ kind: "slack", urlEnv: "S" });
  const router = new Routing(config);
  router.reconfigure(config, own.inForce());
  const acme = { tenant: "acme", group: "web" };
  expect(router.targetsOf(attackEvent(acme))).toEqual(["slack", "acme/hook", "acme/pager"]);
  expect(router.targetsOf(attackEvent({ ...acme, kind: "attack_ended" }))).toEqual([
    "slack",
    "acme/hook",
    "acme/pager",
  ]);
  expect(router.targetsOf(attackEvent())).toEqual(["slack"]);
  expect(router.targetsOf({ ...orderEvent(), tenant: "acme" })).toEqual([]);
  expect(router.targetsOf({ ...orderEvent(), tenant: "other" })).toEqual(["other/hook"]);
  const alone = new Routing(NO_TARGETS);
  alone.reconfigure({ ...NO_TARGETS, routes: [] }, own.inForce());
  expect(alone.targetsOf(attackEvent(acme))).toEqual(["acme/hook", "acme/pager"]);
  // The end of what an earlier process notified closes the tenant's alert, and no other tenant's.
  expect(alone.targetsOf(attackEvent({ kind: "attack_ended", ...acme }))).toContain("acme/pager");
  expect(alone.targetsOf(attackEvent({ kind: "attack_ended", tenant: "other" }))).toEqual([]);
});

test("an attack that a reload gives to another tenant ends for the first without a word of the other", async () => {
  const { own } = setup();
  await own.set(order({ name: "pager", kind: "pagerduty", secret: "k" }));
  await own.set(order({ tenant: "beta" }));
  const [acme, beta] = [
    { tenant: "acme", group: "web" },
    { tenant: "beta", group: "web" },
  ];
  for (const kind of ["attack_changed", "attack_ended"] as const) {
    const router = new Routing(NO_TARGETS);
    router.reconfigure(NO_TARGETS, own.inForce());
    expect(router.leave(attackEvent(acme))).toBeNull();
    expect(router.targetsOf(attackEvent(acme))).toEqual(["acme/pager"]);
    const next = attackEvent({ ...beta, kind });
    const problem = { type: "attack", id: "a1" } as const;
    expect(router.leave(next)).toEqual({ problem, targets: ["acme/pager"], tenant: "acme" });
    // It got no message of the begin, and so none of the end.
    expect(router.targetsOf(next)).toEqual(kind === "attack_ended" ? [] : ["beta/hook"]);
    expect(router.leave(next)).toBeNull();
  }
});

test("of 8192 targets those of one tenant are found without a look at the others", async () => {
  const many = Array.from({ length: 8192 }, (_, i) => {
    const target = { id: `t${i}/hook`, ...order({ tenant: `t${i}` }) };
    const reads = { count: 0 };
    return { reads, target: Object.defineProperty(target, "severity", { get: () => void reads.count++ }) };
  });
  const router = new Routing(NO_TARGETS);
  router.reconfigure(
    NO_TARGETS,
    many.map(({ target }) => target),
  );
  expect(router.targetsOf(attackEvent({ tenant: "t7", group: "web" }))).toEqual(["t7/hook"]);
  expect(many.filter(({ reads }) => reads.count > 0).map(({ target }) => target.tenant)).toEqual(["t7"]);
});

test("the rules are applied to each target once, until a reload replaces them", async () => {
  const looks = { count: 0 };
  const rules = (): TenantTargetRules => ({
    ...RULES,
    get places() {
      looks.count++;
      return RULES.places;
    },
  });
  const { own, present } = setup(rules());
  for (let i = 0; i < 7; i++) await own.set(order({ name: `hook${i}` }));
  own.inForce();
  looks.count = 0;
  for (let i = 0; i < 10; i++) expect(own.inForce()).toHaveLength(7);
  expect(looks.count).toBe(0);
  await own.set(order({ name: "hook7" }));
  await own.remove("acme/hook0");
  const names = ["hook1", "hook2", "hook3", "hook4", "hook5", "hook6", "hook7"];
  expect([own.inForce().map(({ name }) => name), looks.count < 7]).toEqual([names, true]);
  present.rules = rules();
  expect([own.inForce().length, looks.count >= 7]).toEqual([7, true]);
});
