/**
 * Every view there is, with attacks going on, light and dark, wide and narrow: no fault, no violation, nothing cut off.
 * With SCREENSHOTS it leaves pictures of them in build/screenshots, for people to look at: `make screenshots`.
 */
import { beforeAll, expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import type { Page } from "playwright-core";
import { DESKTOP, PHONE } from "../fixtures/browser/browser.ts";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { PICTURES, picture } from "../fixtures/browser/pictures.ts";
import { placesOf } from "../fixtures/browser/places.ts";
import { rawWords } from "../fixtures/browser/raw-words.ts";
import { ACME_VICTIM, SECRETS, VICTIM, WHITELISTED } from "../fixtures/browser/world.ts";

/** Longer than all of it takes on a busy machine. */
const SECONDS = 420;
/** For charts to have something to show. */
const HISTORY_MS = PICTURES === null ? 0 : 25_000;
/** Pictures of the documents, of what is seen without scrolling: kept in dashboard/pictures. */
const DOCUMENTS = ["overview-light", "attack-dark"];

const floods = [
  { vector: "dns_amplification", victim: VICTIM, pps: 450, fromSeconds: 0, toSeconds: SECONDS },
  { vector: "syn_flood", victim: ACME_VICTIM, pps: 400, fromSeconds: 0, toSeconds: SECONDS },
  { vector: "udp_flood", victim: WHITELISTED, pps: 400, fromSeconds: 0, toSeconds: SECONDS },
  { vector: "icmp_flood", victim: "203.0.113.210", pps: 900, fromSeconds: 0, toSeconds: 4 },
] as const;
const config = `
escalation: [{ after_seconds: 0, action: flowspec }, { after_seconds: 300, action: blackhole }]
storage: { driver: sqlite, traffic_interval_seconds: 1 }
`;
const dashboard = useBrowser().useFleet({ hasBgp: true, capture: { floods, seconds: SECONDS }, config });

beforeAll(
  async () => {
    if (PICTURES === null) return;
    rmSync(PICTURES, { recursive: true, force: true });
    mkdirSync(PICTURES, { recursive: true });
    await Bun.sleep(HISTORY_MS);
  },
  2 * HISTORY_MS + 1000,
);

async function pictures(page: Page, name: string): Promise<void> {
  await picture(page, name);
  if (DOCUMENTS.includes(name)) await picture(page, `documents-${name.replace(/-.*/, "")}`, "screen");
}

test.each([
  ["on a screen, in English", DESKTOP, ["light", "dark"]],
  ["on a phone, in German, which has longer words", PHONE, ["phone", "dark-phone"]],
] as const)(
  "%s, light and dark",
  async (_, viewport, [light, dark]) => {
    const { world } = dashboard;
    const opened = await dashboard.open("/", SECRETS.operator, { viewport });
    const { page } = opened;
    await page.getByRole("heading", { name: VICTIM }).waitFor();
    const places = await placesOf(page, world, SECRETS.operator);
    const isGerman = viewport === PHONE;
    if (isGerman) {
      await page.getByLabel("Language").selectOption("de");
      await page.getByRole("heading", { level: 1, name: "Übersicht" }).waitFor();
    }
    const found: string[] = [];
    for (const { name, place } of places) {
      await page.emulateMedia({ colorScheme: "light" });
      await page.goto(`${world.base}/#${place}`);
      await page.locator(".loading").first().waitFor({ state: "detached" });
      await pictures(page, `${name}-${light}`);
      const faults = [...(await opened.violations()), ...(await rawWords(page, isGerman))];
      const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      if (overflow > 0) faults.push(`${overflow} pixels wider than the screen`);
      // Colors are all that differs in the dark, and those are the same at any width.
      await page.emulateMedia({ colorScheme: "dark" });
      await pictures(page, `${name}-${dark}`);
      if (viewport === DESKTOP) {
        faults.push(...(await opened.violations("colors")).map((violation) => `dark: ${violation}`));
      }
      found.push(...faults.map((fault) => `${name}: ${fault}`));
    }
    expect(found).toEqual([]);
  },
  180_000,
);

test("a user who is not signed in must sign in", async () => {
  const opened = await dashboard.open("/", null);
  opened.expectFault(/status of 401/);
  await opened.page.getByLabel("Token").waitFor();
  await picture(opened.page, "sign-in-light");
});
