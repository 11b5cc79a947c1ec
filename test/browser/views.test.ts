/** Every view there is, with attacks going on, light and dark, wide and narrow: no fault, no violation, nothing cut off. */
import { expect, test } from "bun:test";
import { DESKTOP, PHONE } from "../fixtures/browser/browser.ts";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { placesOf } from "../fixtures/browser/places.ts";
import { ACME_VICTIM, SECRETS, VICTIM } from "../fixtures/browser/world.ts";

/** Longer than all of it takes on a busy machine. */
const SECONDS = 420;

const floods = [
  { vector: "dns_amplification", victim: VICTIM, pps: 450, fromSeconds: 0, toSeconds: SECONDS },
  { vector: "syn_flood", victim: ACME_VICTIM, pps: 400, fromSeconds: 0, toSeconds: SECONDS },
] as const;
const dashboard = useBrowser().useFleet({ capture: { floods, seconds: SECONDS } });

test.each([
  ["light", DESKTOP],
  ["dark", DESKTOP],
  ["light", PHONE],
  ["dark", PHONE],
] as const)(
  "%s, %p",
  async (colorScheme, viewport) => {
    const { world } = dashboard;
    const opened = await dashboard.open("/", SECRETS.operator, { colorScheme, viewport });
    const { page } = opened;
    await page.getByRole("heading", { name: VICTIM }).waitFor();
    const found: string[] = [];
    for (const { name, place } of await placesOf(page, world, SECRETS.operator)) {
      await page.goto(`${world.base}/#${place}`);
      await page
        .getByText(/^Reading /)
        .first()
        .waitFor({ state: "detached" });
      found.push(...(await opened.violations()).map((violation) => `${name}: ${violation}`));
      const overflow = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      if (overflow > 0) found.push(`${name}: ${overflow} pixels wider than the screen`);
    }
    expect(found).toEqual([]);
  },
  180_000,
);
