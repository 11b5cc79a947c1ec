/** The language of the page: chosen, kept in this browser, and of its numbers as well as of its words. */
import { expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";

const dashboard = useBrowser().useWorld();

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
  await page.getByText("Jetzt kein Angriff").waitFor();
  // The token is not kept with it.
  expect(await page.evaluate("Object.keys(localStorage).join()")).toBe("floodwall.language");
  await page.getByLabel("Sprache").selectOption("ru");
  await page.getByRole("heading", { level: 1, name: "Обзор" }).waitFor();
});
