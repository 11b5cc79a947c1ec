/** A link for people without a token, from the page that makes it to the one that it shows, and its end. */
import { expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { VICTIM } from "../fixtures/browser/world.ts";

const floods = [{ vector: "udp_flood", victim: VICTIM, pps: 900, fromSeconds: 0, toSeconds: 100 }] as const;
const dashboard = useBrowser().useWorld({ capture: { floods, seconds: 100 } });

test("a link is made on the page of an attack, shows it without a token, and is ended in the settings", async () => {
  const { page } = await dashboard.open("/attacks");
  await page.getByRole("link", { name: VICTIM }).click();
  await page.getByRole("button", { name: "Share a link" }).click();
  await page.getByRole("button", { name: "Make link" }).click();
  const link = await page.getByLabel("The link").getByRole("textbox").inputValue();
  await page.getByRole("button", { name: "Close" }).click();
  const guest = await dashboard.open(link.slice(link.indexOf("#") + 1), null);
  await guest.page.getByRole("heading", { name: `Attack on ${VICTIM}` }).waitFor();
  await guest.page.getByRole("heading", { name: "What was done" }).waitFor();
  expect(await guest.page.evaluate("localStorage.length + sessionStorage.length")).toBe(0);
  guest.expectFault(/status of 401/);
  await page.goto(`${dashboard.world.base}/#/settings`);
  await page.getByRole("button", { name: /^End the link of attack/ }).click();
  await page.getByRole("button", { name: "End", exact: true }).click();
  await page.getByText("The link has ended.").waitFor();
  await guest.page.getByText("The link shows nothing").waitFor();
});
