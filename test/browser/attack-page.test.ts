/**
 * The page of one attack answers what a night shift asks: each question here is one of theirs, and its answer is on the
 * page or at most two clicks away. And what is taken from it: report, CSV and packets.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { cutTables } from "../fixtures/browser/cut-tables.ts";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { picture } from "../fixtures/browser/pictures.ts";
import { ACME_VICTIM, SECRETS, VICTIM, WHITELISTED } from "../fixtures/browser/world.ts";
import { victimCapture } from "../fixtures/captures/capture-file.ts";
import { eventually } from "../fixtures/service.ts";

setDefaultTimeout(60_000);

const REPEATED = "203.0.113.210";
const floods = [
  { vector: "dns_amplification", victim: VICTIM, pps: 1500, fromSeconds: 0, toSeconds: 300 },
  { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, fromSeconds: 0, toSeconds: 300 },
  { vector: "udp_flood", victim: WHITELISTED, pps: 800, fromSeconds: 0, toSeconds: 300 },
  { vector: "icmp_flood", victim: REPEATED, pps: 900, fromSeconds: 0, toSeconds: 2 },
  { vector: "icmp_flood", victim: REPEATED, pps: 900, fromSeconds: 8, toSeconds: 300 },
] as const;
const config =
  "storage: { driver: sqlite, traffic_interval_seconds: 1 }\ndataplane: { enabled: true, interfaces: [lo], on_exit: detach }";
const dashboard = useBrowser().useWorld({ hasBgp: true, capture: { floods, seconds: 300 }, config });

interface Attack {
  readonly id: string;
  readonly target?: string;
  readonly ban_state?: string;
}

async function attackOn(victim: string, isWanted: (attack: Attack) => boolean = () => true): Promise<Attack> {
  let found: Attack | undefined;
  await eventually(async () => {
    const { body } = await dashboard.world.service.get<{ active: Attack[] }>("/api/v1/attacks", SECRETS.operator);
    found = body.active.find((attack) => attack.target === victim && isWanted(attack));
    return found !== undefined;
  }, `no attack on ${victim}`);
  return found as Attack;
}

/** The first of the two floods on the victim of two. */
async function firstIsOver(): Promise<void> {
  await eventually(async () => {
    const path = `/api/v1/attacks/history?target=${REPEATED}`;
    const { body } = await dashboard.world.service.get<{ attacks: unknown[] }>(path, SECRETS.operator);
    return body.attacks.length === 1;
  }, "the first is not in the history");
}

async function open(victim: string, isWanted?: (attack: Attack) => boolean, secret: string = SECRETS.operator) {
  const { id } = await attackOn(victim, isWanted);
  const opened = await dashboard.open(`/attacks/${id}`, secret);
  await opened.page.getByRole("heading", { level: 2, name: victim, exact: true }).waitFor();
  return { page: opened.page, context: opened.context, id };
}

/** The value of a line of facts. */
async function factOf(page: Page, name: string, value: RegExp): Promise<void> {
  const line = page.locator(".facts > div").filter({ has: page.locator("dt").getByText(name, { exact: true }) });
  await line.locator("dd").filter({ hasText: value }).first().waitFor();
}

const isBanned = ({ ban_state: state }: Attack) => state === "active";

describe("a night shift asks", () => {
  test("when did it start, how large is it, and how much got through", async () => {
    const { page } = await open(VICTIM, isBanned);
    await factOf(page, "Began", /^\d\d:\d\d:\d\d /);
    await factOf(page, "Detected", /^\d\d:\d\d:\d\d /);
    await factOf(page, "Peak", /kpps, .*bit\/s \(over \d+ ms\)/);
    await factOf(page, "Mean", /kpps/);
    await factOf(page, "Total", /packets, /);
    await factOf(page, "Passed here", /packets, .* at most; what other causes or routers dropped is not known of it/);
    await picture(page, "question-when-and-how-much");
  });

  test("is it held, by whom, and what should I do now", async () => {
    const { page } = await open(VICTIM, isBanned);
    await factOf(page, "Stopped", /^Route at 1 of 1 router$/);
    await page
      .getByText(/127\.[\d.]+ has the route\./)
      .first()
      .waitFor();
    await page.getByText(/No action: route at 1 of 1 router|No action, but/).waitFor();
    await picture(page, "question-held-by-whom");
  });

  test("what of one that is not held", async () => {
    const { page } = await open(WHITELISTED);
    await factOf(page, "Stopped", /^Ban refused$/);
    await page.getByText(/^What to do now: Ask your provider to filter: .* protected_whitelist\.$/).waitFor();
    // No button for what would be refused: what can be done is to change the configuration.
    await page.getByRole("link", { name: "Configuration", exact: true }).waitFor();
    await page.getByLabel("By address: table").waitFor();
    expect(await page.getByRole("button", { name: /^(Block|Ban) / }).count()).toBe(0);
    await picture(page, "question-not-held");
  });

  test("which of our customers", async () => {
    const { page } = await open(ACME_VICTIM);
    await factOf(page, "Customer", /^acme, hostgroup acme-web$/);
    await page.getByRole("link", { name: "acme-web" }).click();
    await page
      .getByRole("heading", { name: /acme-web/ })
      .first()
      .waitFor();
    await picture(page, "question-customer");
  });

  test("did it happen before", async () => {
    await firstIsOver();
    const { page } = await open(REPEATED);
    await factOf(page, "Attacked before", /^1 time in the last 30 days/);
    await page.getByRole("link", { name: "history", exact: true }).click();
    await page.getByRole("row", { name: new RegExp(`^${REPEATED} ICMP flood`) }).waitFor();
    await picture(page, "question-before");
  });

  test("what did we do", async () => {
    const { page } = await open(ACME_VICTIM, isBanned);
    const timeline = page.getByRole("table").filter({ hasText: "Ban placed" });
    await timeline.getByRole("row", { name: /Announced to 127\./ }).waitFor();
    await page.getByRole("link", { name: "Its ban" }).click();
    await page.getByRole("heading", { level: 2, name: "Ban", exact: true }).waitFor();
    await picture(page, "question-what-we-did");
  });

  test("who lifted it", async () => {
    await firstIsOver();
    const { id } = await attackOn(REPEATED, isBanned);
    const { service } = dashboard.world;
    expect((await service.post("/api/v1/unban", { ip: REPEATED }, SECRETS.operator)).status).toBe(200);
    const { page } = await dashboard.open(`/attacks/${id}`);
    await page.getByRole("row", { name: /Unban: withdrawn noc \(operator\)/ }).waitFor();
    await page.getByText(/its ban has ended, and this attack places no other/).waitFor();
    await page.getByRole("link", { name: "In the audit trail" }).click();
    await page.getByRole("row", { name: /Unban withdrawn 203\.0\.113\.210 .* noc/ }).waitFor();
    await picture(page, "question-who-lifted-it");
  });

  test("the report for the customer", async () => {
    const { page, context } = await open(ACME_VICTIM, isBanned);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByText(/sampled packets, read again/).waitFor();
    await page.getByRole("row", { name: /Ban placed/ }).waitFor();
    await page.getByRole("button", { name: "Copy report" }).click();
    await page.getByText("The report is copied.").waitFor();
    const text = await page.evaluate<string>("navigator.clipboard.readText()");
    for (const part of [
      `DDoS attack on ${ACME_VICTIM}`,
      "acme (hostgroup acme-web)",
      "SYN flood",
      "UTC",
      "Ban placed",
    ]) {
      expect(text).toContain(part);
    }
    expect(text).toMatch(/Top sources, of \d+ sampled packets/);
    await picture(page, "question-report");
  });
});

test("the head names kind, ports, sources and customer, and a link begins at the top", async () => {
  const { page } = await open(ACME_VICTIM, isBanned);
  await page.getByText(/^SYN flood · .*to port 443 · .* sampled packets, the largest .* % · acme, acme-web$/).waitFor();
  await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
  await page.evaluate(`document.querySelector('a[href$="#/settings/acme-web"]').click()`);
  await page.getByRole("heading", { name: "Hostgroup acme-web" }).waitFor();
  expect(await page.evaluate("scrollY")).toBe(0);
});

test.each([
  [1440, 900],
  [1280, 800],
] as const)(
  "at %d pixels no table of the page is wider than its frame, and no button is cut",
  async (width, height) => {
    const { id } = await attackOn(ACME_VICTIM, isBanned);
    const { page } = await dashboard.open(`/attacks/${id}`, SECRETS.operator, { viewport: { width, height } });
    // Networks and countries as a service with their files has them.
    await page.route(`**/attacks/${id}/sources`, async (route) => {
      const answer = await route.fetch();
      const body = (await answer.json()) as { top_sources: object[] };
      const origin = { asn: 64500, as_name: "EXAMPLE-TRANSIT-AND-HOSTING", country: "DE" };
      const top = body.top_sources.map((source) => ({ ...source, ...origin }));
      await route.fulfill({ response: answer, json: { ...body, top_sources: top } });
    });
    await page.reload();
    await page
      .getByRole("cell", { name: /EXAMPLE-TRANSIT/ })
      .first()
      .waitFor();
    await page
      .getByRole("button", { name: /^Block \d/ })
      .first()
      .waitFor();
    expect(await cutTables(page)).toEqual([]);
  },
);

test("without a clipboard the report is shown to be copied by hand", async () => {
  const { page } = await open(VICTIM);
  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('denied'))");
  await page.getByRole("button", { name: "Copy report" }).click();
  const text = page.getByRole("dialog", { name: "Report" }).getByLabel("Report");
  expect(await text.inputValue()).toContain(`DDoS attack on ${VICTIM}`);
});

test("its traffic is saved as CSV, and its packets as a file that other programs read", async () => {
  const { page, id } = await open(VICTIM, undefined, SECRETS.viewer);
  const saved = async (button: string) => {
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: button }).click(),
    ]);
    return { name: download.suggestedFilename(), path: await download.path() };
  };
  const csv = await saved("Traffic as CSV");
  expect(csv.name).toBe(`attack-${id}.csv`);
  expect(readFileSync(csv.path, "utf8")).toMatch(/^at,seconds,rate,.*\r\n\d{4}-\d\d-\d\dT/);
  const pcap = await saved("Packets as pcap");
  expect(pcap.name).toBe(`attack-${id}.pcap`);
  expect(victimCapture(pcap.path)?.victim as string).toBe(VICTIM);
});

test("where what became of the packets is known, one chooses which to save", async () => {
  const { id } = await attackOn(VICTIM);
  const { page } = await dashboard.open("/attacks", SECRETS.viewer);
  // Captures have no outcomes.
  await page.route(`**/attacks/${id}/sources`, async (route) => {
    const answer = await route.fetch();
    const kept = { total: 512, passed: 3, dropped: 509, answered: 0 };
    await route.fulfill({ response: answer, json: { ...((await answer.json()) as object), kept_packets: kept } });
  });
  const asked: string[] = [];
  await page.route(`**/attacks/${id}/pcap*`, async (route) => {
    asked.push(new URL(route.request().url()).search);
    await route.fulfill({ body: "packets" });
  });
  await page.evaluate(`location.hash = "#/attacks/${id}"`);
  await page.getByText(/sampled packets, read again/).waitFor();
  const names: string[] = [];
  for (const choice of ["All 512", "3 passed", "509 dropped"]) {
    await page.getByRole("button", { name: "Packets as pcap" }).click();
    const dialog = page.getByRole("dialog", { name: "Which packets?" });
    expect(await dialog.getByRole("button", { name: /^0 answered/ }).isDisabled()).toBe(true);
    if (choice === "All 512") await picture(page, "attack-packets");
    const [saved] = await Promise.all([
      page.waitForEvent("download"),
      dialog.getByRole("button", { name: choice }).click(),
    ]);
    names.push(saved.suggestedFilename());
    await dialog.waitFor({ state: "detached" });
  }
  expect(asked).toEqual(["", "?outcome=passed", "?outcome=dropped"]);
  expect(names).toEqual([`attack-${id}.pcap`, `attack-${id}-passed.pcap`, `attack-${id}-dropped.pcap`]);
});

test("an entry of the timeline marks its time in the chart, and a time in the chart its entry", async () => {
  const { page } = await open(VICTIM, isBanned);
  // The last that is decided at its beginning.
  await page.getByRole("row", { name: /Announced to/ }).waitFor();
  const timeline = page.getByRole("table").filter({ hasText: "Ban placed" });
  const detected = timeline.getByRole("row", { name: /Detected/ });
  const time = await detected.getByRole("button").textContent();
  await detected.getByRole("button").focus();
  const steps = page.getByRole("slider", { name: "Time in the chart" });
  const shown = page.locator(".chart-time").first();
  await timeline.locator("tr[aria-current]").filter({ hasText: "Detected" }).waitFor();
  await eventually(async () => time?.startsWith((await shown.textContent()) ?? "-") === true, "the chart is elsewhere");
  // The newest tick is after all that was decided.
  await steps.focus();
  // It lies over the plot, whose line is its thumb.
  const plot = await page.locator(".u-over").first().boundingBox();
  const slider = await steps.boundingBox();
  if (plot === null || slider === null) throw new Error("the chart is not shown");
  for (const side of ["x", "y", "width", "height"] as const) {
    expect(Math.abs(plot[side] - slider[side])).toBeLessThan(2);
  }
  await page.keyboard.press("Home");
  await timeline.locator("tr[aria-current]").waitFor({ state: "detached" });
  await page.keyboard.press("End");
  await timeline.locator("tr[aria-current]").filter({ hasNotText: "Detected" }).waitFor();
  expect(await steps.getAttribute("aria-valuetext")).toMatch(/^Offered .*pps, Highest .*pps, .*Threshold 300 pps/);
});

test("the chart is zoomed by dragging and by the keyboard, and there is a way back", async () => {
  const { page } = await open(VICTIM);
  const back = page.getByRole("button", { name: "Whole attack" });
  const plot = page.locator(".u-over").first();
  await plot.waitFor();
  expect(await back.count()).toBe(0);
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  if (box === null) throw new Error("no chart");
  await page.mouse.move(box.x + box.width / 4, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + 30, { steps: 4 });
  await page.mouse.up();
  await back.click();
  await back.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Zoom in" }).focus();
  await page.keyboard.press("Enter");
  await back.waitFor();
  await page.getByText("does not follow the attack").waitFor();
  await back.press("Enter");
  await back.waitFor({ state: "detached" });
  expect(await page.getByRole("button", { name: "Zoom out" }).isDisabled()).toBe(true);
});

test("sources have their shares and what they show, and one is blocked for the victim; a viewer blocks none", async () => {
  const { page } = await open(ACME_VICTIM, isBanned);
  await page.getByText("A hint from a sample of the packets, not a verdict.").waitFor();
  for (const table of ["By address: table", "By prefix: table"])
    await page.getByLabel(table).getByText(/\d %/).first().waitFor();
  const block = page.getByRole("button", { name: /^Block \d/ }).first();
  const source = (await block.getAttribute("aria-label"))?.replace("Block ", "") ?? "";
  await block.click();
  const dialog = page.getByRole("dialog", { name: "Block a source" });
  expect(await dialog.getByLabel("Source").inputValue()).toBe(source);
  expect(await dialog.getByLabel("Victim").inputValue()).toBe(ACME_VICTIM);
  await dialog.getByText(`Packets from ${source} to ${ACME_VICTIM} are dropped here.`).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const viewed = await open(ACME_VICTIM, isBanned, SECRETS.viewer);
  await viewed.page.getByLabel("By address: table").waitFor();
  expect(await viewed.page.getByRole("button", { name: /^Block / }).count()).toBe(0);
});
