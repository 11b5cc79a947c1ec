/** The attacks: the list with its search and order, and one of them with all that is known of it. */
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
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
  await page.getByRole("button", { name: "× threshold" }).click();
  await eventually(() => isBefore(ACME_VICTIM, VICTIM), "the weaker is not first");
  const sorted = page.getByRole("columnheader", { name: "× threshold" });
  expect(await sorted.getAttribute("aria-sort")).toBe("ascending");
  await page.getByLabel("Find").fill("syn acme");
  await page.getByRole("row", { name: new RegExp(VICTIM) }).waitFor({ state: "detached" });
  expect(page.url()).toEndWith("#/attacks?order.attacks-in-progress=factor&q=syn+acme");
  await page.getByLabel("Find").fill("nothing of the kind");
  await page.getByText("No attack matches").waitFor();
});

test("one shows how strong it was, why it fired, what it is, what is done and what comes next", async () => {
  const { page } = await dashboard.open("/attacks");
  await page.getByRole("link", { name: VICTIM }).click();
  for (const heading of [
    VICTIM,
    "Kind",
    "Why it was detected",
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
  await eventually(async () => (await historyOf()).length >= 1, "the history has no attack");
  const { page } = await dashboard.open("/attacks");
  await page.getByRole("button", { name: "History" }).click();
  // Two, if the machine stood still for longer than an attack is calm before its end.
  const row = page.getByRole("row", { name: new RegExp(`^${ENDED} ICMP flood`) }).first();
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

test("of the history repeated victims are counted, and what is cut says so in the page and in the file", async () => {
  await eventually(async () => (await historyOf()).length >= 1, "the history has no attack");
  const pages = 12;
  const { page } = await dashboard.open("/attacks?which=history");
  const [real] = (await historyOf()) as [object];
  const attackOf = (id: number) => ({ ...real, id: `a${id}`, target: `203.0.113.${id % 250}`, tenant: "=1+1" });
  await page.route("**/api/v1/attacks/history?*", (route) => {
    const asked = new URL(route.request().url()).searchParams;
    const from = Number(asked.get("to_id")?.slice(1) ?? 0);
    const target = asked.get("target");
    const all = Array.from({ length: 100 }, (_, i) => attackOf(from + i));
    const attacks = all.filter((attack) => target === null || attack.target === target);
    const next = { to: "2026-03-01T00:00:00Z", to_id: `a${from + 100}` };
    return route.fulfill({ json: { available: true, attacks, ...(from + 100 < 100 * pages && { next }) } });
  });
  await page.getByRole("button", { name: "24 h" }).click();
  await page.getByText(/^Cut: these are the newest 1\s000$/).waitFor();
  await page.getByText(/^1\s000 attacks on 250 victims, 250 of them attacked repeatedly$/).waitFor();
  const lines = async () => {
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export as CSV" }).click();
    const text = readFileSync(await (await coming).path(), "utf8");
    return text.trimEnd().split("\r\n");
  };
  const cut = await lines();
  expect(cut).toHaveLength(1002);
  expect(cut[1]).toStartWith("203.0.113.0,global,'=1+1,incoming,ICMP flood,");
  expect(cut.at(-1)).toStartWith("CUT: the range has more attacks than the newest 1000");
  await page.getByRole("button", { name: "Older ones" }).click();
  await page.getByText(/^1\s200 attacks on 250 victims/).waitFor();
  expect(await page.getByText(/^Cut/).count()).toBe(0);
  await page.getByLabel("Find").fill("203.0.113.9 icmp");
  await page.getByText(/^55 found of/).waitFor();
  const found = await lines();
  expect(found).toHaveLength(56);
  expect(found.at(-1)).toStartWith("203.0.113.9");
  await page
    .getByRole("link", { name: /^(4|5) attacks on 203\.0\.113\.99$/ })
    .first()
    .click();
  expect(page.url()).toContain("target=203.0.113.99");
  await page.getByRole("link", { name: "Audit trail of 203.0.113.99 at that time" }).first().click();
  await page.getByRole("heading", { name: "Audit", level: 1 }).waitFor();
  expect(page.url()).toContain("target=203.0.113.99&range=own&from=");
});

async function historyOf(): Promise<readonly unknown[]> {
  const path = "/api/v1/attacks/history";
  return (await dashboard.world.service.get<{ attacks: unknown[] }>(path, SECRETS.viewer)).body.attacks;
}

test("one that is none says so", async () => {
  const opened = await dashboard.open("/attacks/none-such");
  opened.expectFault(/status of 404/);
  await opened.page.getByText("unknown attack").waitFor();
  await opened.page.getByRole("button", { name: "Try again" }).waitFor();
});
