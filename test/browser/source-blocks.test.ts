/** The source blocks in the mitigation view: ordered, refused, ended. */
import { afterEach, expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, WHITELISTED } from "../fixtures/browser/world.ts";

const SOURCE = "198.51.100.9";
const FREE = "203.0.113.90";
const PATH = "/api/v1/dataplane/sources";

interface Blocks {
  readonly sources: readonly { readonly source: string; readonly victim: string }[];
}

// In dry run nothing is attached to it.
const dashboard = useBrowser().useWorld({ config: "dataplane: { enabled: true, interfaces: [lo] }" });
// The next test begins with none.
afterEach(async () => {
  const { service } = dashboard.world;
  const { sources } = (await service.get<Blocks>(PATH, SECRETS.operator)).body;
  for (const { source, victim } of sources) {
    await service.post(`${PATH}/unblock`, { source, victim }, SECRETS.operator);
  }
});

test("a block is ordered, shown, found, and ended", async () => {
  const opened = await dashboard.open("/mitigation?kind=block");
  const { page } = opened;
  await page.getByText("No source is blocked").waitFor();
  await page.getByRole("button", { name: "Block a source" }).click();
  const dialog = page.getByRole("dialog", { name: "Block a source" });
  await dialog.getByLabel("Source").fill(SOURCE);
  await dialog.getByLabel("Victim").fill("198.51.100.1");
  await dialog.getByText("Floodwall would refuse it: victim is outside configured networks.").waitFor();
  await dialog.getByLabel("Victim").fill(FREE);
  await dialog.getByText(/^Its effect is not known: /).waitFor();
  await dialog.getByLabel("For").selectOption("6 h");
  await dialog.getByLabel("Reason").fill("scans ports");
  await dialog.getByText("expires after 6 h").waitFor();
  expect(await opened.violations()).toEqual([]);
  await dialog.getByRole("button", { name: "Block" }).click();
  await page.getByText(new RegExp(`^${SOURCE} is blocked for ${FREE} until .*dry run`)).waitFor();
  const row = page.getByRole("row", {
    name: new RegExp(`${SOURCE} → ${FREE} Block .* dry run in 5:.* not applied .*noc`),
  });
  await row
    .getByRole("link", { name: /audit trail of/ })
    .and(row.getByTitle("scans ports"))
    .waitFor();
  await row.getByText(/^5:59:\d\d$/).waitFor();
  await page.getByLabel("Find").fill("elsewhere");
  await page.getByText("Nothing in force matches").waitFor();
  await page.getByLabel("Find").fill("scans");
  await row.getByRole("button", { name: `Unblock ${SOURCE} to ${FREE}` }).click();
  await page.getByRole("dialog").getByLabel("Reason").fill("the scan is over");
  await page.getByRole("dialog").getByRole("button", { name: "Unblock" }).click();
  await page.getByText(`${SOURCE} is no longer blocked for ${FREE}.`).waitFor();
  await page.getByText("No source is blocked").waitFor();
  await page.goto(`${dashboard.world.base}/#/audit`);
  await page.getByRole("row", { name: /Source unblock removed .*the scan is over/ }).waitFor();
  const event = page.getByRole("row", { name: new RegExp(`Source block blocked ${SOURCE} → ${FREE}`) }).first();
  await event.getByRole("link", { name: /^Source blocks of/ }).click();
  await page.getByText("No source is blocked").waitFor();
});

test("a ban and a block end together", async () => {
  const { service } = dashboard.world;
  const order = { source: SOURCE, victim: FREE, ttl_seconds: 600 };
  expect((await service.post(PATH, order, SECRETS.operator)).status).toBe(200);
  expect((await service.post("/api/v1/ban", { ip: FREE }, SECRETS.operator)).status).toBe(200);
  const { page } = await dashboard.open("/mitigation");
  await page.getByLabel(`Select ${SOURCE} → ${FREE}`).check();
  await page.getByLabel(`Select ${FREE}`, { exact: true }).check();
  await page.getByRole("button", { name: "Unban and unblock 2 selected" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Unban and unblock 2" }).click();
  await page.getByText("2 of 2 ended.").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByText("Nothing is in force").waitFor();
});

test("refusals are shown in the service's words, and what was typed stays", async () => {
  const opened = await dashboard.open("/mitigation?kind=block");
  opened.expectFault(/status of 4(00|09)/);
  const { page } = opened;
  await page.getByRole("button", { name: "Block a source" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("For").selectOption("Another time");
  for (const [source, victim, seconds, refusal] of [
    [SOURCE, WHITELISTED, "60", "victim is in the protected whitelist"],
    [SOURCE, ACME_VICTIM, "86401", "from 1 to 86400"],
    ["nonsense", ACME_VICTIM, "60", "nonsense is no address."],
  ] as const) {
    await dialog.getByLabel("Source").fill(source);
    await dialog.getByLabel("Victim").fill(victim);
    await dialog.getByLabel("Seconds").fill(seconds);
    await dialog.getByRole("button", { name: "Block" }).click();
    await dialog.getByRole("alert").getByText(refusal).waitFor();
    expect(await dialog.getByLabel("Victim").inputValue()).toBe(victim);
  }
});

test("a viewer only looks; a tenant has those of its own victims", async () => {
  for (const victim of [ACME_VICTIM, FREE]) {
    const order = { source: SOURCE, victim, ttl_seconds: 600 };
    expect((await dashboard.world.service.post(PATH, order, SECRETS.operator)).status).toBe(200);
  }
  const viewer = await dashboard.open("/mitigation", SECRETS.viewer);
  await viewer.page.getByRole("row", { name: new RegExp(`^${SOURCE} → ${FREE}`) }).waitFor();
  expect(await viewer.page.getByRole("button", { name: /block/i }).count()).toBe(0);
  const tenant = await dashboard.open("/mitigation", SECRETS.tenantOperator);
  await tenant.page.getByRole("row", { name: new RegExp(`${SOURCE} → ${ACME_VICTIM}`) }).waitFor();
  expect(await tenant.page.getByText(FREE).count()).toBe(0);
});
