/** The overview under real attacks, and what can be done from it. */
import { describe, expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, VICTIM, WHITELISTED } from "../fixtures/browser/world.ts";

const browser = useBrowser();

describe("under attack", () => {
  const span = { fromSeconds: 0, toSeconds: 120 };
  const floods = [
    { vector: "dns_amplification", victim: VICTIM, pps: 1500, ...span },
    { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, ...span },
    { vector: "udp_flood", victim: WHITELISTED, pps: 400, ...span },
  ] as const;
  const dashboard = browser.useWorld({ hasBgp: true, capture: { floods, seconds: 120 } });

  test("shows each victim, how hard it is hit, by what, and whether the routers have its route", async () => {
    const { page } = await dashboard.open();
    const card = page.getByRole("listitem").filter({ hasText: VICTIM });
    for (const text of [
      "DNS amplification",
      "the threshold of 300 pps",
      "Blackhole announced",
      /stays until the attack has been quiet/,
    ]) {
      await card.getByText(text).waitFor();
    }
    const spared = page.getByRole("listitem").filter({ hasText: WHITELISTED });
    for (const text of ["Not banned", "whitelisted"]) await spared.getByText(text).waitFor();
    expect(await spared.getByRole("button").count()).toBe(0);
    await page.getByRole("navigation", { name: "Situation" }).getByText("LIVE", { exact: true }).waitFor();
    await page.getByText("it is not counted: no hostgroup has thresholds_outgoing").waitFor();
    // What nothing is done about comes first.
    expect(await page.getByRole("list").getByRole("heading").first().textContent()).toBe(WHITELISTED);
  });

  test("shows traffic, bans, sessions and capture", async () => {
    const { page } = await dashboard.open();
    await page.getByRole("heading", { name: /^Incoming: [\d.]+ kpps now$/ }).waitFor();
    await page.getByRole("img", { name: /^Incoming: .* by protocol/ }).waitFor();
    await page.getByRole("button", { name: "Bits" }).click();
    await page.getByRole("heading", { name: /^Incoming: [\d.]+ Mbit\/s now, [\d.]+ % of the link$/ }).waitFor();
    await page.getByRole("row", { name: new RegExp(`${VICTIM} Blackhole announced`) }).waitFor();
    await page.getByRole("row", { name: /64500 up/ }).waitFor();
    await page.getByRole("row", { name: /capture\.pcap running/ }).waitFor();
  });

  test("a route that is announced is shown by its event, and nothing says before that no neighbor has it", async () => {
    const victim = "203.0.113.222";
    const { page } = await dashboard.open("/mitigation", SECRETS.viewer);
    await page.getByRole("row", { name: new RegExp(VICTIM) }).waitFor();
    // The list of bans is not answered any more.
    await page.route("**/api/v1/bans", () => {});
    await page.evaluate(`
      window.said = new Set();
      new MutationObserver(() => {
        for (const row of document.querySelectorAll("tr")) {
          if (row.textContent.includes("${victim}")) window.said.add(row.querySelector(".badge").textContent);
        }
      }).observe(document.body, { childList: true, subtree: true, characterData: true });`);
    await dashboard.world.service.post("/api/v1/ban", { ip: victim }, SECRETS.operator);
    await page.getByRole("row", { name: new RegExp(`${victim} Ban Blackhole announced`) }).waitFor();
    const said = await page.evaluate<string[]>("[...window.said]");
    expect(said.filter((text) => text !== "announcing")).toEqual(["announced"]);
    await dashboard.world.service.post("/api/v1/unban", { ip: victim }, SECRETS.operator);
  });

  test("a tenant sees its own attack, bans and unbans, and sees nothing of the whole service", async () => {
    const { page } = await dashboard.open("/", SECRETS.tenantOperator);
    const card = page.getByRole("listitem").filter({ hasText: ACME_VICTIM });
    await card.getByRole("button", { name: `Unban ${ACME_VICTIM}/32` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unban" }).click();
    await card.getByText("manual unban").waitFor();
    await card.getByRole("button", { name: `Ban ${ACME_VICTIM}`, exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Ban", exact: true }).click();
    await card.getByText("Blackhole announced").waitFor();
    expect(await page.getByText(VICTIM).count()).toBe(0);
    expect(await page.getByRole("heading", { name: "BGP sessions" }).count()).toBe(0);
  });
});

test("an attack comes and goes by itself, and is read out; an order that is being typed stays; a viewer has no button", async () => {
  const floods = [{ vector: "udp_flood", victim: VICTIM, pps: 1500, fromSeconds: 12, toSeconds: 20 }] as const;
  await browser.inWorld({ capture: { floods, seconds: 60 } }, async (dashboard) => {
    const { page } = await dashboard.open("/", SECRETS.viewer);
    await page.getByText("No attack now").waitFor();
    await page.getByText("Dry run", { exact: true }).waitFor();
    await page.getByRole("heading", { name: VICTIM }).waitFor();
    await page.getByText(`Attack on ${VICTIM}:`).waitFor({ state: "attached" });
    expect(await page.title()).toBe(`(1) ${VICTIM} – Overview – Floodwall`);
    await page.getByText("Dry run: Blackhole").waitFor();
    expect(await page.getByRole("button", { name: /ban/i }).count()).toBe(0);
    const operator = await dashboard.open();
    await operator.page
      .getByRole("button", { name: `Unban ${VICTIM}/32` })
      .first()
      .click();
    const reason = operator.page.getByRole("dialog").getByLabel("Reason");
    await reason.fill("ticket 7");
    await page.getByText("1 attack ended.").waitFor({ state: "attached" });
    await page.getByRole("link", { name: "1 attack before" }).waitFor();
    await operator.page.getByText("No attack now").waitFor();
    expect(await reason.inputValue()).toBe("ticket 7");
  });
}, 60_000);
