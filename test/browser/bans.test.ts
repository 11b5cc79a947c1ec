/** The bans: what a list shows of each, one in full, and the orders of an operator. */
import { expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, VICTIM, WHITELISTED } from "../fixtures/browser/world.ts";

const FREE = "203.0.113.90";
const span = { fromSeconds: 0, toSeconds: 180 };
const floods = [
  { vector: "dns_amplification", victim: VICTIM, pps: 1500, ...span },
  { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, ...span },
  { vector: "udp_flood", victim: WHITELISTED, pps: 400, ...span },
] as const;
const config = "escalation: [{ after_seconds: 0, action: flowspec }, { after_seconds: 300, action: blackhole }]";
const dashboard = useBrowser().useWorld({ hasBgp: true, capture: { floods, seconds: 180 }, config });

test("the lists show what the routers have, what comes next, and why one was refused", async () => {
  const { page } = await dashboard.open("/bans", SECRETS.viewer);
  const row = page.getByRole("row", { name: new RegExp(`^${VICTIM}`) });
  for (const text of ["announced", "FlowSpec", "detection"]) await row.getByText(text, { exact: true }).waitFor();
  await row.getByText(/^Blackhole in \d+:\d\d$/).waitFor();
  expect(await page.getByRole("button", { name: /ban/i }).count()).toBe(0);
  await page.getByRole("button", { name: "Refused" }).click();
  await page.getByRole("row", { name: new RegExp(`^${WHITELISTED} .*whitelisted`) }).waitFor();
  expect(page.url()).toEndWith("#/bans?which=rejected");
});

test("one of them in full: its attack, its rules, its ladder", async () => {
  const { page } = await dashboard.open("/bans");
  await page.getByRole("link", { name: VICTIM, exact: true }).click();
  await page.getByRole("heading", { name: "Escalation" }).waitFor();
  await page.getByRole("row", { name: /^UDP, fragments.* discard$/ }).waitFor();
  await page.getByRole("link", { name: "DNS amplification in progress" }).click();
  await page.getByRole("heading", { name: "Why it fired" }).waitFor();
  await page.goBack();
  await page.getByRole("link", { name: "All bans" }).click();
  await page.getByRole("heading", { name: "In force" }).waitFor();
  await page.goto(`${dashboard.world.base}/#/bans/203.0.113.1%2F32/2020-01-01T00:00:00.000Z`);
  await page.getByText("is not in the list any more").waitFor();
});

test("a ban by hand: typed, previewed, requested, shown, ended, shown", async () => {
  const opened = await dashboard.open("/bans");
  const { page } = opened;
  await page.getByRole("button", { name: "Ban an address" }).click();
  const dialog = page.getByRole("dialog", { name: "Ban an address" });
  const preview = dialog.getByRole("status");
  await dialog.getByLabel("Address").fill("203.0.113");
  await preview.getByText("An address is").waitFor();
  await dialog.getByLabel("Address").fill(WHITELISTED);
  await preview.getByText("Floodwall would refuse it: whitelisted.").waitFor();
  expect(await opened.violations()).toEqual([]);
  await dialog.getByLabel("Address").fill(FREE);
  await preview.getByText("Blackhole after 5 min").waitFor();
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.getByText(new RegExp(`^${FREE} is banned until`)).waitFor();
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Ban an address");
  const row = page.getByRole("row", { name: new RegExp(`^${FREE}`) });
  for (const text of ["an operator", "announced"]) await row.getByText(text).waitFor();
  await row.getByRole("button", { name: `Unban ${FREE}/32` }).click();
  const unban = page.getByRole("dialog", { name: `Unban ${FREE}/32?` });
  await unban.getByRole("button", { name: "Unban" }).click();
  await page.getByText(`The ban of ${FREE} is lifted.`).waitFor();
  await row.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Ended" }).click();
  await page.getByRole("row", { name: new RegExp(`^${FREE} FlowSpec manual unban an operator`) }).waitFor();
});

test("a tenant has its own, and is refused another's where it asks", async () => {
  const opened = await dashboard.open("/bans", SECRETS.tenantOperator);
  opened.expectFault(/status of 403/);
  const { page } = opened;
  await page.getByRole("row", { name: new RegExp(`^${ACME_VICTIM}`) }).waitFor();
  expect(await page.getByText(VICTIM, { exact: true }).count()).toBe(0);
  await page.getByRole("button", { name: "Ban an address" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Address").fill(FREE);
  await dialog.getByRole("status").getByText("target is outside your tenant").waitFor();
  await dialog.getByRole("button", { name: "Ban", exact: true }).click();
  await dialog.getByRole("alert").getByText("target is outside your tenant").waitFor();
});
