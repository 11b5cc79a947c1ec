/** The audit trail: what is in it, what is looked for in it, and how it is taken along. */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { HISTORY_ROWS_MAX } from "../../src/limits.ts";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, WHITELISTED } from "../fixtures/browser/world.ts";

const FREE = "203.0.113.90";

const browser = useBrowser();

describe("with some orders", () => {
  const dashboard = browser.useWorld({ config: "dataplane: { enabled: true, interfaces: [lo] }" }, async (world) => {
    const order = (path: string, body: object, secret: string = SECRETS.operator) =>
      world.service.post(`/api/v1/${path}`, body, secret);
    await order("ban", { ip: FREE, reason: '=HYPERLINK("http://198.51.100.9","x")' });
    await order("ban", { ip: WHITELISTED });
    await order("ban", { ip: ACME_VICTIM }, SECRETS.tenantOperator);
    await order("unban", { ip: FREE });
    const block = { source: "198.51.100.9", victim: FREE, ttl_seconds: 60 };
    await order("dataplane/sources", { ...block, reason: "scan" });
    await order("config/reload", {});
  });

  test("the newest is first, with who ordered what and what became of it; a tenant has its own", async () => {
    const { page } = await dashboard.open("/audit", SECRETS.viewer);
    await page.getByText("6 entries, newest first").waitFor();
    const rows = page.getByRole("row").filter({ has: page.getByRole("rowheader") });
    await rows.first().getByText("Reload").waitFor();
    const refused = new RegExp(`Ban rejected ${WHITELISTED} .* noc \\(operator\\) whitelisted dry run`);
    await page.getByRole("row", { name: refused }).waitFor();
    const own = new RegExp(`Ban active ${ACME_VICTIM} .* acme-noc \\(operator, acme\\)`);
    await page.getByRole("row", { name: own }).waitFor();
    await page
      .getByRole("row", { name: own })
      .getByRole("link", { name: `The ban of ${ACME_VICTIM}` })
      .click();
    await page.getByRole("heading", { name: ACME_VICTIM }).waitFor();
    await page.getByText("acme-noc", { exact: true }).waitFor();
    await page.goBack();
    await page.getByRole("link", { name: `Attacks on ${ACME_VICTIM} that ended after it` }).click();
    await page.getByText("No attack ended in this time range").waitFor();
    const tenant = await dashboard.open("/audit", SECRETS.tenantOperator);
    await tenant.page.getByText("1 entry, newest first").waitFor();
  });

  test("is filtered by action, address and time, all of it in the page's address", async () => {
    const { page } = await dashboard.open("/audit", SECRETS.viewer);
    await page.getByLabel("Action").selectOption("Ban");
    await page.getByText("3 entries").waitFor();
    await page.getByLabel("Action").selectOption("All");
    await page.getByLabel("Address").fill("203.0.113");
    await page.getByText("A complete address.").waitFor();
    await page.getByText("No events: the filter is not complete").waitFor();
    await page.getByLabel("Address").fill(FREE);
    await page.keyboard.press("Enter");
    // As the victim of a block, too.
    await page.getByText("3 entries").waitFor();
    await page.getByRole("button", { name: "24 h" }).click();
    expect(page.url()).toEndWith(`#/audit?target=${FREE}&range=24h`);
    await page.getByRole("button", { name: "From – to" }).click();
    await page.getByLabel("To", { exact: true }).fill("2026-13-01 00:00");
    await page.getByText("Like 2026-03-01 04:30.").first().waitFor();
    await page.getByLabel("From").fill("2026-03-01 00:00");
    await page.getByLabel("To", { exact: true }).fill("2026-03-02 00:00");
    await page.getByText("No events in this time range").waitFor();
    await page.getByLabel("To", { exact: true }).fill("2026-02-01 00:00");
    await page.getByText("After the begin.").waitFor();
    await page.getByText("No events: the filter is not complete").waitFor();
  });

  test("is taken along as a file", async () => {
    const { page } = await dashboard.open("/audit", SECRETS.viewer);
    const coming = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export as CSV" }).click();
    const download = await coming;
    expect(download.suggestedFilename()).toMatch(/^floodwall-audit-[\dT-]+Z\.csv$/);
    const lines = readFileSync(await download.path(), "utf8").split("\r\n");
    expect(lines).toHaveLength(8);
    expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,config_reload,ok,noc,operator,,,global,,api,,1$/);
    expect(lines[2]).toContain(",for 60 s: scan,api,");
    expect(lines[6]).toContain(`,"'=HYPERLINK(""http://198.51.100.9"",""x"")",api,`);
  });
});

test("there is more than one answer holds, and the older entries are a click away", async () => {
  await browser.inWorld({}, async (dashboard) => {
    const { service } = dashboard.world;
    for (let i = 0; i < HISTORY_ROWS_MAX + 9; i += 101) {
      const orders = Array.from({ length: 101 }, () => service.post("/api/v1/unban", { ip: FREE }, SECRETS.operator));
      for (const { status } of await Promise.all(orders)) expect(status).toBe(404);
    }
    const { page } = await dashboard.open("/audit?action=unban", SECRETS.viewer);
    await page.getByText(/^These are the newest 1\s001$/).waitFor();
    expect(await page.getByRole("row").count()).toBeLessThan(120);
    await page.getByRole("button", { name: "Older ones" }).click();
    await page.waitForURL(/range=own&to=/);
    await page.getByText(/entr(y|ies), newest first$/).waitFor();
  });
}, 60_000);
