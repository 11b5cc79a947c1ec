/** The bans: what a list tells of each, one in full, and the orders of an operator. */
import { describe, expect, test } from "bun:test";
import { useBrowser, useWorld } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, VICTIM, WHITELISTED } from "../fixtures/browser/world.ts";
import { eventually } from "../fixtures/service.ts";

const LADDER = "escalation: [{ after_seconds: 0, action: flowspec }, { after_seconds: 300, action: blackhole }]";
const FREE = "203.0.113.90";

const browser = useBrowser();

describe("under attack", () => {
  const span = { fromSeconds: 0, toSeconds: 180 };
  const floods = [
    { vector: "dns_amplification", victim: VICTIM, pps: 1500, ...span },
    { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, ...span },
    { vector: "udp_flood", victim: WHITELISTED, pps: 400, ...span },
  ] as const;
  const world = useWorld({ hasBgp: true, capture: { floods, seconds: 180 }, config: LADDER });

  const open = (secret: string, place = "/bans") => browser.open({ base: world.base, secret, place });

  test("those in force tell what the routers have, why, and what comes next", async () => {
    const { page } = await open(SECRETS.viewer);
    const row = page.getByRole("row", { name: new RegExp(`^${VICTIM}`) });
    await row.getByText("announced").waitFor();
    await row.getByText("FlowSpec", { exact: true }).waitFor();
    await row.getByText(/^Blackhole in \d+:\d\d$/).waitFor();
    await row.getByText("detection").waitFor();
    expect(await page.getByRole("button", { name: /ban/i }).count()).toBe(0);
  });

  test("refused ones say why, in the service's words", async () => {
    const opened = await open(SECRETS.viewer);
    const { page } = opened;
    await page.getByRole("button", { name: "Refused" }).click();
    await page.getByRole("row", { name: new RegExp(`^${WHITELISTED} .*whitelisted`) }).waitFor();
    expect(page.url()).toEndWith("#/bans?which=rejected");
    expect(await opened.violations()).toEqual([]);
  });

  test("one of them in full: its attack, its rules, its ladder", async () => {
    const opened = await open(SECRETS.operator);
    const { page } = opened;
    await page.getByRole("link", { name: VICTIM, exact: true }).click();
    await page.getByRole("heading", { name: "Escalation" }).waitFor();
    await page.getByRole("row", { name: /from port 53/ }).waitFor();
    await page.getByRole("link", { name: "DNS amplification in progress" }).click();
    await page.getByRole("heading", { name: "Why it fired" }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "All bans" }).click();
    await page.getByRole("heading", { name: "In force" }).waitFor();
    await page.goto(`${world.base}/#/bans/203.0.113.1%2F32/2020-01-01T00:00:00.000Z`);
    await page.getByText("is not in the list any more").waitFor();
    expect(await opened.violations()).toEqual([]);
  });

  test("a ban by hand: typed, previewed, requested, shown, ended, shown", async () => {
    const { page } = await open(SECRETS.operator);
    const begin = page.getByRole("button", { name: "Ban an address" });
    await begin.click();
    const dialog = page.getByRole("dialog", { name: "Ban an address" });
    const preview = dialog.getByRole("status");
    await dialog.getByLabel("Address").fill("203.0.113");
    await preview.getByText("An address is").waitFor();
    await dialog.getByLabel("Address").fill(WHITELISTED);
    await preview.getByText("Floodwall would refuse it: whitelisted.").waitFor();
    await dialog.getByLabel("Address").fill(FREE);
    await preview.getByText(/\(FlowSpec\) for 10 min, or until you unban it/).waitFor();
    await preview.getByText("Blackhole after 5 min").waitFor();
    await page.keyboard.press("Enter");
    await dialog.waitFor({ state: "detached" });
    await page.getByText(new RegExp(`^${FREE} is banned until`)).waitFor();
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Ban an address");
    const row = page.getByRole("row", { name: new RegExp(`^${FREE}`) });
    await row.getByText("an operator").waitFor();
    await row.getByText("announced").waitFor();
    await row.getByRole("button", { name: `Unban ${FREE}/32` }).click();
    await page
      .getByRole("dialog", { name: `Unban ${FREE}/32?` })
      .getByRole("button", { name: "Unban" })
      .click();
    await page.getByText(`The ban of ${FREE} is lifted.`).waitFor();
    await row.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Over" }).click();
    await page.getByRole("row", { name: new RegExp(`^${FREE} FlowSpec manual unban an operator`) }).waitFor();
  });

  test("from an attack it is two clicks", async () => {
    const unban = () => world.service.post("/api/v1/unban", { ip: ACME_VICTIM }, SECRETS.operator);
    await eventually(async () => (await unban()).status === 200, "detection never banned it");
    const { page } = await open(SECRETS.tenantOperator, "/attacks");
    await page.getByRole("link", { name: ACME_VICTIM, exact: true }).click();
    await page.getByRole("button", { name: `Ban ${ACME_VICTIM}`, exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Ban", exact: true }).click();
    await page.getByRole("button", { name: `Unban ${ACME_VICTIM}/32`, exact: true }).waitFor();
  });

  test("a tenant has its own, and is refused another's", async () => {
    const opened = await open(SECRETS.tenantOperator);
    opened.expectFault(/status of 403/);
    const { page } = opened;
    await page.getByRole("row", { name: new RegExp(`^${ACME_VICTIM}`) }).waitFor();
    expect(await page.getByText(VICTIM, { exact: true }).count()).toBe(0);
    await page.getByRole("button", { name: "Ban an address" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Address").fill(FREE);
    await dialog.getByRole("status").getByText("target is outside your tenant").waitFor();
    await dialog.getByRole("button", { name: "Ban", exact: true }).click();
    await dialog.getByRole("alert").getByText("target is outside your tenant").waitFor();
    expect(await opened.violations()).toEqual([]);
  });
});

describe("in dry run", () => {
  const world = useWorld();

  test("empty lists say what would be in them, and an order what it is worth", async () => {
    const opened = await browser.open({ base: world.base, secret: SECRETS.operator, place: "/bans" });
    const { page } = opened;
    for (const [button, text] of [
      ["Refused", "No ban was refused"],
      ["Over", "No ban is over yet"],
      ["In force", "No ban in force"],
    ] as const) {
      await page.getByRole("button", { name: button }).click();
      await page.getByText(text).waitFor();
    }
    await page.getByRole("button", { name: "Ban an address" }).click();
    await page.getByPlaceholder("203.0.113.7").fill("2001:db8:1::7");
    await page.getByText("Dry run: the ban is recorded for 10 min (Blackhole)").waitFor();
    expect(await opened.violations()).toEqual([]);
  });
});

test("of thousands only those in sight are in the page, and one is found among them", async () => {
  await browser.inWorld({}, async (world) => {
    const many = world.options.config.replace("hysteresis_seconds: 2", "hysteresis_seconds: 2, max_active_bans: 10000");
    world.service.writeConfig(many);
    const reload = await world.service.post("/api/v1/config/reload", {}, SECRETS.operator);
    expect(reload.status).toBe(200);
    const addresses = Array.from({ length: 3000 }, (_, i) => `2001:db8:1:1::${(i + 1).toString(16)}`);
    for (let i = 0; i < addresses.length; i += 100) {
      const answers = addresses
        .slice(i, i + 100)
        .map((ip) => world.service.post("/api/v1/ban", { ip }, SECRETS.operator));
      for (const { status } of await Promise.all(answers)) expect(status).toBe(200);
    }
    const opened = await browser.open({ base: world.base, secret: SECRETS.operator, place: "/bans" });
    const { page } = opened;
    await page.getByText(/^3\s000 in all$/).waitFor();
    const rows = page.getByRole("row");
    expect(await rows.count()).toBeLessThan(120);
    await page.getByRole("button", { name: "Address", exact: true }).click();
    await page.getByRole("region", { name: "Bans in force: table" }).focus();
    await page.keyboard.press("End");
    await eventually(async () => (await rows.last().textContent())?.includes("2001:db8:1:1::bb8") === true, "no end");
    await page.getByLabel("Find").fill("::bb8 manual");
    await page.getByText(/^1 of 3\s000$/).waitFor();
    await page.getByRole("link", { name: "2001:db8:1:1::bb8", exact: true }).waitFor();
    expect(await opened.violations()).toEqual([]);
  });
}, 60_000);
