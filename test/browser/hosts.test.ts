/** Hosts: found, sorted and paged; one host with its past and what can be done about it. */
import { expect, setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, VICTIM } from "../fixtures/browser/world.ts";
import { eventually } from "../fixtures/service.ts";

setDefaultTimeout(60_000);

const span = { fromSeconds: 0, toSeconds: 240 };
const floods = [
  { vector: "dns_amplification", victim: VICTIM, pps: 1500, ...span },
  { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, ...span },
] as const;
/** Its users' hosts are 203.0.113.100 to .169. */
const dashboard = useBrowser().useWorld({ capture: { floods, seconds: 240, hosts: 70 } });

function addresses(page: Page): Promise<string[]> {
  return page.getByRole("table").getByRole("rowheader").allTextContents();
}

test("the busiest are first; they are paged by the service, to the end and back, in any order", async () => {
  const { page } = await dashboard.open("/hosts");
  await page.getByRole("row", { name: new RegExp(`^${VICTIM} attacked: packets banned`) }).waitFor();
  await page.getByText(/^1 to 50 of 72$/).waitFor();
  expect((await addresses(page)).slice(0, 2)).toEqual([VICTIM, ACME_VICTIM]);
  await page.getByRole("button", { name: "Address" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("columnheader", { name: "Address", exact: false }).getByText("↑").waitFor();
  await page.getByRole("rowheader", { name: ACME_VICTIM, exact: true }).waitFor();
  // What was pressed is still there to be pressed again.
  expect(await page.evaluate("document.activeElement.textContent")).toContain("Address");
  await eventually(async () => (await addresses(page))[0] === ACME_VICTIM, "the lowest address is not first");
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByText(/^51 to 72 of 72$/).waitFor();
  expect((await addresses(page)).at(-1)).toBe(VICTIM);
  expect(await page.getByRole("button", { name: "Next" }).isDisabled()).toBe(true);
  await page.getByRole("button", { name: "Previous" }).click();
  await page.getByText(/^1 to 50 of 72$/).waitFor();
});

test("they are found by a part of the address, a prefix, a hostgroup; the page's address keeps it", async () => {
  const { page } = await dashboard.open("/hosts");
  const field = page.getByLabel("Address");
  await field.fill("113.10");
  await page.getByText(/^1 to 10 of 10$/).waitFor();
  await field.fill("203.0.113.0/26");
  await page.getByText(/^1 to 1 of 1$/).waitFor();
  await page.reload();
  await page.getByText(/^1 to 1 of 1$/).waitFor();
  expect(await addresses(page)).toEqual([ACME_VICTIM]);
  await field.fill("nonsense!");
  await page.getByRole("alert").getByText("Part of an address").waitFor();
  await page.getByText("No hosts: the filter is not complete").waitFor();
  expect(await addresses(page)).toEqual([]);
  await field.fill("");
  await page.getByLabel("Hostgroup").selectOption("acme-web");
  await page.getByText(/^1 to 1 of 1$/).waitFor();
  await field.fill("203.0.113.99");
  await page.getByText("No host matches").waitFor();
  await page.getByRole("link", { name: "look at the history of 203.0.113.99" }).click();
  await page.getByText("No traffic now").waitFor();
});

test("one of them has its rates beside its thresholds, its history, its attack and its ban", async () => {
  const { page } = await dashboard.open(`/hosts/${VICTIM}`);
  await page.getByText("the threshold of 300 pps").waitFor();
  await page.getByText("Hostgroup global · when attacked: Blackhole").waitFor();
  await page.getByRole("img", { name: new RegExp(`^Incoming rate of ${VICTIM} .*tinted$`) }).waitFor();
  await page.getByText("Threshold 300 pps").waitFor();
  await page.getByRole("button", { name: "Bits" }).click();
  await page.getByText("Threshold 50.0 Mbit/s").waitFor();
  const bans = page.getByRole("region", { name: "Bans of this host" });
  await bans.getByRole("row", { name: /dry run/ }).waitFor();
  await bans.getByRole("button", { name: `Unban ${VICTIM}/32` }).waitFor();
  await page.getByRole("link", { name: "DNS amplification" }).click();
  await page.getByRole("heading", { level: 1, name: "Attacks" }).waitFor();
});

test("a tenant has its own, and another's is shown as such, not as one to which nothing happens", async () => {
  const opened = await dashboard.open("/hosts", SECRETS.tenantOperator);
  const { page } = opened;
  await page.getByText(/^1 to 1 of 1$/).waitFor();
  expect(await addresses(page)).toEqual([ACME_VICTIM]);
  opened.expectFault(/status of 403/);
  await page.goto(`${dashboard.world.base}/#/hosts/${VICTIM}`);
  await page.getByText(`${VICTIM} is not yours`).waitFor();
  for (const text of ["No traffic now", "Not banned", "No attack"]) expect(await page.getByText(text).count()).toBe(0);
  expect(await page.getByRole("button", { name: /^Ban/ }).count()).toBe(0);
});
