/** The settings: what is configured, and a reload with all that may come of it. */
import { beforeEach, expect, test } from "bun:test";
import { useBrowser, useWorld } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS } from "../fixtures/browser/world.ts";

const CONFIG = "detection: { tick_ms: 100 }";

const browser = useBrowser();
const world = useWorld({ config: CONFIG });

beforeEach(async () => {
  world.service.writeConfig(world.options.config);
  expect((await world.service.post("/api/v1/config/reload", {}, SECRETS.operator)).status).toBe(200);
});

const open = (secret: string, place = "/settings") => browser.open({ base: world.base, secret, place });

async function reload(page: Awaited<ReturnType<typeof open>>["page"]): Promise<void> {
  await page.getByRole("button", { name: "Reload …" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reload" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

test("shows what is in force, and a hostgroup in full", async () => {
  const opened = await open(SECRETS.viewer);
  const { page } = opened;
  await page
    .getByRole("row", { name: /^acme-web 203\.0\.113\.0\/26 300 pps 50\.0 Mbit\/s .* Blackhole 10 min acme$/ })
    .waitFor();
  for (const heading of ["Service", "Detection", "BGP", "Nodes", "Notifications"]) {
    await page.getByRole("heading", { name: heading, exact: true }).waitFor();
  }
  await page.getByText("203.0.113.53/32").waitFor();
  expect(await page.getByRole("button", { name: "Reload …" }).count()).toBe(0);
  await page.getByRole("link", { name: "acme-web" }).click();
  await page.getByRole("heading", { name: "Hostgroup acme-web" }).waitFor();
  await page.getByText("Off: its thresholds are fixed.").waitFor();
  expect(await opened.violations()).toEqual([]);
});

test("a reload puts the file in force, and says what waits for a restart", async () => {
  const opened = await open(SECRETS.operator);
  const { page } = opened;
  const changed = world.options.config.replace("pps: 300", "pps: 4000").replace("tick_ms: 100", "tick_ms: 50");
  world.service.writeConfig(changed);
  await reload(page);
  const result = page.getByRole("alert").filter({ hasText: /^Reloaded at \d\d:\d\d:\d\d UTC/ });
  await result.getByText("4.00 kpps").waitFor();
  await page.getByText("Waiting for a restart").waitFor();
  await page.getByText("detection.tick_ms").waitFor();
  await page.getByRole("row", { name: /^acme-web .* 4\.00 kpps/ }).waitFor();
  expect(await opened.violations()).toEqual([]);
  // Whoever looks later is told as well.
  const { page: later } = await open(SECRETS.viewer);
  await later.getByText("Waiting for a restart").waitFor();
});

test("a file with faults changes nothing: each is told by its line and its key", async () => {
  const opened = await open(SECRETS.operator);
  opened.expectFault(/status of 400/);
  const { page } = opened;
  world.service.writeConfig(world.options.config.replace("pps: 300", "pps: -3").replace("dry_run:", "dryrun:"));
  await reload(page);
  const faults = page.getByRole("alert").getByRole("listitem");
  await faults.filter({ hasText: /floodwall\.yaml:\d+ thresholds\.pps must be a number greater than 0/ }).waitFor();
  await faults.filter({ hasText: /floodwall\.yaml:\d+ dryrun unknown key/ }).waitFor();
  expect(await faults.count()).toBe(2);
  await page.getByRole("row", { name: /^acme-web .* 300 pps/ }).waitFor();
  expect(await opened.violations()).toEqual([]);
});

test("a reload by somebody else shows without a click", async () => {
  const { page } = await open(SECRETS.viewer);
  await page.getByRole("row", { name: /^acme-web .* 300 pps/ }).waitFor();
  world.service.writeConfig(world.options.config.replace("pps: 300", "pps: 700"));
  world.service.signal("SIGHUP");
  await page.getByRole("row", { name: /^acme-web .* 700 pps/ }).waitFor();
});

test("a tenant has its own hostgroups, its session and its theme, and nothing to reload", async () => {
  const opened = await open(SECRETS.tenantOperator);
  const { page } = opened;
  await page.getByRole("row", { name: /^acme-web/ }).waitFor();
  expect(await page.getByRole("row", { name: /^global/ }).count()).toBe(0);
  expect(await page.getByRole("button", { name: "Reload …" }).count()).toBe(0);
  expect(await page.getByRole("heading", { name: "Detection" }).count()).toBe(0);
  await page.getByText("acme", { exact: true }).first().waitFor();
  await page.getByRole("button", { name: "Dark", exact: true }).click();
  expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
  expect(await opened.violations()).toEqual([]);
  await page.getByRole("main").getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
});
