/** Each view whose lists the service refuses: what it says, and that it has them when they are to be had again. */
import { expect, test } from "bun:test";
import type { Page, Route } from "playwright-core";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { eventually } from "../fixtures/service.ts";

const PLACES = ["/", "/attacks", "/mitigation", "/hosts", "/scrub", "/edge", "/audit", "/settings"];
/** A view says who is signed in whatever else it knows. */
const ALWAYS_ANSWERED = /\/api\/v1\/(session|events)\b/;
const REFUSALS = [
  [429, "Too much at once. Try again in a moment."],
  [502, "The history is away. The database does not answer: see Floodwall's log."],
  [503, "Not ready. If this lasts, see Floodwall's log."],
] as const;

const dashboard = useBrowser().useWorld();

test("says why, in the service's words and what to do, and reads again", async () => {
  const opened = await dashboard.open("/about-to-start");
  opened.expectFault(/status of (429|502|503)/);
  const { page } = opened;
  for (const [i, place] of PLACES.entries()) {
    const [status, said] = REFUSALS[i % REFUSALS.length] as (typeof REFUSALS)[number];
    const error = said.slice(0, said.indexOf("."));
    const refuse = (route: Route) => {
      if (ALWAYS_ANSWERED.test(route.request().url())) return route.continue();
      return route.fulfill({ status, json: { error } });
    };
    await page.route("**/api/v1/**", refuse);
    await page.goto(`${dashboard.world.base}/#${place}`);
    await page.reload();
    await page.getByRole("main").getByText(said).first().waitFor();
    if (i < REFUSALS.length) expect(await opened.violations()).toEqual([]);
    await page.unroute("**/api/v1/**", refuse);
    await eventually(
      () => isReadAgain(page, said),
      () => `${place} still says: ${said}`,
      30_000,
      100,
    );
  }
}, 120_000);

/** Most views ask again by themselves, and a button may be gone before it is clicked. */
async function isReadAgain(page: Page, said: string): Promise<boolean> {
  const again = page.getByRole("main").getByRole("button", { name: "Try again" }).first();
  if ((await again.count()) > 0) await again.click({ timeout: 1000 }).catch(() => {});
  return (await page.getByRole("main").getByText(said).count()) === 0;
}
