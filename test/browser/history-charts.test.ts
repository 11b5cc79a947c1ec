/** Charts of the history: a flood shorter than a step is in them, and the range is drawn as long as it is. */
import { setDefaultTimeout, test } from "bun:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { VICTIM } from "../fixtures/browser/world.ts";
import { eventually } from "../fixtures/service.ts";

setDefaultTimeout(60_000);

const PPS = 1500;
/** An interval of the history, and the next look of the page. */
const RECORDED_WITHIN_MS = 30_000;
const floods = [{ vector: "udp_flood", victim: VICTIM, pps: PPS, fromSeconds: 3, toSeconds: 6 }] as const;
const dashboard = useBrowser().useWorld({
  capture: { floods, seconds: 120 },
  config: "storage: { driver: sqlite, traffic_interval_seconds: 10 }",
});

/** The highest value in a chart's label, kpps. */
async function peakOf(page: Page, name: RegExp): Promise<number> {
  const label = await page.getByRole("img", { name }).getAttribute("aria-label");
  return Number(/at most ([\d.]+) kpps/.exec(label ?? "")?.[1]);
}

test("a flood of three seconds has its peak in the host's history, at every range", async () => {
  const { page } = await dashboard.open(`/hosts/${VICTIM}`);
  const name = new RegExp(`^Incoming rate of ${VICTIM}`);
  for (const range of ["1 h", "7 d"]) {
    await page.getByRole("button", { name: range, exact: true }).click();
    await eventually(
      async () => Math.abs((await peakOf(page, name)) / (PPS / 1000) - 1) < 0.05,
      "the peak is not there",
      RECORDED_WITHIN_MS,
    );
  }
  for (const text of ["Mean", "Highest", "Hatched: nothing recorded"]) await page.getByText(text).waitFor();
});

test("the overview has the last hour's total at once, and says what is now and what was highest", async () => {
  const { page } = await dashboard.open();
  await page.getByRole("heading", { name: /^Incoming: .* now$/ }).waitFor();
  const name = /^Incoming: .* now; by protocol, the last hour, at most/;
  await eventually(
    async () => (await peakOf(page, name)) >= (PPS / 1000) * 0.95,
    "the flood is not in the total",
    RECORDED_WITHIN_MS,
  );
  for (const text of ["UDP", "Highest", "Hatched: nothing recorded"]) await page.getByText(text).first().waitFor();
});
