/** The overview as the screen of the situation: its first line, its time range, the keys of the views, and the wall. */
import { expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS, VICTIM } from "../fixtures/browser/world.ts";

const floods = [{ vector: "dns_amplification", victim: VICTIM, pps: 1500, fromSeconds: 0, toSeconds: 180 }] as const;
const config = "storage: { driver: sqlite, traffic_interval_seconds: 1 }";
const neighbor = ", name: edge1, description: Border router";
const dashboard = useBrowser().useWorld({ hasBgp: true, neighbor, capture: { floods, seconds: 180 }, config });

test("the first line says whether all is in force, and links to what explains it", async () => {
  const { page } = await dashboard.open();
  const line = page.getByRole("navigation", { name: "Situation" });
  for (const text of ["LIVE", "1 attack: Route at 1 of 1 router", "BGP: 1 of 1 neighbor up", "Capture loss 0 %"]) {
    await line.getByRole("link", { name: text, exact: true }).waitFor();
  }
  await line.getByRole("link", { name: /BGP/ }).click();
  expect(new URL(page.url()).hash).toBe("#/?see=bgp");
  await line.getByRole("link", { name: /^1 attack: / }).click();
  await page.getByRole("heading", { name: "Attacks", level: 1 }).waitFor();
});

test("a range dragged over a chart is that of all charts, is in the URL, and ends by a button", async () => {
  const { page } = await dashboard.open();
  const incoming = page.getByRole("img", { name: /^Incoming: .* the last hour, .* 1 time span of attacks tinted/ });
  await incoming.waitFor();
  const plot = await incoming.locator(".u-over").boundingBox();
  if (plot === null) throw new Error("the chart has no plot");
  const y = plot.y + plot.height / 2;
  await page.mouse.move(plot.x + plot.width / 2, y);
  await page.mouse.down();
  await page.mouse.move(plot.x + plot.width - 4, y, { steps: 5 });
  await page.mouse.up();
  await page.getByRole("heading", { name: /^Traffic from \d+ \w+ [\d:]+ to (?:\d+ \w+ )?[\d:]+$/ }).waitFor();
  await page.getByRole("heading", { name: /^Incoming: (at most [\d.]+ k?pps|nothing recorded)$/ }).waitFor();
  expect(page.url()).toMatch(/from=\d+&to=\d+/);
  // Every panel is of this range, and none still of now.
  await page.getByRole("heading", { name: /^Attacks from \d/ }).waitFor();
  await page.getByRole("row", { name: new RegExp(`^${VICTIM} DNS amplification .* in progress$`) }).waitFor();
  await page.getByRole("heading", { name: /^Busiest from \d/ }).waitFor();
  await page.getByRole("heading", { name: /^Bans from \d/ }).waitFor();
  await page.getByRole("region", { name: "Bans in this range: table" }).getByText(VICTIM).waitFor();
  await page.reload();
  await page.getByRole("heading", { name: /^Traffic from \d/ }).waitFor();
  await page.getByRole("button", { name: "1 h", exact: true }).click();
  await page.getByRole("heading", { name: "Traffic in the last hour" }).waitFor();
  expect(page.url()).not.toContain("from=");
  await page.goBack();
  await page.getByRole("heading", { name: /^Traffic from \d/ }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Traffic in the last hour" }).waitFor();
});

test("the range is also chosen by the keyboard: earlier, later, closer, wider, and back", async () => {
  const { page } = await dashboard.open();
  const press = async (name: string) => {
    await page.getByRole("button", { name, exact: true }).focus();
    await page.keyboard.press("Enter");
  };
  const length = () => {
    const [, from = "0", to = "0"] = /from=(\d+)&to=(\d+)/.exec(page.url()) ?? [];
    return { from: Number(from), seconds: Number(to) - Number(from) };
  };
  expect(await page.getByRole("button", { name: "Later" }).isDisabled()).toBe(true);
  await press("Zoom in");
  await page.getByRole("heading", { name: /^Traffic from / }).waitFor();
  const closer = length();
  expect(Math.abs(closer.seconds - 1800)).toBeLessThan(3);
  await press("Earlier");
  await page.waitForFunction(`!location.hash.includes("from=${closer.from}&")`);
  expect(Math.abs(length().from - (closer.from - 900))).toBeLessThan(3);
  await press("1 h");
  await page.getByRole("heading", { name: "Traffic in the last hour" }).waitFor();
});

test("one filter is that of attacks, bans, the busiest and the rates, and what it cannot filter is said", async () => {
  const { page } = await dashboard.open("/?unit=mbps");
  await page.getByRole("heading", { name: VICTIM }).waitFor();
  const field = page.getByRole("combobox", { name: "Filter" });
  const filter = async (text: string) => {
    await field.fill(text);
    await page.getByRole("button", { name: "Filter", exact: true }).click();
  };
  await filter("nosuch=1");
  await page.getByText("A field, = or !=, and a value").waitFor();
  await filter("hostgroup=acme-web");
  await page.getByText("No attack matches the filter").waitFor();
  await page.getByText("No ban matches the filter").waitFor();
  await page.getByRole("img", { name: /^Incoming: (nothing recorded|at most 0 bit\/s); / }).waitFor();
  // The unit and the filter are those of the address.
  await page.reload();
  await page.getByText("No attack matches the filter").waitFor();
  await page.getByRole("button", { name: "Bits", pressed: true }).waitFor();
  await page.getByRole("button", { name: "Remove the filter Hostgroup = acme-web" }).click();
  await page.getByRole("heading", { name: VICTIM }).waitFor();
  await filter("kind!=dns_amplification");
  await page.getByText("No attack matches the filter").waitFor();
  await page.getByText("Kind ≠ DNS amplification only filters the attacks here").waitFor();
});

test("the order of a table is that of the address, after a reload and on the way back", async () => {
  const { page } = await dashboard.open("/mitigation");
  await page.getByRole("button", { name: "Kind" }).click();
  await page.waitForURL(/order\.measures-in-force=kind/);
  await page.reload();
  await page
    .getByRole("columnheader", { name: "Kind", exact: false })
    .and(page.locator("[aria-sort=ascending]"))
    .waitFor();
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Audit" }).click();
  await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  await page.goBack();
  await page.locator("[aria-sort=ascending]").waitFor();
});

test("the capacity of the links is a line in the chart of bits, and the traffic a share of it", async () => {
  const { page } = await dashboard.open();
  await page.getByRole("button", { name: "Bits" }).click();
  await page.getByRole("heading", { name: /^Incoming: [\d.]+ Mbit\/s now, [\d.]+ % of the link$/ }).waitFor();
  await page.getByText("Link 100 Mbit/s").waitFor();
});

test("a neighbor has the name of the configuration beside its address, and is found by it", async () => {
  const { page } = await dashboard.open();
  await page
    .getByRole("region", { name: "BGP sessions: table" })
    .getByRole("row", { name: /^edge1 127\./ })
    .waitFor();
  await page.getByRole("heading", { name: VICTIM }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Search" }).waitFor();
  await page.keyboard.type("border");
  await page.getByRole("link", { name: /^BGP neighbor edge1 \(127\./ }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: VICTIM }).first().click();
  await page.getByText(/^Announced to edge1 \(127\./).waitFor();
});

test("the busiest hosts, sources and ports are named", async () => {
  const { page } = await dashboard.open();
  await page.getByRole("row", { name: new RegExp(`^${VICTIM} .*bit/s attack`) }).waitFor();
  const ports = page.getByRole("region", { name: "Source ports of attacks: table" });
  await ports.getByRole("link", { name: VICTIM }).first().waitFor();
});

test("g and a letter go to a view, but not while something is typed", async () => {
  const { page } = await dashboard.open();
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await page.getByRole("heading", { name: "Hosts", level: 1 }).waitFor();
  await page.locator("h1:focus").waitFor();
  const field = page.getByLabel("Address");
  await field.pressSequentially("gb");
  expect(await field.inputValue()).toBe("gb");
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Hosts");
  await page.getByRole("heading", { level: 1 }).focus();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).getByText("g m", { exact: true }).waitFor();
});

test("the wall has no controls, and shows a viewer the situation, the attacks and the traffic", async () => {
  const { page } = await dashboard.open("/wall", SECRETS.viewer);
  for (const text of ["LIVE", "1 attack: Route at 1 of 1 router", "BGP: 1 of 1 neighbor up"]) {
    await page.getByRole("list", { name: "Situation" }).getByText(text, { exact: true }).waitFor();
  }
  const attack = page.getByRole("region", { name: "Attacks in progress" }).getByRole("listitem");
  for (const text of [
    VICTIM,
    "global",
    "DNS amplification",
    /^for \d+ s|^for \d+ min/,
    "Route at 1 of 1 router",
    /^passed here: /,
  ]) {
    await attack.getByText(text).first().waitFor();
  }
  await page.getByRole("img", { name: /^Incoming: .* the last hour/ }).waitFor();
  expect(await page.locator("a, button, input, select").count()).toBe(0);
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Overview", level: 1 }).waitFor();
  await page.getByRole("heading", { name: VICTIM }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await attack.getByText(VICTIM).waitFor();
});
