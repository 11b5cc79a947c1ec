/** Protection profiles in the dashboard: of a host and its source, chosen, changed, removed, listed. */
import { afterEach, expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, VICTIM } from "../fixtures/browser/world.ts";

const PATH = "/api/v1/protection";
const config = `
mitigation: scrub
dataplane: { interfaces: [lo] }
scrub_profiles: [{ name: voice, services: [{ protocol: udp, ports: ["5060"] }] }]
`;
const base = `
networks: [203.0.113.0/24, "2001:db8:1::/48"]
thresholds: { pps: 300, mbps: 50, flows_per_sec: 5000 }
hostgroups:
  - name: acme-web
    networks: [203.0.113.0/26]
    tenant: acme
    scrub: { profile: web, selectable_profiles: [voice] }
`;
interface Listed {
  readonly protections: readonly { readonly prefix: string }[];
}

// In dry run nothing is attached to the interface.
const dashboard = useBrowser().useWorld({ base, config });
const order = (method: string, prefix: string, body: object | null, secret: string) =>
  fetch(`${dashboard.world.base}${PATH}/${encodeURIComponent(prefix)}`, {
    method,
    headers: { "content-type": "application/json", authorization: `Bearer ${secret}` },
    ...(body !== null && { body: JSON.stringify(body) }),
  });
// The next test begins with none.
afterEach(async () => {
  const { protections } = (await dashboard.world.service.get<Listed>(PATH, SECRETS.operator)).body;
  for (const { prefix } of protections) await order("DELETE", prefix, null, SECRETS.operator);
});

test("a host has its protection and who decided; it is changed by keyboard, and removed in the list", async () => {
  const opened = await dashboard.open(`/hosts/${ACME_VICTIM}`);
  const { page } = opened;
  const panel = page.getByRole("region", { name: "Protection" });
  await panel.getByText("the configuration").waitFor();
  await panel.getByText("while attacked").waitFor();
  await panel.getByText("tcp/80,443 · udp/443").waitFor();
  await panel.getByRole("button", { name: `Change the protection of ${ACME_VICTIM}` }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Set a protection profile" });
  await dialog.getByLabel("Profile").selectOption("voice");
  await dialog.getByText("udp/5060").waitFor();
  await dialog.getByLabel("When").selectOption("At all times");
  await dialog.getByLabel("Note").fill("ticket 7");
  expect(await opened.violations()).toEqual([]);
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.getByText(`${ACME_VICTIM}/32: voice, by noc, at all times.`).waitFor();
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toContain("Change the protection");
  for (const text of ["at all times", "udp/5060", "ticket 7"]) await panel.getByText(text, { exact: true }).waitFor();
  expect(await opened.violations()).toEqual([]);
  await panel.getByRole("link", { name: `${ACME_VICTIM}/32` }).click();
  const row = page.getByRole("row", { name: `${ACME_VICTIM}/32 voice at all times acme-web noc ticket 7` });
  await row.getByRole("button", { name: `Change the protection of ${ACME_VICTIM}/32` }).click();
  expect(await dialog.getByLabel("Profile").inputValue()).toBe("voice");
  expect(await dialog.getByLabel("When").inputValue()).toBe("always");
  expect(await dialog.getByLabel("Note").inputValue()).toBe("ticket 7");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await row.getByRole("button", { name: `Remove the choice for ${ACME_VICTIM}/32` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await page.getByText(`${ACME_VICTIM}/32: web, by the configuration, while attacked.`).waitFor();
  await page.getByText("Nothing is chosen").waitFor();
  await page.goto(`${dashboard.world.base}/#/audit?action=protection`);
  const event = page.getByRole("row", { name: new RegExp(`Protection set ${ACME_VICTIM}`) }).first();
  await event.getByRole("link", { name: "protection" }).click();
  await page.getByText("Nothing is chosen").waitFor();
});

test("the list has choices and hostgroups", async () => {
  const opened = await dashboard.open("/mitigation?which=protection");
  const { page } = opened;
  await page.getByText("Nothing is chosen").waitFor();
  await page.getByRole("row", { name: /^acme-web web no tcp\/80,443/ }).waitFor();
  await page.getByRole("button", { name: "Set profile of a prefix" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Address or prefix").fill("203.0.113.64/26");
  await dialog.getByRole("button", { name: "Set profile", exact: true }).click();
  await page.getByRole("row", { name: /^203\.0\.113\.64\/26 web while attacked global noc/ }).waitFor();
  expect(await opened.violations()).toEqual([]);
});

test("a tenant chooses from what it may, and sees an operator's choice without its words; a viewer only looks", async () => {
  const chosen = { profile: "game", always: true, note: "owes us money" };
  expect((await order("PUT", ACME_VICTIM, chosen, SECRETS.operator)).status).toBe(200);
  expect((await order("PUT", VICTIM, chosen, SECRETS.operator)).status).toBe(200);
  const { page } = await dashboard.open("/mitigation?which=protection", SECRETS.tenantOperator);
  const row = page.getByRole("row", { name: new RegExp(`^${ACME_VICTIM}/32 game at all times acme-web an operator`) });
  await row.waitFor();
  expect(await row.getByRole("button").count()).toBe(0);
  expect(await page.getByText(/owes us/).count()).toBe(0);
  expect(await page.getByText(VICTIM).count()).toBe(0);
  await page.getByRole("button", { name: "Set profile of a prefix" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Profile").waitFor();
  expect(await dialog.getByLabel("Profile").getByRole("option").allTextContents()).toEqual(["voice"]);
  expect(await dialog.getByLabel("When").count()).toBe(0);
  await dialog.getByLabel("Address or prefix").fill("203.0.113.9");
  await page.keyboard.press("Enter");
  await page.getByRole("row", { name: /^203\.0\.113\.9\/32 voice while attacked acme-web/ }).waitFor();
  const viewer = await dashboard.open(`/hosts/${ACME_VICTIM}`, SECRETS.viewer);
  await viewer.page.getByRole("region", { name: "Protection" }).getByText("at all times").waitFor();
  expect(await viewer.page.getByRole("button", { name: /protection/i }).count()).toBe(0);
});
