/** Views that have nothing to show: what would be there, and what to do for it. */
import { expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { SHOP, ZONES } from "../fixtures/browser/fleet.ts";
import { SECRETS, VICTIM } from "../fixtures/browser/world.ts";

const browser = useBrowser();

test("of a service with nothing to watch, nothing to announce and no nodes", async () => {
  await browser.inWorld({}, async (dashboard) => {
    const opened = await dashboard.open("/", SECRETS.viewer);
    const { page } = opened;
    for (const [place, ...texts] of [
      ["/", "No attack now", "No ban in force", "No announcer", "Nothing is captured"],
      ["/mitigation", "Nothing is in force"],
      ["/mitigation?kind=ban", "No ban in force"],
      ["/mitigation?which=rejected", "No ban was refused"],
      ["/mitigation?which=withdrawn", "No ban has ended yet"],
      ["/hosts", "Nothing is captured"],
      [`/hosts/${VICTIM}`, "No traffic now", "No attack", "Not banned"],
      ["/hosts/absent", "absent is not an address"],
      ["/mitigation?kind=block", "This machine drops nothing: it has no data plane", "dataplane.interfaces"],
      ["/scrub", "No scrub node", "scrubbing.nodes"],
      ["/edge", "No zone"],
      ["/edge/nodes", "No edge node"],
      ["/edge/events", "Nothing has changed"],
      ["/telemetry", "No flow telemetry", "floodwall telemetry"],
      ["/nowhere/at/all", "This page has no such view, or your token does not show it."],
    ] as const) {
      await page.goto(`${dashboard.world.base}/#${place}`);
      for (const text of texts) await page.getByText(text, { exact: true }).first().waitFor();
      expect(await opened.violations()).toEqual([]);
    }
    await page.getByRole("link", { name: "Go to the overview" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    const tenant = await dashboard.open("/edge", SECRETS.tenantOperator);
    await tenant.page.getByText("No zone of your tenant").waitFor();
  });
}, 60_000);

test("of a service whose storage is off", async () => {
  const floods = [{ vector: "udp_flood", victim: VICTIM, pps: 1500, fromSeconds: 0, toSeconds: 60 }] as const;
  const config = "storage: { driver: none }";
  await browser.inWorld({ capture: { floods, seconds: 60 }, config, zones: ZONES }, async (dashboard) => {
    const { page } = await dashboard.open("/attacks", SECRETS.viewer);
    await page.getByRole("link", { name: VICTIM }).click();
    await page.getByRole("img", { name: new RegExp(`^Rate of ${VICTIM} over time`) }).waitFor();
    await page.goto(`${dashboard.world.base}/#/hosts/${VICTIM}`);
    await page.getByText("No history: storage is off").waitFor();
    await page.goto(`${dashboard.world.base}/#/edge/zones/${SHOP}`);
    for (const what of ["history", "sources", "events"]) await page.getByText(`No ${what}: storage is off`).waitFor();
    await page.goto(`${dashboard.world.base}/#/audit`);
    await page.getByText("No audit trail: storage is off").waitFor();
    expect(await page.getByRole("button", { name: "Export as CSV" }).count()).toBe(0);
  });
}, 60_000);
