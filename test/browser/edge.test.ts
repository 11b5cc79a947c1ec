/** The edge: zones and what is the matter with them, the lever, their past, the nodes, and what of it a tenant sees. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ORPHAN, PLAIN, SHOP, WWW } from "../fixtures/browser/fleet.ts";
import { SECRETS } from "../fixtures/browser/world.ts";

setDefaultTimeout(60_000);

const dashboard = useBrowser().useFleet();

test("zones that something is the matter with come first", async () => {
  const { page } = await dashboard.open("/edge", SECRETS.viewer);
  await page.getByRole("row", { name: /^shop\.example 2 nodes lost off [\d.]+ 40 25 0 1 of 3 71 d$/ }).waitFor();
  await page.getByRole("row", { name: /^www\.example 2 nodes lost would challenge \+2 when it is busy 900/ }).waitFor();
  await page.getByRole("row", { name: /^plain\.example no policy/ }).waitFor();
  expect((await page.getByRole("rowheader").allTextContents())[0]).toBe(ORPHAN);
  await page.getByLabel("Find").fill("shop");
  await page.getByRole("row", { name: ORPHAN }).waitFor({ state: "detached" });
  await page.getByLabel("Find").fill("nothing");
  await page.getByText("No zone matches").waitFor();
});

test("a zone has its history, its sources, its certificates and its events", async () => {
  const { page } = await dashboard.open(`/edge/zones/${WWW}`, SECRETS.viewer);
  await page.getByRole("img", { name: /^Requests a second to www\.example .* at most 900 req\/s$/ }).waitFor();
  await page.getByRole("button", { name: "Verdicts" }).click();
  await page.getByText("Would be denied 31 req/s").waitFor();
  const sources = page.getByRole("region", { name: "Sources: table", exact: true });
  await sources.getByRole("row", { name: /^198\.51\.100\.7 would be denied/ }).waitFor();
  await page.getByLabel("State").selectOption("would-challenge");
  await sources.getByRole("row", { name: /^198\.51\.100\.7 / }).waitFor({ state: "detached" });
  await sources.getByRole("row", { name: /^2001:db8::7 would be challenged/ }).waitFor();
  await page
    .getByRole("region", { name: "Certificates: table" })
    .getByRole("row", { name: /^fra1 6 .* Test CA$/ })
    .waitFor();
  await page.getByRole("row", { name: /challenge started fra1 www\.example/ }).waitFor();
  expect(await page.getByRole("button", { name: /Challenge|Follow/ }).count()).toBe(0);
});

test("of one node it has another history, or none", async () => {
  const { page } = await dashboard.open(`/edge/zones/${SHOP}`);
  await page.getByLabel("Node").selectOption("ams1");
  await page.getByRole("img", { name: /at most 50 req\/s$/ }).waitFor();
  await page.getByLabel("Node").selectOption("sin1");
  await page.getByText("No history in this range").waitFor();
});

test("an operator sets the lever, who is shown what visitors will see, and clears it", async () => {
  const opened = await dashboard.open(`/edge/zones/${SHOP}`);
  const { page } = opened;
  await page.getByRole("button", { name: `Challenge visitors of ${SHOP}` }).click();
  const dialog = page.getByRole("dialog", { name: `Challenge visitors of ${SHOP}?` });
  await dialog.getByText("Every visitor gets a short check").waitFor();
  await dialog.getByRole("button", { name: "When it is busy" }).click();
  await dialog.getByText("While the zone has more requests").waitFor();
  await dialog.getByRole("button", { name: "Everybody" }).click();
  await dialog.getByLabel("For").selectOption("900");
  await dialog.getByLabel("Reason").fill("ticket 7");
  expect(await opened.violations()).toEqual([]);
  await dialog.getByRole("button", { name: "Challenge visitors", exact: true }).click();
  const panel = page.getByRole("region", { name: "Challenge", exact: true });
  await panel.getByRole("status").getByText("1 of its 3 nodes is alive and informed at once.").waitFor();
  await panel.getByText("ticket 7").waitFor();
  await panel.getByText(/^14:\d\d$/).waitFor();
  // The focus is back where it was.
  expect(await page.evaluate("document.activeElement.textContent")).toMatch(/^Challenge\s…$/);
  await page.getByRole("button", { name: `Clear override of the challenge of ${SHOP}` }).click();
  await page.getByRole("dialog").getByText("Its file says “off”").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Clear override", exact: true }).click();
  await panel.getByRole("status").getByText("The zone follows its zones file again.").waitFor();
  await panel.getByText("not set").waitFor();
});

test("an order that the service refuses, since the zone has changed meanwhile, says so where it was given", async () => {
  const opened = await dashboard.open(`/edge/zones/${SHOP}`);
  opened.expectFault(/status of 409/);
  const { page } = opened;
  const error = "the zone has no policy";
  await page.route("**/challenge", (route) => route.fulfill({ status: 409, json: { error } }));
  await page.getByRole("button", { name: `Challenge visitors of ${SHOP}` }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Challenge visitors", exact: true }).click();
  await dialog.getByRole("alert").getByText(error).waitFor();
});

test("a zone that nothing is decided of can have no lever, and one of no node says so", async () => {
  const { page } = await dashboard.open(`/edge/zones/${PLAIN}`);
  await page.getByText("cannot be overridden").waitFor();
  expect(await page.getByRole("button", { name: /Challenge visitors/ }).count()).toBe(0);
  await page.goto(`${dashboard.world.base}/#/edge/zones/${ORPHAN}`);
  await page.getByText("no node serves it").waitFor();
  await page.goto(`${dashboard.world.base}/#/edge/zones/absent.example`);
  await page.getByText("No zone absent.example").waitFor();
});

test("nodes show who polls, as whom, and what they report", async () => {
  const { page } = await dashboard.open("/edge/nodes", SECRETS.viewer);
  await page.getByText("Tokens that are not bound to a node").waitFor();
  await page.getByRole("row", { name: /^ams1 lost 3 / }).waitFor();
  await page.getByRole("row", { name: /^sin1 not seen 3 never/ }).waitFor();
  await page.getByRole("row", { name: /^fra1 alive 3 .* nginx 1\.26\.2 global scrub1 1\.5\.0$/ }).waitFor();
  await page.getByRole("link", { name: "fra1" }).click();
  for (const text of ["ngx_http_v3", "nginx 1.26.2"]) await page.getByText(text).waitFor();
  await page.getByRole("row", { name: /^www\.example 900 when it is busy would challenge watch only/ }).waitFor();
  await page.goto(`${dashboard.world.base}/#/edge/nodes/sin1`);
  await page.getByText("It has not polled yet").waitFor();
});

test("events are filtered by kind, zone and node", async () => {
  const { page } = await dashboard.open("/edge/events", SECRETS.viewer);
  await page.getByRole("row", { name: /version fra1 – / }).waitFor();
  await page.getByRole("row", { name: /node lost ams1/ }).waitFor();
  await page.getByLabel("Kind").selectOption("challenge_started");
  await page.getByRole("row", { name: /node lost/ }).waitFor({ state: "detached" });
  await page.getByRole("row", { name: /challenge started fra1 www\.example/ }).waitFor();
  await page.getByLabel("Zone").fill(SHOP);
  await page.getByText("Nothing has changed").waitFor();
  await page.getByLabel("Zone").fill("");
  await page.getByLabel("Node").selectOption("ams1");
  await page.getByLabel("Kind").selectOption("node_lost");
  await page.getByRole("row", { name: /node lost ams1/ }).waitFor();
});

test("a tenant sees its own zones, pulls their lever, and sees neither nodes nor events", async () => {
  const { page } = await dashboard.open("/edge", SECRETS.tenantOperator);
  await page.getByRole("row", { name: /^shop\.example/ }).waitFor();
  expect(await page.getByRole("rowheader").allTextContents()).toEqual([SHOP]);
  expect(await page.getByRole("navigation", { name: "Edge" }).count()).toBe(0);
  await page.getByRole("link", { name: SHOP }).click();
  await page.getByRole("img", { name: /^Requests a second to shop/ }).waitFor();
  expect(await page.getByLabel("Node").count()).toBe(0);
  expect(await page.getByRole("heading", { name: "Events" }).count()).toBe(0);
  await page.getByRole("button", { name: `Challenge visitors of ${SHOP}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Challenge visitors", exact: true }).click();
  await page.getByText(/^Visitors are challenged from now on/).waitFor();
  await page.getByRole("button", { name: `Clear override of the challenge of ${SHOP}` }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Clear override", exact: true }).click();
  await page.getByText("The zone follows its zones file again.").waitFor();
  await page.goto(`${dashboard.world.base}/#/edge/nodes`);
  await page.getByText("Your token does not allow this part").waitFor();
});
