/** The attacks: the list with its search and order, and one of them with all that is known of it. */
import { expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, VICTIM } from "../fixtures/browser/world.ts";
import { eventually } from "../fixtures/service.ts";

const ENDED = "203.0.113.210";
const floods = [
  { vector: "dns_amplification", victim: VICTIM, pps: 1500, fromSeconds: 0, toSeconds: 120 },
  { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, fromSeconds: 0, toSeconds: 120 },
  { vector: "icmp_flood", victim: ENDED, pps: 900, fromSeconds: 0, toSeconds: 2 },
] as const;
const config = `
escalation: [{ after_seconds: 0, action: flowspec }, { after_seconds: 300, action: blackhole }]
storage: { driver: sqlite, traffic_interval_seconds: 1 }
`;
const dashboard = useBrowser().useWorld({ hasBgp: true, capture: { floods, seconds: 120 }, config });

test("the list is searched and ordered, and the address of the page says how", async () => {
  const { page } = await dashboard.open("/attacks");
  const rows = page.getByRole("row").filter({ has: page.getByRole("link") });
  await page.getByRole("row", { name: new RegExp(VICTIM) }).waitFor();
  // The short one may be over, and is then the weakest.
  const isBefore = async (first: string, second: string) => {
    const texts = await rows.allTextContents();
    const placeOf = (victim: string) => texts.findIndex((text) => text.includes(victim));
    return placeOf(first) < placeOf(second);
  };
  await eventually(() => isBefore(VICTIM, ACME_VICTIM), "the strongest is not first");
  await page.getByRole("button", { name: "Of threshold" }).click();
  await eventually(() => isBefore(ACME_VICTIM, VICTIM), "the weaker is not first");
  const sorted = page.getByRole("columnheader", { name: "Of threshold" });
  expect(await sorted.getAttribute("aria-sort")).toBe("ascending");
  await page.getByLabel("Find").fill("syn acme");
  await page.getByRole("row", { name: new RegExp(VICTIM) }).waitFor({ state: "detached" });
  expect(page.url()).toEndWith("#/attacks?q=syn+acme");
  await page.getByLabel("Find").fill("nothing of the kind");
  await page.getByText("No attack matches").waitFor();
});

test("one shows how strong it was, why it fired, what it is, what is done and what comes next", async () => {
  const { page } = await dashboard.open("/attacks");
  await page.getByRole("link", { name: VICTIM }).click();
  for (const heading of [
    VICTIM,
    "Kind",
    "Why it fired",
    "Ban",
    "Escalation",
    "Rules",
    "Timeline",
    "Traffic",
    "Who did what",
    "Sources",
  ]) {
    await page.getByRole("heading", { level: 2, name: heading, exact: true }).waitFor();
  }
  await page.getByRole("img", { name: new RegExp(`^Rate of ${VICTIM} over time, at most \\d\\.\\d+ kpps`) }).waitFor();
  await page.getByText("Packets went over 300 pps.").waitFor();
  await page.getByText(/from port 53: \d+ % of its packets/).waitFor();
  await page.getByRole("row", { name: /^UDP, fragments.* discard$/ }).waitFor();
  const rungs = page.getByRole("listitem");
  await rungs.filter({ hasText: "FlowSpec" }).getByText("now").waitFor();
  await rungs
    .filter({ hasText: "Blackhole" })
    .getByText(/^in \d:\d\d$/)
    .waitFor();
  await page.getByRole("table").filter({ hasText: "From port" }).getByRole("row", { name: /^53 / }).waitFor();
  await page.getByRole("button", { name: `Unban ${VICTIM}/32` }).waitFor();
});

test("one that is over has its size, its traffic, what was decided and its ban, ended, and nothing to act with", async () => {
  await eventually(async () => {
    const { body } = await dashboard.world.service.get<{ recent: unknown[] }>("/api/v1/attacks", SECRETS.viewer);
    return body.recent.length === 1;
  }, "no attack is over");
  const { page } = await dashboard.open("/attacks");
  await page.getByRole("button", { name: "Ended" }).click();
  await page.getByRole("row", { name: new RegExp(`${ENDED} ICMP flood .* \\d+ s`) }).waitFor();
  await page.getByRole("link", { name: ENDED }).click();
  await page.getByText("attack ended").first().waitFor();
  // 900 packets a second for two seconds, within 5 %.
  await page.getByText(/^1\.(7[1-9]|8\d) k packets, /).waitFor();
  await page.getByRole("img", { name: new RegExp(`^Rate of ${ENDED} over time, at most [\\d.]+ k?pps`) }).waitFor();
  const timeline = page.getByRole("table").filter({ hasText: "Ban placed" });
  await timeline.getByRole("row", { name: /\+0\.000 s Detected/ }).waitFor();
  await timeline.getByRole("row", { name: /Ended/ }).waitFor();
  expect(await page.getByRole("button", { name: /ban/i }).count()).toBe(0);
});

test("the history has ended attacks by date and address, and no rows for a filter that is wrong", async () => {
  await eventually(async () => {
    const { body } = await dashboard.world.service.get<{ attacks: unknown[] }>(
      "/api/v1/attacks/history",
      SECRETS.viewer,
    );
    return body.attacks.length === 1;
  }, "the history has no attack");
  const { page } = await dashboard.open("/attacks");
  await page.getByRole("button", { name: "History" }).click();
  const row = page.getByRole("row", { name: new RegExp(`^${ENDED} ICMP flood`) });
  await row.waitFor();
  const field = page.getByLabel("Address");
  await field.fill("203.0.113");
  await page.getByText("A complete address.").waitFor();
  await row.waitFor({ state: "detached" });
  await page.getByText("No attacks: the filter is not complete").waitFor();
  await field.fill(ENDED);
  await page.keyboard.press("Enter");
  await row.waitFor();
  await field.fill("203.0.113.254");
  await page.keyboard.press("Enter");
  await page.getByText("No attack ended in this time range").waitFor();
  await page.getByRole("button", { name: "From – to" }).click();
  await page.getByLabel("To", { exact: true }).fill("2020-01-01 00:00");
  await page.getByText("After the begin.").waitFor();
  await page.getByText("No attacks: the filter is not complete").waitFor();
});

test("one that is none says so", async () => {
  const opened = await dashboard.open("/attacks/none-such");
  opened.expectFault(/status of 404/);
  await opened.page.getByText("unknown attack").waitFor();
  await opened.page.getByRole("button", { name: "Try again" }).waitFor();
});
