/** The explorer: traffic over time by protocol, hostgroup and host, and all that is chosen in the page's address. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, VICTIM } from "../fixtures/browser/world.ts";
import { eventually } from "../fixtures/service.ts";

setDefaultTimeout(60_000);

const floods = [
  { vector: "udp_flood", victim: VICTIM, pps: 1500, fromSeconds: 0, toSeconds: 120 },
  { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, fromSeconds: 0, toSeconds: 120 },
] as const;
const dashboard = useBrowser().useWorld({
  capture: { floods, seconds: 120 },
  config: "storage: { driver: sqlite, traffic_interval_seconds: 10 }",
});

test("traffic by protocol, of all hosts and of one hostgroup", async () => {
  const { page } = await dashboard.open("/explorer");
  await page
    .getByRole("img", { name: /^Incoming rates by Protocol: UDP at most 1\.\d+ kpps, TCP at most \d+ pps/ })
    .waitFor();
  await page.getByRole("combobox", { name: "Only of the hostgroup" }).fill("nosuch");
  await page.getByRole("button", { name: "Choose", exact: true }).click();
  await page.getByText("There is no such hostgroup.").waitFor();
  await page.getByRole("combobox", { name: "Only of the hostgroup" }).fill("acme-web");
  await page.getByRole("button", { name: "Choose", exact: true }).click();
  await page.getByRole("img", { name: /UDP at most 0 pps, TCP at most [1-9]\d* pps/ }).waitFor();
  await page.getByRole("button", { name: "Remove the hostgroup acme-web" }).click();
  await page.getByRole("img", { name: /UDP at most 1\.\d+ kpps/ }).waitFor();
});

test("the busiest hosts side by side, in numbers, beside the day before; the address of the page shows the same", async () => {
  const { page } = await dashboard.open("/explorer");
  await page.getByRole("button", { name: "Host", exact: true }).click();
  await page.getByRole("button", { name: `Remove the host ${VICTIM}` }).waitFor();
  const chosen = page.getByRole("button", { name: /^Remove the host / });
  while ((await chosen.count()) > 0) await chosen.first().click();
  await page.getByText("Nothing is chosen").waitFor();
  await page.getByRole("button", { name: "The busiest" }).click();
  await page.getByRole("button", { name: "Peaks, lines" }).click();
  await page.getByRole("combobox", { name: "Compare with" }).selectOption("day");
  const name = new RegExp(
    `^Incoming rates by Host: ${VICTIM} at most 1\\.\\d+ kpps, .*The day before, in all: nothing recorded; `,
  );
  await page.getByRole("img", { name }).waitFor();
  await page
    .getByRole("row", { name: new RegExp(`^${VICTIM} 1\\.\\d+ kpps`) })
    .getByRole("link", { name: VICTIM })
    .waitFor();
  const { page: other } = await dashboard.open(new URL(page.url()).hash.slice(1));
  await other.getByRole("img", { name }).waitFor();
});

test("where the traffic comes from, and why nothing is known of that", async () => {
  const { page } = await dashboard.open("/explorer?from_by=interface");
  await page.getByText("Interfaces are known of traffic that exporters of flow telemetry sample.").waitFor();
  await page.getByRole("group", { name: "Split by" }).getByRole("button", { name: "Prefix" }).click();
  await page
    .getByRole("row", { name: /^[\d.]+\/24 .* % .*bit\/s/ })
    .first()
    .waitFor();
});

test("a hostgroup's line and its sum, and no more lines than can be distinguished", async () => {
  const { page } = await dashboard.open("/explorer?by=hostgroup&only=global,acme-web");
  await page
    .getByRole("img", {
      name: /^Incoming rates by Hostgroup: global at most 1\.\d+ kpps, acme-web at most \d+ pps; 1 time span of attacks tinted$/,
    })
    .waitFor();
  const hosts = Array.from({ length: 9 }, (_, i) => `203.0.113.${i + 1}`);
  const { page: full } = await dashboard.open(`/explorer?by=host&only=${hosts.join(",")}`);
  await full.getByRole("combobox", { name: "Address" }).fill("203.0.113.77");
  await full.getByRole("button", { name: "Add" }).click();
  await full.getByText("At most 8: remove one first.").waitFor();
  await eventually(
    async () => (await full.getByRole("button", { name: /^Remove the host/ }).count()) === 8,
    "not eight",
  );
  expect(await full.getByText("203.0.113.9", { exact: true }).count()).toBe(0);
});

test("a part of the traffic over time, beside the rest of the whole; a filter keeps the sum", async () => {
  const opened = await dashboard.open("/explorer?from_by=prefix");
  const { page } = opened;
  const rows = page.getByRole("region", { name: "The largest parts: table" }).getByRole("row");
  const first = rows.filter({ hasText: /\/24/ }).first();
  await first.waitFor();
  const prefix = /[\d.]+\/24/.exec((await first.textContent()) ?? "")?.[0] ?? "none";
  await page.getByRole("button", { name: `Over time: ${prefix}` }).click();
  const name = new RegExp(`^Incoming rates by Prefix: ${prefix} at most .*, Others, or not known at most .*pps; `);
  await page.getByRole("img", { name }).waitFor();
  expect(await opened.violations()).toEqual([]);
  await first.hover();
  await page
    .getByRole("region", { name: "The largest parts: table" })
    .getByRole("button", { name: `Without Source prefix: ${prefix}` })
    .click();
  await page.getByRole("row", { name: /^left out by the filter / }).waitFor();
  await page.getByText("Nothing is chosen").waitFor();
  await page.goBack();
  await page.getByRole("img", { name }).waitFor();
});

test("attacks of the range by source port, by kind and as flows to hostgroups; a value filters all panels", async () => {
  const opened = await dashboard.open("/explorer?attacks_by=prefix");
  const { page } = opened;
  await page.getByRole("img", { name: /^From origins to hostgroups: .* to (global|acme-web) [\d.]+ %/ }).waitFor();
  await page.getByText(/^2 attacks$/).waitFor();
  expect(await opened.violations()).toEqual([]);
  await page.getByRole("combobox", { name: "Split attacks by" }).selectOption("kind");
  const table = page.getByRole("region", { name: "Attack traffic: table" });
  await table.getByRole("row", { name: /SYN flood/ }).hover();
  await table.getByRole("button", { name: "Only Kind: SYN flood" }).click();
  await page.getByText(/^1 attack$/).waitFor();
  await page.getByText("Kind = SYN flood only filters the attacks here").waitFor();
  // The way back leads to all of them, and forth again to the one.
  await page.goBack();
  await page.getByText(/^2 attacks$/).waitFor();
  await page.goForward();
  await page.getByText(/^1 attack$/).waitFor();
});

test("a view is saved in this browser, found again after a reload, and removed", async () => {
  const { page } = await dashboard.open("/explorer?by=hostgroup&only=acme-web&range=6h");
  await page.getByText("Saved views (0)").click();
  await page.getByLabel("Name").fill("acme, six hours");
  await page.getByRole("button", { name: "Save this view" }).click();
  await page.getByText("Saved views (1)").waitFor();
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Explorer" }).click();
  await page.waitForURL(/#\/explorer$/);
  await page.reload();
  await page.getByText("Saved views (1)").click();
  await page.getByRole("link", { name: "acme, six hours" }).click();
  await page.getByRole("button", { name: "Remove the hostgroup acme-web" }).waitFor();
  await page.waitForURL(/range=6h/);
  await page.getByRole("button", { name: "Remove the view acme, six hours" }).click();
  await page.getByText("Saved views (0)").waitFor();
  expect(await page.evaluate("localStorage.length")).toBe(0);
});
