/** The language of the page: chosen, kept in this browser, and of its numbers as well as of its words. */
import { expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { VICTIM } from "../fixtures/browser/world.ts";

const floods = [{ vector: "udp_flood", victim: VICTIM, pps: 900, fromSeconds: 0, toSeconds: 100 }] as const;
const dashboard = useBrowser().useWorld({ capture: { floods, seconds: 100 } });

test("the page speaks the language that was chosen in this browser, the times and numbers too", async () => {
  const { page } = await dashboard.open("/settings");
  await page.getByLabel("Language").selectOption("de");
  await page.getByRole("heading", { level: 1, name: "Einstellungen" }).waitFor();
  expect(await page.evaluate("document.documentElement.lang")).toBe("de");
  await page.getByText("Mindestdauer").waitFor();
  await page
    .getByText(/\d,\d+ [kM](pps|bit\/s)/)
    .first()
    .waitFor();
  await page.reload();
  await page.getByRole("link", { name: "Übersicht" }).click();
  // What belongs together is found in any language.
  await page.getByRole("heading", { name: VICTIM }).waitFor();
  await page
    .getByRole("button", { name: `${VICTIM}/32 entsperren` })
    .first()
    .waitFor();
  await page.getByText("Probebetrieb: Blackhole").waitFor();
  // What the service says as well.
  await page.goto(`${dashboard.world.base}/#/mitigation`);
  await page.getByRole("button", { name: "Adresse sperren" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Adresse").fill("192.0.2.1");
  await dialog.getByText("Floodwall würde es ablehnen: außerhalb der konfigurierten Netze").waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Übersicht" }).click();
  // The token is not kept with it.
  expect(await page.evaluate("Object.keys(localStorage).join()")).toBe("floodwall.language");
  await page.getByLabel("Sprache").selectOption("ru");
  await page.getByRole("heading", { level: 1, name: "Обзор" }).waitFor();
});
