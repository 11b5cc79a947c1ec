/** What the page still says of a service that does not answer any more. */
import type { Page } from "playwright-core";
import { eventually } from "../../fixtures/service.ts";
import type { Stage } from "../demo/stage.ts";
import { THRESHOLD_PPS, type World } from "../world.ts";

const EVERY_MS = 50;
/** Nothing green may be older than this. */
const STALE_MAX_MS = 2000;
const SILENT_MS = 6000;

/** Amid a flood, so that the page has much that is green. A frozen service goes on in the end. */
export async function showSilence(stage: Stage, world: World, page: Page, how: "frozen" | "killed"): Promise<void> {
  const target = how === "frozen" ? "203.0.113.70" : "203.0.113.71";
  const flood = { profile: "udp", target, sources: 100, pps: 2 * THRESHOLD_PPS, seconds: 8 } as const;
  const sending = world.send(flood);
  await eventually(async () => (await greensOf(page)).length > 1, "nothing is green", 10_000, EVERY_MS);
  await eventually(async () => /attack: Route at/.test(await situationOf(page)), "no route is shown", 10_000, EVERY_MS);
  world.service.signal(how === "frozen" ? "SIGSTOP" : "SIGKILL");
  const beganMs = performance.now();
  let greenMs = 0;
  let last: readonly string[] = [];
  while (performance.now() - beganMs < SILENT_MS) {
    const greens = await greensOf(page);
    if (greens.length > 0) [greenMs, last] = [performance.now() - beganMs, greens];
    await Bun.sleep(EVERY_MS);
  }
  if (how === "frozen") world.service.signal("SIGCONT");
  await sending;
  stage.step("silence", `${how}: green for ${greenMs.toFixed(0)} ms, last ${last.join(", ")}`);
  if (greenMs > STALE_MAX_MS) throw new Error(`${how}: ${last.join(", ")} is green after ${greenMs.toFixed(0)} ms`);
  if (how === "frozen")
    await eventually(async () => (await greensOf(page)).length > 0, "nothing is green again", 10_000, EVERY_MS);
}

function situationOf(page: Page): Promise<string> {
  const line = `[...document.querySelectorAll(".situation a")].map(({ textContent }) => textContent).join(" | ")`;
  return page.evaluate<string>(line);
}

/** Whatever is marked as good. */
function greensOf(page: Page): Promise<readonly string[]> {
  const greens = `[...document.querySelectorAll(".badge-ok, .callout-ok")].map(({ textContent }) => textContent)`;
  return page.evaluate<string[]>(greens);
}
