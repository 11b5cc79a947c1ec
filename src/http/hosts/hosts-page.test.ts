import { describe, expect, test } from "bun:test";
import { address, thresholds } from "../../../test/fixtures/host-rows.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { host } from "../../../test/fixtures/views.ts";
import { addressOrder } from "../../net/address.ts";
import type { HostView } from "../backend.ts";
import { HostsPage } from "./hosts-page.ts";
import { HOSTS_PAGE_MAX, hostsPageQuery } from "./hosts-query.ts";

interface Page {
  readonly hosts: { target: string; rates: { pps: number } }[];
  readonly total: number;
  readonly next?: string;
}

async function pageOf(hosts: readonly HostView[], parameters: Record<string, string>): Promise<Page> {
  const query = hostsPageQuery(new URLSearchParams(parameters));
  if (query?.kind !== "page") throw new Error(`not a page: ${query?.detail}`);
  const page = new HostsPage(query, new Set(["global", "web", "dns"]));
  for (const each of hosts) page.see(each);
  return (await page.answer().json()) as Page;
}

/** The targets of all pages, one after the other. */
async function allPages(hosts: readonly HostView[], parameters: Record<string, string>): Promise<string[]> {
  const targets: string[] = [];
  let after: string | undefined;
  for (let pages = 0; pages <= hosts.length; pages++) {
    const page = await pageOf(hosts, { ...parameters, ...(after === undefined ? {} : { after }) });
    targets.push(...page.hosts.map(({ target }) => target));
    after = page.next;
    if (after === undefined) return targets;
  }
  throw new Error("the pages do not end");
}

const few = [
  host({ target: "192.0.2.10", group: "web", rates: thresholds({ pps: 5, mbps: 1 }) }),
  host({ target: "2001:db8::1", group: "web", rates: thresholds({ pps: 7 }) }),
  host({
    target: "192.0.2.9",
    group: "dns",
    attack: { metric: "pps", direction: "incoming" },
    rates: thresholds({ pps: 5, mbps: 3 }),
  }),
  host({ target: "10.0.0.1", group: "foreign", rates: thresholds({ pps: 99 }) }),
];
const targetsOf = async (parameters: Record<string, string>) =>
  (await pageOf(few, parameters)).hosts.map(({ target }) => target);

describe("a page of hosts", () => {
  test("is requested by any of its parameters, and by none else", () => {
    expect(hostsPageQuery(new URLSearchParams("x=1"))).toBeNull();
    for (const text of ["limit=1", "after=192.0.2.1", "q=1", "group=web", "sort=pps"]) {
      expect(hostsPageQuery(new URLSearchParams(text)), text).toMatchObject({ kind: "page" });
    }
  });

  test("is in order of address where nothing is said, and leaves out what the caller may not see", async () => {
    expect(await targetsOf({ limit: "10" })).toEqual(["192.0.2.9", "192.0.2.10", "2001:db8::1"]);
  });

  test.each([
    ["target", ["192.0.2.9", "192.0.2.10", "2001:db8::1"]],
    ["-target", ["2001:db8::1", "192.0.2.10", "192.0.2.9"]],
    ["pps", ["192.0.2.9", "192.0.2.10", "2001:db8::1"]],
    ["-pps", ["2001:db8::1", "192.0.2.9", "192.0.2.10"]],
    ["-mbps", ["192.0.2.9", "192.0.2.10", "2001:db8::1"]],
  ])("sorted by %s: equal rates in order of address", async (sort, targets) => {
    expect(await targetsOf({ sort })).toEqual(targets);
  });

  test.each([
    [{ q: "192.0.2.1" }, ["192.0.2.10"]],
    [{ q: "2.9" }, ["192.0.2.9"]],
    [{ q: "DB8:" }, ["2001:db8::1"]],
    [{ q: "2001:0db8:0:0::1" }, ["2001:db8::1"]],
    [{ q: "192.0.2.8/31" }, ["192.0.2.9"]],
    [{ q: "192.0.2.9/24" }, ["192.0.2.9", "192.0.2.10"]],
    [{ q: "2001:DB8::/32" }, ["2001:db8::1"]],
    [{ q: "10." }, []],
    [{ group: "web" }, ["192.0.2.10", "2001:db8::1"]],
    [{ group: "web", q: "." }, ["192.0.2.10"]],
    [{ group: "foreign" }, []],
    [{ group: "absent" }, []],
    [{ state: "attacked" }, ["192.0.2.9"]],
    [{ state: "calm", group: "web" }, ["192.0.2.10", "2001:db8::1"]],
  ] as [Record<string, string>, string[]][])("%p finds %p", async (parameters, targets) => {
    expect(await targetsOf(parameters)).toEqual(targets);
  });

  test("shows how many match, and where to go on", async () => {
    const first = await pageOf(few, { limit: "2" });
    expect(first).toMatchObject({ total: 3, next: "192.0.2.10" });
    const second = await pageOf(few, { limit: "2", after: first.next ?? "" });
    expect(second.hosts.map(({ target }) => target)).toEqual(["2001:db8::1"]);
    expect(second).toMatchObject({ total: 3 });
    expect(second).not.toHaveProperty("next");
    expect((await pageOf(few, { limit: "2", sort: "-pps" })).next).toBe("5,192.0.2.9");
  });

  test("goes on after a host that is gone, or whose rate has changed", async () => {
    expect(await targetsOf({ after: "192.0.2.9" })).toEqual(["192.0.2.10", "2001:db8::1"]);
    expect(await targetsOf({ after: "192.0.2.5" })).toEqual(["192.0.2.9", "192.0.2.10", "2001:db8::1"]);
    expect(await targetsOf({ sort: "-pps", after: "6,192.0.2.77" })).toEqual(["192.0.2.9", "192.0.2.10"]);
  });

  test("has the bound's number of hosts and says so of the rest", async () => {
    const many = Array.from({ length: HOSTS_PAGE_MAX + 1 }, (_, i) => host({ target: `10.0.${i >> 8}.${i & 255}` }));
    const page = await pageOf(many, { limit: String(HOSTS_PAGE_MAX) });
    expect(page.hosts).toHaveLength(HOSTS_PAGE_MAX);
    expect(page).toMatchObject({ total: HOSTS_PAGE_MAX + 1, next: page.hosts.at(-1)?.target });
  });

  test.each([
    ["limit", "0"],
    ["limit", ""],
    ["limit", "-5"],
    ["limit", "1.5"],
    ["limit", "1001"],
    ["limit", "9".repeat(400)],
    ["sort", ""],
    ["sort", "-"],
    ["sort", "--pps"],
    ["sort", "tcp_pps"],
    ["sort", "PPS"],
    ["after", ""],
    ["after", "192.0.2"],
    ["after", "5,192.0.2.1"],
    ["q", ""],
    ["q", "example.net"],
    ["q", "192.0.2.0/33"],
    ["q", "1".repeat(40)],
    ["q", "192.0.2.\uFFFD"],
    ["group", ""],
    ["tenant", ""],
    ["state", "over"],
  ])("is refused for %s=%p by name", (name, value) => {
    expect(hostsPageQuery(new URLSearchParams({ [name]: value }))).toMatchObject({
      kind: "invalid_query",
      detail: expect.stringContaining(name),
    });
  });

  test.each(["192.0.2.1", "-1,192.0.2.1", "1e3,192.0.2.1", "1.2345,192.0.2.1", "5,", "NaN,192.0.2.1"])(
    "sorted by a rate goes on after a rate and an address, not after %p",
    (after) => {
      expect(hostsPageQuery(new URLSearchParams({ sort: "pps", after }))).toMatchObject({ kind: "invalid_query" });
    },
  );
});

test("pages hold every host once and in order, whatever the sort, the size and the order they come in", async () => {
  const seed = 20_261_123;
  const random = seededRandom(seed);
  const below = (bound: number) => Math.floor(random() * bound);
  for (let round = 0; round < 60; round++) {
    const hosts = Array.from({ length: below(150) }, (_, i) =>
      host({
        target: i % 3 === 0 ? `2001:db8::${below(9)}:${i.toString(16)}` : `10.${below(3)}.${i}.${below(256)}`,
        // Few rates, so that many are equal.
        rates: thresholds({ pps: below(4) / 3, mbps: random() * 1e6 }),
      }),
    );
    const by = (["target", "pps", "mbps"] as const)[below(3)] ?? "target";
    const sign = below(2) === 0 ? 1 : -1;
    const rate = ({ rates }: HostView) => Math.round((rates[by === "pps" ? 0 : 1] ?? 0) * 1000) / 1000;
    const order = ({ target }: HostView) => addressOrder(address(target));
    const byAddress = (a: HostView, b: HostView) => (order(a) < order(b) ? -1 : 1);
    const expected = hosts.toSorted((a, b) =>
      by === "target" ? sign * byAddress(a, b) : sign * (rate(a) - rate(b)) || byAddress(a, b),
    );
    const parameters = { sort: `${sign < 0 ? "-" : ""}${by}`, limit: String(1 + below(40)) };
    const what = `seed ${seed}, round ${round}: ${JSON.stringify(parameters)}`;
    expect(await allPages(hosts, parameters), what).toEqual(expected.map(({ target }) => target));
  }
});
