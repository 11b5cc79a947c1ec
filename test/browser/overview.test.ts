/** The overview under real attacks, and what can be done from it. */
import { describe, expect, test } from "bun:test";
import { useBrowser, useWorld } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, VICTIM, WHITELISTED } from "../fixtures/browser/world.ts";

const browser = useBrowser();

describe("under attack", () => {
  const span = { fromSeconds: 0, toSeconds: 120 };
  const floods = [
    { vector: "dns_amplification", victim: VICTIM, pps: 1500, ...span },
    { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, ...span },
    { vector: "udp_flood", victim: WHITELISTED, pps: 400, ...span },
  ] as const;
  const world = useWorld({ hasBgp: true, capture: { floods, seconds: 120 } });

  test("shows each victim, how hard it is hit, by what, and whether the routers have its route", async () => {
    const { page } = await browser.open({ base: world.base, secret: SECRETS.viewer });
    const card = page.getByRole("listitem").filter({ hasText: VICTIM });
    await card.getByText("DNS amplification").waitFor();
    await card.getByText("the threshold of 300 pps").waitFor();
    await card.getByText("Blackhole announced").waitFor();
    await card.getByText(/^ends in \d+:\d\d$/).waitFor();
    const spared = page.getByRole("listitem").filter({ hasText: WHITELISTED });
    await spared.getByText("Not banned").waitFor();
    await spared.getByText("whitelisted").waitFor();
    // What nothing is done about comes first.
    expect(await page.getByRole("list").getByRole("heading").first().textContent()).toBe(WHITELISTED);
  });

  test("shows traffic, bans, sessions and capture", async () => {
    const { page } = await browser.open({ base: world.base, secret: SECRETS.viewer });
    await page.getByRole("heading", { name: /^Incoming: [\d.]+ kpps$/ }).waitFor();
    await page.getByRole("img", { name: /^Incoming: .* by protocol/ }).waitFor();
    await page.getByRole("button", { name: "Bits" }).click();
    await page.getByRole("heading", { name: /^Incoming: [\d.]+ Mbit\/s$/ }).waitFor();
    await page.getByRole("row", { name: new RegExp(`${VICTIM} Blackhole announced`) }).waitFor();
    await page.getByRole("row", { name: /64500 ESTABLISHED/i }).waitFor();
    await page.getByRole("row", { name: /capture\.pcap running/ }).waitFor();
  });

  test("a tenant sees its own attack and nobody else's", async () => {
    const { page } = await browser.open({ base: world.base, secret: SECRETS.tenantOperator });
    await page.getByRole("heading", { name: ACME_VICTIM }).waitFor();
    expect(await page.getByText(VICTIM).count()).toBe(0);
  });

  test("an operator unbans with two clicks, and bans with two again", async () => {
    const { page } = await browser.open({ base: world.base, secret: SECRETS.operator });
    const card = page.getByRole("listitem").filter({ hasText: ACME_VICTIM });
    await card.getByRole("button", { name: `Unban ${ACME_VICTIM}/32` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unban" }).click();
    await card.getByText("manual unban").waitFor();
    await card.getByRole("button", { name: `Ban ${ACME_VICTIM}`, exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Ban", exact: true }).click();
    await card.getByText("Blackhole announced").waitFor();
  });

  test("a refusal is told where it was asked for", async () => {
    const opened = await browser.open({ base: world.base, secret: SECRETS.operator });
    opened.expectFault(/status of 4(09|00)/);
    const { page } = opened;
    await page.getByRole("button", { name: "Ban an address" }).click();
    const dialog = page.getByRole("dialog", { name: "Ban an address" });
    for (const [address, refusal] of [
      [WHITELISTED, "whitelisted"],
      ["198.51.100.1", "outside configured networks"],
      ["nonsense", "invalid ip: nonsense"],
    ] as const) {
      await dialog.getByLabel("Address").fill(address);
      await dialog.getByRole("button", { name: "Ban", exact: true }).click();
      await dialog.getByRole("alert").getByText(refusal).waitFor();
    }
    expect(await opened.violations()).toEqual([]);
  });
});

describe("as time goes by", () => {
  const floods = [{ vector: "udp_flood", victim: VICTIM, pps: 1500, fromSeconds: 12, toSeconds: 20 }] as const;
  const world = useWorld({ capture: { floods, seconds: 60 } });

  test("an attack comes and goes by itself, and is read out", async () => {
    const { page } = await browser.open({ base: world.base, secret: SECRETS.viewer });
    await page.getByText("No attack now").waitFor();
    await page.getByText("Dry run", { exact: true }).waitFor();
    await page.getByRole("heading", { name: VICTIM }).waitFor();
    await page.getByText(`Attack on ${VICTIM}:`).waitFor({ state: "attached" });
    expect(await page.title()).toBe("(1) Overview – Floodwall");
    await page.getByText("Dry run: Blackhole").waitFor();
    await page.getByText("1 attack over.").waitFor({ state: "attached" });
    await page.getByRole("link", { name: "1 attack before" }).waitFor();
  }, 60_000);
});

test("with nothing captured and no speaker it says what to do", async () => {
  await browser.inWorld({}, async (world) => {
    const opened = await browser.open({ base: world.base, secret: SECRETS.viewer });
    const { page } = opened;
    for (const text of ["No attack now", "No ban in force", "No announcer"]) await page.getByText(text).waitFor();
    expect(await page.getByText("Nothing is captured").count()).toBe(2);
    expect(await opened.violations()).toEqual([]);
  });
});
