/** Undo: what the page offers after an order, what it restores, and the row of the audit trail. */
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS, VICTIM } from "../fixtures/browser/world.ts";
import { eventually } from "../fixtures/service.ts";

const dashboard = useBrowser().useWorld({ config: "dataplane: { interfaces: [lo] }\n", capture: null });
const SOURCE = "198.51.100.9";

interface Row {
  readonly result: string;
  readonly reason: string;
}

async function hasRow(action: string, row: Row): Promise<void> {
  let rows: Row[] = [];
  await eventually(
    async () => {
      const path = `/api/v1/audit?action=${action}`;
      const { body } = await dashboard.world.service.get<{ events: Row[] }>(path, SECRETS.operator);
      rows = body.events.map(({ result, reason }) => ({ result, reason }));
      return rows.some((each) => Bun.deepEquals(each, row));
    },
    () => `no row of ${action} with ${JSON.stringify(row)}: ${JSON.stringify(rows)}`,
    10_000,
    100,
  );
}

async function undo(page: Page, label: string): Promise<void> {
  await page.getByRole("button", { name: label, exact: true }).click();
  await page.getByText("It is undone.").waitFor();
  expect(await page.getByRole("button", { name: /^Undo / }).count()).toBe(0);
}

const order = (method: "POST" | "PUT" | "DELETE", path: string, body: object) =>
  dashboard.world.service.order(method, path, body, SECRETS.operator);
const read = async <T>(path: string) => (await dashboard.world.service.get<T>(path, SECRETS.operator)).body;

async function ban(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Ban an address" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Address").fill(VICTIM);
  await dialog.getByRole("button", { name: "Ban" }).click();
  await dialog.waitFor({ state: "detached" });
}

test("a ban can be undone for a minute; neither one that refreshed another, nor an unban", async () => {
  const opened = await dashboard.open("/mitigation");
  const { page } = opened;
  await ban(page);
  await page.getByText(`${VICTIM} is banned until`).waitFor();
  expect(await opened.violations()).toEqual([]);
  await undo(page, `Undo the ban of ${VICTIM}`);
  await hasRow("unban", { result: "withdrawn", reason: "manual unban: undo of the ban" });

  await order("POST", "/api/v1/ban", { ip: VICTIM });
  await page
    .getByRole("button", { name: `Unban ${VICTIM}/32` })
    .first()
    .waitFor();
  await ban(page);
  await page.getByText(`${VICTIM} is banned until`).waitFor();
  expect(await page.getByRole("button", { name: /^Undo / }).count()).toBe(0);

  await page
    .getByRole("button", { name: `Unban ${VICTIM}/32` })
    .first()
    .click();
  await page.getByRole("dialog").getByRole("button", { name: "Unban" }).click();
  await page.getByText(`The ban of ${VICTIM} is lifted.`).waitFor();
  expect(await page.getByRole("button", { name: /^Undo / }).count()).toBe(0);
});

test("an unban ends the ban that its dialog names: no narrower one, and none that began since", async () => {
  const inForce = async () => {
    const { bans } = await read<{ bans: { prefix: string; state: string }[] }>("/api/v1/bans");
    return bans.flatMap(({ prefix, state }) => (state === "active" ? [prefix] : []));
  };
  const wide = "203.0.113.0/28";
  const { page } = await dashboard.open("/mitigation");
  const dialog = page.getByRole("dialog");
  const ask = (prefix: string) =>
    page
      .getByRole("button", { name: `Unban ${prefix}` })
      .first()
      .click();
  for (const target of [{ prefix: wide, method: "scrub" }, { ip: "203.0.113.0" }])
    await order("POST", "/api/v1/ban", target);
  await ask(wide);
  await dialog.getByRole("button", { name: "Unban" }).click();
  await page.getByText(`The ban of ${wide} is lifted.`).waitFor();
  expect(await inForce()).toEqual(["203.0.113.0/32"]);
  // The button that had it is gone.
  await page.locator("h1:focus").waitFor();

  await ask("203.0.113.0/32");
  await order("POST", "/api/v1/unban", { ip: "203.0.113.0" });
  await order("POST", "/api/v1/ban", { ip: "203.0.113.0" });
  await dialog.getByText("This ban is not in force any more.").waitFor();
  expect(await dialog.getByRole("button", { name: "Unban" }).isDisabled()).toBe(true);
  expect(await inForce()).toEqual(["203.0.113.0/32"]);
});

test("a source block can be undone, and so can its end, with the time and the reason that it had", async () => {
  const path = "/api/v1/dataplane/sources";
  const blocks = async () => (await read<{ sources: { expires_at: string; reason: string }[] }>(path)).sources;
  const { page } = await dashboard.open("/mitigation?which=blocks");
  await page.getByRole("button", { name: "Block a source" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Source").fill(SOURCE);
  await dialog.getByLabel("Victim").fill(VICTIM);
  await dialog.getByRole("button", { name: "Block" }).click();
  await undo(page, `Undo the block of ${SOURCE}`);
  expect(await blocks()).toEqual([]);
  await hasRow("source_unblock", { result: "removed", reason: "undo of the block" });

  await order("POST", path, { source: SOURCE, victim: VICTIM, ttl_seconds: 5000, reason: "ticket 7" });
  const [before] = await blocks();
  await page.getByRole("button", { name: `Unblock ${SOURCE}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Unblock" }).click();
  await undo(page, `Undo the end of the block of ${SOURCE}`);
  const [after] = await blocks();
  expect(after?.reason).toBe("undo of the unblock: ticket 7");
  const shiftMs = Date.parse(after?.expires_at ?? "") - Date.parse(before?.expires_at ?? "");
  // Its time goes in whole seconds.
  expect(Math.abs(shiftMs)).toBeLessThan(2000);
});

test("a filter rule and a profile can be undone; not a profile that replaced another", async () => {
  const { page } = await dashboard.open("/mitigation?which=rules");
  await page.getByRole("button", { name: "Add rule to the filter rules" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("closed");
  await dialog.getByLabel("Destinations").fill(VICTIM);
  await dialog.getByRole("button", { name: "Add rule" }).click();
  await undo(page, "Undo the rule closed");
  await hasRow("filter_rule", { result: "cleared", reason: `drop dst ${VICTIM}/32: undo of the order` });

  await page.evaluate('location.hash = "#/mitigation?which=protection"');
  const choose = async () => {
    await page.getByRole("button", { name: "Set profile of a prefix" }).click();
    await dialog.getByLabel("Address or prefix").fill(VICTIM);
    await dialog.getByRole("button", { name: "Set profile" }).click();
    await dialog.waitFor({ state: "detached" });
  };
  await choose();
  await undo(page, `Undo the profile of ${VICTIM}/32`);
  await hasRow("protection", { result: "cleared", reason: `${VICTIM}/32: undo of the choice` });
  await order("PUT", `/api/v1/protection/${VICTIM}`, { profile: "dns" });
  await choose();
  await page.getByText(`${VICTIM}/32: `, { exact: false }).first().waitFor();
  expect(await page.getByRole("button", { name: /^Undo / }).count()).toBe(0);
});
