/** A thousand attacks at once, each with a ban: the lists have them all, and the page only those in sight. */
import { expect, test } from "bun:test";
import { crowdWorld } from "../fixtures/browser/crowd.ts";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";

const CROWD = 1000;
const ROWS_IN_PAGE_MAX = 120;

const dashboard = useBrowser().useWorld(crowdWorld(CROWD, 150));

test("all are in the list, those in sight are in the page, and the last is reached by the keyboard", async () => {
  const { page } = await dashboard.open("/attacks?q=203");
  const list = page.getByRole("region", { name: "Attacks in progress: table" });
  await page.locator(`table[aria-rowcount="${CROWD + 1}"]`).waitFor();
  await page.getByRole("button", { name: "Victim" }).click();
  await list.getByRole("link", { name: "203.0.112.1", exact: true }).waitFor();
  expect(await list.getByRole("row").count()).toBeLessThan(ROWS_IN_PAGE_MAX);
  expect(await list.getByRole("link", { name: "203.0.115.232", exact: true }).count()).toBe(0);
  await list.focus();
  await page.keyboard.press("End");
  await list.getByRole("link", { name: "203.0.115.232", exact: true }).waitFor();
  expect(await list.getByRole("row").count()).toBeLessThan(ROWS_IN_PAGE_MAX);
  expect(await list.locator(`[aria-rowindex="${CROWD + 1}"]`).count()).toBe(1);
}, 120_000);

test("the overview has them as one row, and reads the last minute of none", async () => {
  const { page } = await dashboard.open();
  const read = new Set<string>();
  page.on("request", (request) => {
    if (request.url().endsWith("/series")) read.add(request.url());
  });
  const list = page.getByRole("region", { name: "Incidents in progress: table" });
  await list.getByRole("row", { name: /^UDP flood on global 1\s000 victims in 4 networks/ }).waitFor();
  await page
    .getByRole("link", {
      name: `${CROWD} attacks, ${CROWD} not stopped, worst: Dry run: nothing is announced or dropped`,
    })
    .waitFor();
  expect(await list.getByRole("row").count()).toBe(2);
  await page.getByRole("link", { name: /^All 1\s000 attacks$/ }).waitFor();
  expect(read.size).toBe(0);
});

test("the list of measures has a ban of each, those in sight in the page, and all are selected at once", async () => {
  const { page } = await dashboard.open("/mitigation");
  await page.locator(`table[aria-rowcount="${CROWD + 1}"]`).waitFor();
  const list = page.getByRole("region", { name: "Measures in force: table" });
  await page.getByRole("button", { name: "What" }).click();
  await list.getByRole("link", { name: "203.0.112.1", exact: true }).waitFor();
  expect(await list.getByRole("row").count()).toBeLessThan(ROWS_IN_PAGE_MAX);
  await list.focus();
  await page.keyboard.press("End");
  await list.getByRole("link", { name: "203.0.115.232", exact: true }).waitFor();
  await page.getByLabel("Find").fill("203.0.115.");
  await page.getByText(/^233 of 1\s000$/).waitFor();
  await page.getByRole("button", { name: "Select all found" }).click();
  await page.getByRole("button", { name: "Unban 233 selected" }).click();
  const dialog = page.getByRole("dialog", { name: "Unban 233?" });
  await dialog.locator(`table[aria-rowcount="234"]`).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Unban 233 selected" }).waitFor();
});
