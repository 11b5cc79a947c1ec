/** The mitigation view: all measures in force in one list, one ban in full, and the orders of an operator. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { sendable, toPaths, toWithdrawal } from "../../src/bgp/route-path.ts";
import { SOCKET_FROM_RUN } from "../../src/bgp/speaker/speaker-directory.ts";
import type { OrderPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { blackhole, withClient } from "../fixtures/bgp/bgp.ts";
import { cutTables } from "../fixtures/browser/cut-tables.ts";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, VICTIM, WHITELISTED } from "../fixtures/browser/world.ts";
import { eventually } from "../fixtures/service.ts";

const RATES = { pps: 9, mbps: 9 };
const MUCH = {
  ...{ available: true, headers: 9, seconds: 9, total: RATES, unattacked: RATES, matched: RATES, dropped: RATES },
  ...{ dropped_unattacked: RATES, dropped_before: RATES, packets_share: 1, bits_share: 1 },
  ...{ unattacked_share: 0.9, collateral_share: 0.9, hosts: 9, hostgroups: [], not_judged: [] },
};
const FREE = "203.0.113.90";
const span = { fromSeconds: 0, toSeconds: 180 };
const floods = [
  { vector: "dns_amplification", victim: VICTIM, pps: 1500, ...span },
  { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, ...span },
  { vector: "udp_flood", victim: WHITELISTED, pps: 400, ...span },
] as const;
const config = `
escalation: [{ after_seconds: 0, action: flowspec }, { after_seconds: 300, action: blackhole }]
scrubbing: { next_hop: 192.0.2.67, communities: ["64500:2"], nodes: [{ name: scrub1, next_hop: 192.0.2.68 }] }
`;
const dashboard = useBrowser().useWorld({ hasBgp: true, capture: { floods, seconds: 180 }, config });

test("the list has bans, their rules and the scrub nodes, who has them, and what comes next", async () => {
  const { page } = await dashboard.open("/mitigation", SECRETS.viewer);
  const row = page.getByRole("row", { name: new RegExp(`^${VICTIM}`) });
  for (const text of ["announced"]) await row.getByText(text, { exact: true }).waitFor();
  await row.getByText(/^127\.[\d.]+$/).waitFor();
  await row.getByText(/^Blackhole in \d+:\d\d$/).waitFor();
  await row.getByText("with the attack").waitFor();
  await page.getByRole("row", { name: /^UDP, fragments.* Rule discard announced/ }).waitFor();
  await page.getByRole("row", { name: /^scrub1 Node Scrub 0 bans not seen – – not applied/ }).waitFor();
  await page.getByText(/^127\.[\d.]+ has \d+ routes$/).waitFor();
  await page.getByLabel("Kind").selectOption("FlowSpec rule");
  await row.waitFor({ state: "detached" });
  await page.getByLabel("Kind").selectOption("All");
  await page.getByLabel("Find").fill(`${VICTIM} ban`);
  await row.waitFor();
  await page.getByRole("row", { name: /^scrub1/ }).waitFor({ state: "detached" });
  expect(page.url()).toEndWith(`#/mitigation?kind=all&q=${VICTIM}+ban`);
  await page.getByLabel("Find").fill("no such row");
  await page.getByText("Nothing in force matches").waitFor();
  expect(await page.getByRole("button", { name: /ban|select/i }).count()).toBe(0);
  expect(await page.getByRole("checkbox").count()).toBe(0);
});

test("links of before lead to the same", async () => {
  const { page } = await dashboard.open("/bans?which=rejected");
  await page.getByRole("heading", { name: "Mitigation", level: 1 }).waitFor();
  await page.getByRole("row", { name: new RegExp(`^${WHITELISTED} .*whitelisted`) }).waitFor();
  await page.goto(`${dashboard.world.base}/#/sources`);
  await page.getByText("This machine drops nothing: it has no data plane").waitFor();
  await page.goto(`${dashboard.world.base}/#/bans/203.0.113.1%2F32/2020-01-01T00:00:00.000Z`);
  await page.getByText("is not in the list any more").waitFor();
});

test("one of them in full: its attack, its rules, its ladder, its audit rows", async () => {
  const { page } = await dashboard.open("/mitigation?kind=ban");
  await page.getByRole("link", { name: VICTIM, exact: true }).click();
  await page.getByRole("heading", { name: "Escalation" }).waitFor();
  await page.getByRole("row", { name: /^UDP, fragments.* discard$/ }).waitFor();
  await page.getByText(/^not known: rules match less than 0.1 % of them, by the other/).waitFor();
  await page.getByRole("link", { name: "Audit trail of that time" }).click();
  const event = page.getByRole("row", { name: new RegExp(`Ban active ${VICTIM} .*detection`) });
  await event.getByRole("link", { name: `The ban of ${VICTIM}` }).click();
  await page.getByRole("heading", { name: "Escalation" }).waitFor();
  await page.goBack();
  await event.getByRole("link", { name: `The attack on ${VICTIM}` }).click();
  await page.getByRole("heading", { name: "Why it was detected" }).waitFor();
  await page.getByRole("link", { name: "Audit trail of that time" }).click();
  await event.waitFor();
  await page.goto(`${dashboard.world.base}/#/mitigation`);
  await page.getByRole("heading", { name: "In force" }).waitFor();
});

test("a ban by hand: typed, previewed, requested, shown, ended, shown, with its reasons in the audit trail", async () => {
  const opened = await dashboard.open("/mitigation");
  const { page } = opened;
  await page.getByRole("button", { name: "Ban an address" }).click();
  const dialog = page.getByRole("dialog", { name: "Ban an address" });
  const preview = dialog.getByRole("status");
  await dialog.getByLabel("Address").fill("203.0.113");
  await preview.getByText("An address is").waitFor();
  await dialog.getByLabel("Address").fill(WHITELISTED);
  await preview.getByText("Floodwall would refuse it: whitelisted.").waitFor();
  expect(await opened.violations()).toEqual([]);
  await dialog.getByLabel("Address").fill(FREE);
  await preview.getByText("Blackhole after 5 min").waitFor();
  await dialog.getByLabel("Reason").fill("ticket 7");
  await page.keyboard.press("Enter");
  await dialog.waitFor({ state: "detached" });
  await page.getByText(new RegExp(`^${FREE} is banned until`)).waitFor();
  expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Ban an address");
  const row = page.getByRole("row", { name: new RegExp(`^Select ${FREE}`) });
  for (const text of ["noc", "announced"]) await row.getByText(text).waitFor();
  await row.getByRole("button", { name: `Unban ${FREE}/32` }).click();
  const unban = page.getByRole("dialog", { name: `Unban ${FREE}/32?` });
  await unban.getByLabel("Reason").fill("ticket 7 is over");
  await unban.getByRole("button", { name: "Unban" }).click();
  await page.getByText(`The ban of ${FREE} is lifted.`).waitFor();
  await row.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Ended" }).click();
  await page.getByRole("row", { name: new RegExp(`^${FREE} FlowSpec manual unban.* noc`) }).waitFor();
  await page.goto(`${dashboard.world.base}/#/audit?target=${FREE}`);
  await page.getByRole("row", { name: /Unban withdrawn .*manual unban: ticket 7 is over/ }).waitFor();
  await page.getByRole("row", { name: /Ban active .*ticket 7/ }).waitFor();
});

test("a ban that hits much is typed again for each order, and one of which that is not known is ordered twice", async () => {
  const victim = "203.0.113.96";
  const opened = await dashboard.open("/mitigation");
  opened.expectFault(/status of 503/);
  const { page } = opened;
  let isKnown = true;
  await page.route("**/api/v1/bans/preview", async (route) => {
    if (!isKnown) return route.fulfill({ status: 503, json: { error: "busy" } });
    const response = await route.fetch();
    const preview = (await response.json()) as OrderPreviewWire;
    return route.fulfill({ response, json: { ...preview, effect: MUCH } });
  });
  const dialog = page.getByRole("dialog");
  const again = dialog.getByLabel("Confirmation");
  const begin = async () => {
    await page.getByRole("button", { name: "Ban an address" }).click();
    await dialog.getByLabel("Address").fill(victim);
  };
  await begin();
  await again.fill(victim);
  await dialog.getByText("Method, time and rules").click();
  await dialog.getByLabel("For", { exact: true }).selectOption("3600");
  await again.waitFor({ state: "detached" });
  expect(await again.inputValue()).toBe("");
  await page.keyboard.press("Escape");
  await begin();
  expect(await again.inputValue()).toBe("");
  await again.fill("203.0.113.9");
  const order = dialog.getByRole("button", { name: "Ban", exact: true });
  await order.click();
  await dialog.getByRole("alert").getByText(`Type “${victim}” again`).waitFor();
  isKnown = false;
  await order.click();
  await dialog.getByRole("alert").getByText("Nothing is ordered: it is not known what the ban would hit.").waitFor();
  await again.waitFor({ state: "detached" });
  await order.click();
  await page.getByText(new RegExp(`^${victim} is banned until`)).waitFor();
  await dashboard.world.service.post("/api/v1/unban", { ip: victim }, SECRETS.operator);
});

test("a ban with terms of its own is previewed for each neighbor; a window is opened, listed and closed", async () => {
  const opened = await dashboard.open("/mitigation");
  opened.expectFault(/status of 400/);
  const { page } = opened;
  await page.getByRole("button", { name: "Ban an address" }).click();
  const dialog = page.getByRole("dialog", { name: "Ban an address" });
  await dialog.getByLabel("Address").fill(FREE);
  await dialog.getByText("Method, time and rules").click();
  await dialog.getByLabel("Method").selectOption("flowspec");
  await dialog.getByLabel("For", { exact: true }).selectOption("3600");
  await dialog.getByLabel("Protocol").selectOption("udp");
  await dialog.getByLabel("Rate, Mbit/s").fill("50");
  await dialog.getByLabel("Dry run").selectOption("yes");
  await dialog.getByText(/UDP, to .*at most 50 Mbit/).waitFor();
  await dialog.getByText(/^Dry run: the ban is recorded for 1 h .*nothing is announced/).waitFor();
  await dialog.getByLabel("Packet lengths").fill("468");
  await dialog.getByText(/UDP, .*468.*at most 50 Mbit/).waitFor();
  await dialog.getByLabel("Order template").fill("none");
  await dialog.getByText(/there is no none: order_templates has/).waitFor();
  await dialog.getByLabel("Order template").fill("");
  expect(await opened.violations()).toEqual([]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Maintenance" }).click();
  await page.getByRole("button", { name: "Open a maintenance window" }).click();
  const open = page.getByRole("dialog", { name: "Open a maintenance window" });
  await open.getByLabel("Name").fill("move");
  await open.getByLabel("Addresses and prefixes").fill("203.0.113.240/28");
  await open.getByLabel("Reason").fill("ticket 9");
  await open.getByRole("button", { name: "Open" }).click();
  const row = page.getByRole("row", { name: /move .*open.*watched only: 203\.0\.113\.240\/28/ });
  await row.waitFor();
  expect(await opened.violations()).toEqual([]);
  await row.getByRole("button", { name: "Close move" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).click();
  await row.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Open a maintenance window" }).click();
  await open.getByLabel("Name").fill("tonight");
  await open.getByLabel("Opens").fill("tonight");
  await open.getByText("Like 2026-03-01 04:30.").waitFor();
  await open.getByRole("button", { name: "Open", exact: true, disabled: true }).waitFor();
  await open.getByLabel("Opens").fill("23:59");
  await open.getByText(/^\d{4}-\d\d-\d\d 23:59:00$/).waitFor();
  await open.getByLabel("Opens").fill("2020-03-01 04:30");
  await open.getByRole("button", { name: "Open", exact: true }).click();
  await open.getByText("is over; without it the window opens at once").waitFor();
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  await open.getByLabel("Opens").fill(`${tomorrow} 02:00`);
  await open.getByRole("button", { name: "Open", exact: true }).click();
  await page.getByRole("row", { name: /tonight .*closed.*watched only: all/ }).waitFor();
  await page.getByText(/^The window tonight opens at .* and closes at /).waitFor();
  await page.getByRole("button", { name: "Close tonight" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close", exact: true }).click();
  await page.getByRole("row", { name: /tonight/ }).waitFor({ state: "detached" });
});

test("routes that others put into the speaker are in a table, which a search narrows", async () => {
  const socket = join(dashboard.world.options.directory ?? "", "state/gobgpd/run", SOCKET_FROM_RUN);
  const others = ["203.0.113.200/32", "203.0.113.201/32"].map((text) => sendable(blackhole(text)));
  await withClient(socket, (client) => client.sendPaths([...toPaths(others, 77)]));
  const opened = await dashboard.open("/mitigation?which=routes");
  const { page } = opened;
  const row = page.getByRole("row", { name: /^IPv4 unicast 203\.0\.113\.200\/32 next hop .* Floodwall service 77$/ });
  await row.waitFor();
  await page.getByText("Floodwall leaves these routes alone").waitFor();
  await page.getByLabel("Find").fill("113.201");
  await row.waitFor({ state: "detached" });
  expect(await opened.violations()).toEqual([]);
  const ends = others.map(({ route }) => toWithdrawal(route.prefix.text, 77));
  await withClient(socket, (client) => client.sendPaths(ends));
  // The search is over with the rows that it was for.
  await page.goto(`${dashboard.world.base}/#/mitigation?which=maintenance`);
  await page.goto(`${dashboard.world.base}/#/mitigation?which=routes`);
  await page.getByText("No routes of others").waitFor();
});

test("several are selected, confirmed once and ended together, and each has a result", async () => {
  const { service } = dashboard.world;
  const several = ["203.0.113.91", "203.0.113.92", "203.0.113.93"];
  for (const ip of several) expect((await service.post("/api/v1/ban", { ip }, SECRETS.operator)).status).toBe(200);
  const opened = await dashboard.open("/mitigation?q=203.0.113.9");
  opened.expectFault(/status of 404/);
  const { page } = opened;
  await page.getByLabel(`Select ${several[0]}`).waitFor();
  await page.getByRole("button", { name: "Select all found" }).click();
  await page.getByLabel(`Select ${several[1]}`).uncheck();
  await page.getByRole("button", { name: "Unban 2 selected" }).click();
  const dialog = page.getByRole("dialog");
  for (const ip of [several[0], several[2]]) await dialog.getByRole("row", { name: `${ip} Ban –` }).waitFor();
  expect(await dialog.getByRole("row").count()).toBe(3);
  expect(await opened.violations()).toEqual([]);
  await dialog.getByLabel("Reason").fill("ticket 10");
  // Another operator was faster with one of them.
  await service.post("/api/v1/unban", { ip: several[2] }, SECRETS.operator);
  await dialog.getByRole("button", { name: "Unban 2" }).click();
  await dialog.getByText("1 of 2 ended, 1 not, see Result.").waitFor();
  await dialog.getByRole("row", { name: `${several[0]} Ban ended` }).waitFor();
  await dialog.getByRole("row", { name: `${several[2]} Ban no active ban for ${several[2]}` }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await page.getByLabel(`Select ${several[0]}`).waitFor({ state: "detached" });
  await page.getByLabel(`Select ${several[1]}`).waitFor();
  const trail = () => service.get("/api/v1/audit?action=unban", SECRETS.operator);
  await eventually(async () => JSON.stringify((await trail()).body).includes("ticket 10"), "no reason of it", 10_000);
  expect(await page.getByRole("button", { name: /selected/ }).count()).toBe(0);
});

test("what the search leaves out is not acted on, and a ban of an attacked victim says what will hit it", async () => {
  const { service } = dashboard.world;
  const spare = "203.0.113.94";
  expect((await service.post("/api/v1/ban", { ip: spare }, SECRETS.operator)).status).toBe(200);
  const { page } = await dashboard.open("/mitigation?kind=ban");
  for (const victim of [VICTIM, ACME_VICTIM, spare]) await page.getByLabel(`Select ${victim}`, { exact: true }).check();
  await page.getByRole("button", { name: "Unban 3 selected" }).click();
  await page
    .getByRole("dialog")
    .getByText(/^2 of these 3 are attacked now: [\d.]+ kpps, [\d.]+ Mbit\/s will reach them\.$/)
    .waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await page.getByLabel("Find").fill(spare);
  await page.getByRole("button", { name: "Unban 1 selected" }).waitFor();
  await page.getByLabel("Find").fill("");
  await page.getByRole("button", { name: `Unban ${VICTIM}/32` }).click();
  await page.getByText(new RegExp(`^It is attacked now: .* will reach ${VICTIM}\\.$`)).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  await service.post("/api/v1/unban", { ip: spare }, SECRETS.operator);
});

test("an order without an answer is not called refused: the page looks what became of it", async () => {
  const victim = "203.0.113.95";
  const opened = await dashboard.open("/mitigation");
  opened.expectFault(/ERR_FAILED/);
  const { page } = opened;
  await page.route("**/api/v1/ban", async (route) => {
    await route.fetch();
    await route.abort();
  });
  const order = async () => {
    await page.getByRole("button", { name: "Ban an address" }).click();
    await page.getByRole("dialog").getByLabel("Address").fill(victim);
    await page.getByRole("dialog").getByRole("button", { name: "Ban", exact: true }).click();
  };
  await order();
  await page.getByText("Ban an address: carried out. Floodwall had not answered in time.").waitFor();
  await page.getByRole("row", { name: new RegExp(`^Select ${victim}`) }).waitFor();
  await dashboard.world.service.post("/api/v1/unban", { ip: victim }, SECRETS.operator);
  await page.getByRole("row", { name: new RegExp(`^Select ${victim}`) }).waitFor({ state: "detached" });
  await page.unroute("**/api/v1/ban");
  await page.route("**/api/v1/ban", (route) => route.abort());
  await order();
  await page.getByRole("alert").getByText("Not known whether it was carried out").waitFor();
  expect(await page.getByRole("dialog").getByRole("button", { name: "Ban", exact: true }).count()).toBe(0);
  await page.getByRole("alert").getByText("Not carried out").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Ban", exact: true }).waitFor();
});

test.each([1440, 1280])("at %d pixels the list is not wider than its frame", async (width) => {
  const { page } = await dashboard.open("/mitigation", SECRETS.operator, { viewport: { width, height: 900 } });
  await page
    .getByRole("row", { name: new RegExp(`${VICTIM}`) })
    .first()
    .waitFor();
  expect(await cutTables(page)).toEqual([]);
});

test("a tenant has its own, and is refused another's where it asks", async () => {
  const opened = await dashboard.open("/mitigation", SECRETS.tenantOperator);
  opened.expectFault(/status of 403/);
  const { page } = opened;
  await page.getByRole("row", { name: new RegExp(`${ACME_VICTIM} Ban .* a neighbor`) }).waitFor();
  expect(await page.getByText(VICTIM, { exact: true }).count()).toBe(0);
  await page.getByRole("button", { name: "Ban an address" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Address").fill(FREE);
  await dialog.getByRole("status").getByText("target is outside your tenant").waitFor();
  await dialog.getByRole("button", { name: "Ban", exact: true }).click();
  await dialog.getByRole("alert").getByText("target is outside your tenant").waitFor();
});
