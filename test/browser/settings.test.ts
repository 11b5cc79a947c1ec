/** The settings: what is configured, and a reload with all that may come of it. */
import { beforeEach, expect, test } from "bun:test";
import type { Route } from "playwright-core";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS } from "../fixtures/browser/world.ts";
import { eventually } from "../fixtures/service.ts";

const dashboard = useBrowser().useWorld({
  config: "detection: { tick_ms: 100 }\nnotify: { targets: [{ name: noc, webhook: { url_env: NOWHERE_URL } }] }",
});

/** Writes the configuration with each of these replaced. */
function write(changes: Readonly<Record<string, string>> = {}): void {
  const { service, options } = dashboard.world;
  service.writeConfig(Object.entries(changes).reduce((text, [from, to]) => text.replace(from, to), options.config));
}

beforeEach(async () => {
  write();
  expect((await dashboard.world.service.post("/api/v1/config/reload", {}, SECRETS.operator)).status).toBe(200);
});

type TestPage = Awaited<ReturnType<typeof dashboard.open>>;

async function reload({ page }: TestPage): Promise<void> {
  await page.getByRole("button", { name: "Reload …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reload" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

test("shows what is in force, and a hostgroup in full", async () => {
  const { page } = await dashboard.open("/settings", SECRETS.viewer);
  const row = /^acme-web 203\.0\.113\.0\/26 300 pps 50\.0 Mbit\/s .* Blackhole 10 min acme$/;
  await page.getByRole("row", { name: row }).waitFor();
  for (const name of ["Service", "Detection", "BGP", "Nodes", "Notifications"]) {
    await page.getByRole("heading", { name, exact: true }).waitFor();
  }
  await page.getByText("203.0.113.53/32").waitFor();
  expect(await page.getByRole("button", { name: "Reload …" }).count()).toBe(0);
  await page.getByRole("link", { name: "acme-web" }).click();
  await page.getByRole("heading", { name: "Hostgroup acme-web" }).waitFor();
  await page.getByText("Off: its thresholds are fixed.").waitFor();
});

test("a reload puts the file in force, and says what waits for a restart, also to who looks later", async () => {
  const opened = await dashboard.open("/settings");
  const { page } = opened;
  write({ "pps: 300": "pps: 4000", "tick_ms: 100": "tick_ms: 50" });
  await page.getByRole("button", { name: "Reload …" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("listitem").filter({ hasText: "thresholds: pps: 300 → 4000" }).waitFor();
  await dialog.getByText("Only after a restart: detection.tick_ms.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  const held: Route[] = [];
  await page.route("**/reload/preview", (route) => void held.push(route));
  await page.getByRole("button", { name: "Reload …" }).click();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Reload …" }).click();
  await eventually(() => held.length === 2, "each dialog reads what the reload changes");
  const first = page.waitForResponse("**/reload/preview");
  await held[0]?.continue();
  await (await first).finished();
  await page.evaluate("new Promise((resolve) => setTimeout(resolve, 50))");
  expect(await dialog.getByRole("button", { name: "Reload" }).isDisabled()).toBe(true);
  await held[1]?.continue();
  await dialog.getByText("Only after a restart: detection.tick_ms.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.unroute("**/reload/preview");
  await reload(opened);
  const result = page.getByRole("alert").filter({ hasText: /^Reloaded at \d\d:\d\d:\d\d UTC/ });
  await result.getByText("4.00 kpps").waitFor();
  await page.getByText("detection.tick_ms").waitFor();
  await page.getByRole("row", { name: /^acme-web .* 4\.00 kpps/ }).waitFor();
  const { page: later } = await dashboard.open("/settings", SECRETS.viewer);
  await later.getByText("Waiting for a restart").waitFor();
});

test("a file with faults changes nothing: each is shown by its line and its key", async () => {
  const opened = await dashboard.open("/settings");
  opened.expectFault(/status of 400/);
  const { page } = opened;
  write({ "pps: 300": "pps: -3", "dry_run:": "dryrun:" });
  await reload(opened);
  const faults = page.getByRole("alert").getByRole("listitem");
  await faults.filter({ hasText: /floodwall\.yaml:\d+ thresholds\.pps must be a number greater than 0/ }).waitFor();
  await faults.filter({ hasText: /floodwall\.yaml:\d+ dryrun unknown key/ }).waitFor();
  expect(await faults.count()).toBe(2);
  await page.getByRole("row", { name: /^acme-web .* 300 pps/ }).waitFor();
});

test("a reload by another operator shows without a click", async () => {
  const { page } = await dashboard.open("/settings", SECRETS.viewer);
  await page.getByRole("row", { name: /^acme-web .* 300 pps/ }).waitFor();
  write({ "pps: 300": "pps: 700" });
  dashboard.world.service.signal("SIGHUP");
  await page.getByRole("row", { name: /^acme-web .* 700 pps/ }).waitFor();
});

test("thresholds of a hostgroup are changed over the configuration, and taken back", async () => {
  const opened = await dashboard.open("/settings/acme-web");
  const { page } = opened;
  await page.getByRole("button", { name: "Change the settings of acme-web" }).click();
  const dialog = page.getByRole("dialog", { name: "Change the settings of acme-web" });
  await dialog.getByLabel("Packets, per second").fill("9000");
  await dialog.getByLabel("Method").selectOption("Blackhole");
  await dialog.getByLabel("Never banned").fill("203.0.113.9");
  await dialog.getByLabel("Reason").fill("ticket 8");
  expect(await opened.violations()).toEqual([]);
  await dialog.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByText(/^packets 9\.00 kpps, blackhole, never bans 203\.0\.113\.9 \(by noc\)$/i).waitFor();
  await page.getByText("9.00 kpps", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Take back the settings of acme-web" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Take back", exact: true }).click();
  await page.getByText("300 pps").waitFor();
  await page.getByText("by noc").waitFor({ state: "detached" });
});

test("an open dialog orders what its fields show, also after the hostgroup was changed elsewhere", async () => {
  const { service } = dashboard.world;
  const path = "/api/v1/hostgroups/acme-web/settings";
  const { page } = await dashboard.open("/settings/acme-web");
  await page.getByRole("button", { name: "Change the settings of acme-web" }).click();
  const dialog = page.getByRole("dialog", { name: "Change the settings of acme-web" });
  await dialog.getByLabel("Packets, per second").fill("5000");
  await service.order("PUT", path, { thresholds: { pps: 8000 } }, SECRETS.operator);
  await service.post("/api/v1/config/reload", {}, SECRETS.operator);
  await page.getByText("8.00 kpps", { exact: true }).waitFor();
  await dialog.getByLabel("Packets, per second").fill("50000");
  await dialog.getByRole("button", { name: "Change", exact: true }).click();
  await page.getByText("50.0 kpps", { exact: true }).waitFor();
  await service.order("DELETE", path, {}, SECRETS.operator);
});

test("a tenant has its own hostgroups, its session and its theme, and nothing to reload", async () => {
  const { page } = await dashboard.open("/settings", SECRETS.tenantOperator);
  await page.getByRole("row", { name: /^acme-web/ }).waitFor();
  expect(await page.getByRole("row", { name: /^global/ }).count()).toBe(0);
  expect(await page.getByRole("button", { name: "Reload …" }).count()).toBe(0);
  expect(await page.getByRole("heading", { name: "Detection" }).count()).toBe(0);
  await page.getByRole("button", { name: "Dark", exact: true }).click();
  expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
  await page.getByRole("main").getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
});

test("an operator tests a target of notifications, and sees why it fails; a viewer sees the target alone", async () => {
  const { page } = await dashboard.open("/settings", SECRETS.operator);
  await page.getByRole("button", { name: "Test noc" }).click();
  await page.getByText("A test waits for noc.").waitFor();
  await page.getByRole("row", { name: /^noc Webhook .*the variable NOWHERE_URL is not set/ }).waitFor();
  const { page: seen } = await dashboard.open("/settings", SECRETS.viewer);
  await seen.getByRole("heading", { name: "Targets of notifications" }).waitFor();
  expect(await seen.getByRole("button", { name: "Test noc" }).count()).toBe(0);
});

test("the settings say which targets an event would get to", async () => {
  const own = await dashboard.open("/settings", SECRETS.viewer);
  const { page } = own;
  await page.getByText("Which targets would get it?").click();
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await page.getByText("It goes to noc.").waitFor();
  await page.getByLabel("Event").fill("nothing");
  own.expectFault(/status of 400/);
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await page.getByText(/No answer: event must be one of attack_started/).waitFor();
  expect(await own.violations()).toEqual([]);
});
