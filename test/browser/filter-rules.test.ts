/** The operator's rules in the dashboard: listed in their order, ordered by keyboard, refused, removed; and the prefix sets. */
import { expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS, VICTIM } from "../fixtures/browser/world.ts";

const config = `
dataplane: { interfaces: [lo] }
prefix_sets: [{ name: bogons }]
filter_rules:
  - { name: private, action: drop, source_sets: [bogons], dry_run: true }
  - { name: handshakes, action: limit, handshake: tls, packets_per_second: 20, per: source, when: attacked }
`;
// In dry run nothing is attached to the interface, and rules have no counters.
const dashboard = useBrowser().useWorld({ config, capture: null });
const PLACE = "/mitigation?which=rules";
/** Room for the reason of a rule also in the last hour of a day, when the end of its time has a date. */
const WIDE = { width: 1800, height: 900 };

test("rules and prefix sets are listed; a rule is ordered by keyboard, hides another, and is removed", async () => {
  const opened = await dashboard.open(PLACE, SECRETS.operator, { viewport: WIDE });
  const { page } = opened;
  await page
    .getByRole("row", { name: /^private src-set bogons drop at all times only counts – – configuration/ })
    .waitFor();
  const limit = page.getByRole("row", { name: /^handshakes .* limit to 20 p.* of each source while attacked/ });
  await limit.waitFor();
  await page.getByRole("row", { name: /^bogons built in \d+ – – – up to date$/ }).waitFor();
  await page.getByRole("button", { name: "Add rule to the filter rules" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Add a filter rule" });
  const keys = dialog.getByLabel("Other keys");
  await keys.fill("ttl");
  await dialog.getByText("This is no JSON object").waitFor();
  await keys.fill("");
  await dialog.getByLabel("Name").fill("closed");
  await dialog.getByLabel("Destinations").fill(VICTIM);
  await dialog.getByLabel("Protocol").selectOption("tcp");
  await dialog.getByLabel("Ports", { exact: true }).fill("443, 8000-8010");
  await dialog.getByLabel("Reason").fill("ticket 7");
  await dialog.getByLabel("Action").selectOption("Limit");
  await dialog.getByLabel("Packets per second").waitFor();
  expect(await opened.violations()).toEqual([]);
  await dialog.getByLabel("Action").selectOption("Drop");
  await dialog.getByLabel("Packets per second").waitFor({ state: "detached" });
  await dialog.getByLabel("Name").focus();
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.getByText(/^closed: drop at all times until/).waitFor();
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Add rule to the filter rules");
  const row = page.getByRole("row", { name: new RegExp(`^closed dst ${VICTIM}/32 .*443.* drop at all times`) });
  await row.getByText("ticket 7").waitFor();
  expect(await page.getByRole("table").first().getByRole("rowheader").allTextContents()).toEqual([
    expect.stringMatching(/^closed/),
    expect.stringMatching(/^private/),
    expect.stringMatching(/^handshakes/),
  ]);
  expect(await limit.getByRole("button").count()).toBe(0);
  expect(await opened.violations()).toEqual([]);
  await row.getByRole("button", { name: "Remove the rule closed" }).click();
  await page.getByRole("dialog").getByLabel("Reason").fill("ticket 7 is over");
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText("The rule closed is removed.").waitFor();
  await row.waitFor({ state: "detached" });
  await page.goto(`${dashboard.world.base}/#/audit?action=filter_rule`);
  await page.getByRole("row", { name: /Filter rule cleared closed .*: ticket 7 is over/ }).waitFor();
  await page
    .getByRole("row", { name: /Filter rule set closed/ })
    .getByRole("link", { name: "The filter rule closed" })
    .click();
  await page.getByText("No rule matches").waitFor();
});

test("a wide order makes others never match, and the list says so", async () => {
  const { service } = dashboard.world;
  const order = { name: "all", action: "drop", ttl_seconds: 60 };
  expect((await service.post("/api/v1/filter-rules", order, SECRETS.operator)).status).toBe(200);
  const { page } = await dashboard.open(PLACE);
  await page.getByRole("row", { name: /^handshakes .* never matches: behind all/ }).waitFor();
  expect((await service.order("DELETE", "/api/v1/filter-rules/all", {}, SECRETS.operator)).status).toBe(200);
});

test("a refusal is shown in the service's words, and what was typed stays", async () => {
  const opened = await dashboard.open(PLACE, SECRETS.operator, { viewport: WIDE });
  opened.expectFault(/status of 4(00|09)/);
  const { page } = opened;
  await page.getByRole("button", { name: "Add rule to the filter rules" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("private");
  const keys = dialog.getByLabel("Other keys");
  await keys.fill("ttl");
  await dialog.getByText("This is no JSON object").waitFor();
  await keys.fill('{"ttl": "1-500"}');
  for (const [ttl, refusal] of [
    ["1-500", /ttl: Must be/],
    ["1-5", "the configuration has a rule of this name: choose another"],
  ] as const) {
    await keys.fill(`{"ttl": "${ttl}"}`);
    await dialog.getByRole("button", { name: "Add rule", exact: true }).click();
    await dialog.getByRole("alert").getByText(refusal).waitFor();
    expect(await dialog.getByLabel("Name").inputValue()).toBe("private");
  }
});

test("a rule for all traffic shows its effect, and is ordered once its name is typed again", async () => {
  const opened = await dashboard.open(PLACE, SECRETS.operator, { viewport: WIDE });
  const { page } = opened;
  await page.getByRole("button", { name: "Add rule to the filter rules" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("everything");
  await dialog.getByText(/^Its effect is not known: /).waitFor();
  await dialog.getByText("Behind it never match: private, handshakes.").waitFor();
  const again = dialog.getByLabel("Confirmation");
  await again.fill("anything");
  await dialog.getByText("This is another name.").waitFor();
  await dialog.getByRole("button", { name: "Add rule", exact: true }).click();
  await dialog
    .getByRole("alert")
    .getByText(/Type “everything” again to go on/)
    .waitFor();
  expect(await opened.violations()).toEqual([]);
  await dialog.getByLabel("Protocol").selectOption("tcp");
  await again.waitFor({ state: "detached" });
  await dialog.getByLabel("Protocol").selectOption("any");
  await again.fill("everything");
  // It was typed for another rule than the one that is ordered now, but not for another reason.
  await dialog.getByLabel("When").selectOption("attacked");
  await dialog.getByText("Type “everything” again").first().waitFor();
  expect(await again.inputValue()).toBe("");
  await again.fill("everything");
  await dialog.getByLabel("Reason").fill("ticket 7");
  await dialog.getByRole("button", { name: "Add rule", exact: true }).click();
  await dialog.waitFor({ state: "detached" });
  const { service } = dashboard.world;
  expect((await service.order("DELETE", "/api/v1/filter-rules/everything", {}, SECRETS.operator)).status).toBe(200);
});

test("a viewer only looks, and a tenant has no such list", async () => {
  const { page } = await dashboard.open(PLACE, SECRETS.viewer);
  await page.getByRole("row", { name: /^handshakes/ }).waitFor();
  expect(await page.getByRole("button", { name: /add|remove/i }).count()).toBe(0);
  const tenant = await dashboard.open(PLACE, SECRETS.tenantOperator);
  await tenant.page.getByRole("heading", { name: "In force" }).waitFor();
  expect(await tenant.page.getByRole("button", { name: "Filter rules" }).count()).toBe(0);
});
