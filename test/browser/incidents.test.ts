/**
 * A thousand attacks at once, each with a ban: they are one incident, whose row leads to its attacks and which people work
 * on; lists have them all, and the page only those in sight.
 */
import { expect, test } from "bun:test";
import { crowdWorld } from "../fixtures/browser/crowd.ts";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, VICTIM } from "../fixtures/browser/world.ts";
import { eventually } from "../fixtures/service.ts";

const CROWD = 1000;
const ROWS_IN_PAGE_MAX = 120;
const SECONDS = 300;

const browser = useBrowser();
const crowd = browser.useWorld(crowdWorld(CROWD, SECONDS));
const span = { fromSeconds: 0, toSeconds: SECONDS };
const floods = [
  { vector: "dns_amplification", victim: VICTIM, pps: 1500, ...span },
  { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, ...span },
] as const;
const two = browser.useWorld({ capture: { floods, seconds: SECONDS } });

interface Listed {
  readonly incidents: readonly { readonly id: string; readonly tenant?: string; readonly kind?: string }[];
}

test("many victims are one row on the overview, which leads to all of its attacks", async () => {
  const opened = await crowd.open();
  const { page } = opened;
  const read = new Set<string>();
  page.on("request", (request) => {
    if (request.url().endsWith("/series")) read.add(request.url());
  });
  const list = page.getByRole("region", { name: "Incidents in progress: table" });
  await list.getByRole("row", { name: /^UDP flood on global 1\s000 victims \(4 networks\)/ }).waitFor();
  await page
    .getByRole("link", {
      name: `${CROWD} attacks, ${CROWD} not stopped, worst: Dry run: nothing is announced or dropped`,
    })
    .waitFor();
  expect(await list.getByRole("row").count()).toBe(2);
  await page.getByRole("link", { name: /^All 1\s000 attacks$/ }).waitFor();
  // The last minute of none of them.
  expect(read.size).toBe(0);
  expect(await opened.violations()).toEqual([]);
  await list.getByRole("link", { name: /on global$/ }).click();
  await page.getByRole("heading", { name: /on global$/ }).waitFor();
  const attacks = page.getByRole("region", { name: "Attacks of the incident: table" });
  await page.locator(`table[aria-rowcount="${CROWD + 1}"]`).waitFor();
  await page.getByRole("row", { name: "203.0.112.0/24 255" }).waitFor();
  await page.getByLabel("Find").fill("203.0.112.77");
  await attacks.getByRole("link", { name: "203.0.112.77", exact: true }).click();
  await page.getByRole("heading", { name: "203.0.112.77" }).waitFor();
  await page.getByRole("link", { name: "Its incident" }).click();
  await page.getByRole("heading", { name: /on global$/ }).waitFor();
}, 60_000);

test("all are in the list, those in sight are in the page, and the last is reached by the keyboard", async () => {
  const { page } = await crowd.open("/attacks?q=203");
  const list = page.getByRole("region", { name: "Attacks in progress: table" });
  await page.locator(`table[aria-rowcount="${CROWD + 1}"]`).waitFor();
  await page.getByRole("button", { name: "Victim" }).click();
  await list.getByRole("link", { name: "203.0.112.1", exact: true }).waitFor();
  expect(await list.getByRole("row").count()).toBeLessThan(ROWS_IN_PAGE_MAX);
  expect(await list.getByRole("link", { name: "203.0.115.232", exact: true }).count()).toBe(0);
  await list.focus();
  await page.keyboard.press("End");
  await list.getByRole("link", { name: "203.0.115.232", exact: true }).waitFor();
  expect(await list.getByRole("row").count()).toBeLessThan(ROWS_IN_PAGE_MAX);
  expect(await list.locator(`[aria-rowindex="${CROWD + 1}"]`).count()).toBe(1);
}, 120_000);

test("the list of measures has a ban of each, those in sight in the page, and all are selected at once", async () => {
  const { page } = await crowd.open("/mitigation");
  await page.locator(`table[aria-rowcount="${CROWD + 1}"]`).waitFor();
  const list = page.getByRole("region", { name: "Measures in force: table" });
  await page.getByRole("button", { name: "What" }).click();
  await list.getByRole("link", { name: "203.0.112.1", exact: true }).waitFor();
  expect(await list.getByRole("row").count()).toBeLessThan(ROWS_IN_PAGE_MAX);
  await list.focus();
  await page.keyboard.press("End");
  await list.getByRole("link", { name: "203.0.115.232", exact: true }).waitFor();
  await page.getByLabel("Find").fill("203.0.115.");
  await page.getByText(/^233 of 1\s000$/).waitFor();
  await page.getByRole("button", { name: "Select all found" }).click();
  await page.getByRole("button", { name: "Unban 233 selected" }).click();
  const dialog = page.getByRole("dialog", { name: "Unban 233?" });
  await dialog.locator(`table[aria-rowcount="234"]`).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Unban 233 selected" }).waitFor();
});

test("an operator takes it, says what it was, and hands it over to the next shift", async () => {
  const opened = await crowd.open("/incidents");
  const { page } = opened;
  await page.getByRole("link", { name: /on global$/ }).click();
  const notes = page.getByRole("region", { name: "Notes" });
  await notes.getByText("No note").waitFor();
  await page.getByRole("button", { name: "Take this incident" }).click();
  await page.getByRole("dialog").getByText("It has no owner.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Take" }).click();
  await page.getByText("The incident is yours.").waitFor();
  await page.getByRole("button", { name: "Release this incident" }).waitFor();
  expect(await page.getByRole("button", { name: "Acknowledge this incident" }).count()).toBe(0);
  await page.getByRole("button", { name: "Classify this incident" }).click();
  await page.getByLabel("Classification").selectOption("False alarm");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await page.getByText(/^False alarm, by noc/).waitFor();
  await page.getByRole("button", { name: "Add a note" }).click();
  const dialog = page.getByRole("dialog", { name: "Add a note" });
  await dialog.getByLabel("Text").fill("provider called, ticket 7");
  await dialog.getByLabel("For whom").selectOption("The next shift");
  expect(await opened.violations()).toEqual([]);
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  const open = notes.getByText("For the next shift", { exact: true });
  await open.waitFor();
  await notes.getByText("provider called, ticket 7").waitFor();
  expect(await opened.violations()).toEqual([]);
  // The row says that something is left to do.
  await page.getByRole("link", { name: "All incidents" }).click();
  await page.getByRole("row", { name: /on global active hand-over/ }).waitFor();
  await page.getByRole("link", { name: /on global$/ }).click();
  // The next shift has the same token.
  await notes.getByRole("button", { name: "Take this incident" }).click();
  await page.getByRole("dialog").getByText("It is yours already: you take it for a new shift.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Take" }).click();
  await notes.getByText("handed over to noc").waitFor();
  expect(await open.count()).toBe(0);
  await page.goto(`${crowd.world.base}/#/incidents`);
  await page.getByRole("row", { name: /on global active [^h]/ }).waitFor();
  expect(await page.getByText("hand-over", { exact: true }).count()).toBe(0);
});

test("a viewer reads it and has no button", async () => {
  const { page } = await crowd.open("/incidents", SECRETS.viewer);
  await page.getByRole("link", { name: /on global$/ }).click();
  await page.getByRole("region", { name: "Notes" }).waitFor();
  for (const name of [/^Take/, /^Release/, /^Acknowledge/, /^Classify/, "Add a note"]) {
    expect(await page.getByRole("button", { name }).count()).toBe(0);
  }
});

test("a tenant sees its own, without the words and names of the operator, and what an operator took stays", async () => {
  const { service } = two.world;
  let id = "";
  const isFound = async () => {
    const { body } = await service.get<Listed>("/api/v1/incidents", SECRETS.operator);
    id = body.incidents.find(({ tenant, kind }) => tenant === "acme" && kind !== undefined)?.id ?? "";
    return id !== "";
  };
  await eventually(isFound, "the tenant has no incident", 20_000, 100);
  const post = (path: string, order: object) =>
    fetch(`${two.world.base}/api/v1/incidents/${id}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${SECRETS.operator}` },
      body: JSON.stringify(order),
    });
  expect((await post("", { owner: "take" })).status).toBe(200);
  expect((await post("/notes", { text: "owes us money" })).status).toBe(200);
  const { page } = await two.open("/incidents", SECRETS.tenantOperator);
  await page.getByRole("row", { name: /on acme, acme-web/ }).waitFor();
  expect(await page.getByRole("row").count()).toBe(2);
  await page.getByRole("link", { name: /on acme, acme-web$/ }).click();
  await page.getByText(/^an operator, /).waitFor();
  expect(await page.getByText(/owes us|noc$/).count()).toBe(0);
  expect(await page.getByRole("button", { name: /^Take/ }).count()).toBe(0);
  await page.getByRole("button", { name: "Add a note" }).click();
  await page.getByRole("dialog").getByLabel("Text").fill("our shop is slow");
  await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("region", { name: "Notes" }).getByText("our shop is slow").waitFor();
});

test("a customer has a page with what is going on, the days before, and what it sees itself", async () => {
  const opened = await two.open("/incidents");
  const { page } = opened;
  await page.getByRole("link", { name: "SYN flood on acme, acme-web" }).click();
  await page.getByRole("link", { name: "acme, acme-web", exact: true }).click();
  await page.getByRole("heading", { name: "acme now" }).waitFor();
  await page.getByText("Attacks: 1 (1 incident) in the last 7 days; none in the 7 days before.").waitFor();
  await page
    .getByRole("region", { name: "Now: table" })
    .getByRole("row", { name: /^SYN flood on acme/ })
    .waitFor();
  await page.getByRole("row", { name: /^\d{4}-\d\d-\d\d 1 1 / }).waitFor();
  await page.getByText("Tokens with the tenant acme see these incidents").waitFor();
  expect(await opened.violations()).toEqual([]);
  await page.getByRole("button", { name: "Report of a month …" }).click();
  const month = new Date().toISOString().slice(0, 7);
  const report = page.getByRole("dialog", { name: "Report of a month" });
  await report.getByLabel("Month").selectOption(month);
  expect(await opened.violations()).toEqual([]);
  const coming = page.waitForEvent("download");
  await report.getByRole("button", { name: "Save", exact: true }).click();
  const saved = await coming;
  expect(saved.suggestedFilename()).toBe(`report-acme-${month}.html`);
  expect(await Bun.file(await saved.path()).text()).toContain("acme");
  await page.keyboard.press("Control+k");
  const search = page.getByRole("dialog", { name: "Search" });
  await search.getByLabel(/^Address, name, or part of one/).fill("acme");
  await search.getByText("Customer acme").waitFor();
});
