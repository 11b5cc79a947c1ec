/** The scrub nodes, of which one polls, one is lost and one was never there. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS } from "../fixtures/browser/world.ts";

setDefaultTimeout(60_000);

const VICTIM = "203.0.113.99";

const dashboard = useBrowser().useFleet({ config: "mitigation: divert" }, async ({ service }) => {
  const { body } = await service.post<{ node?: string }>("/api/v1/ban", { ip: VICTIM }, SECRETS.operator);
  expect(body.node).toBe("scrub1");
});

test("the list shows which are alive, how loaded they are and what they drop, those first that are not", async () => {
  const { page } = await dashboard.open("/scrub", SECRETS.viewer);
  await page.getByRole("row", { name: /^scrub2 lost 0 – – –/ }).waitFor();
  await page.getByRole("row", { name: /^scrub3 not seen 0 .* never/ }).waitFor();
  await page
    .getByRole("row", { name: /^scrub1 alive dry run 1 4\.20 Gbit\/s \(42 %\) 1\.00 M would be dropped native/ })
    .waitFor();
  expect(await page.getByRole("rowheader").allTextContents()).toEqual(["scrub2", "scrub3", "scrub1"]);
  await page.getByRole("button", { name: "Node", exact: true }).click();
  await page.getByRole("columnheader", { name: "Node" }).getByText("↑").waitFor();
  expect(await page.getByRole("rowheader").allTextContents()).toEqual(["scrub1", "scrub2", "scrub3"]);
});

test("one of them says what it takes, what it reports, and what is diverted to it", async () => {
  const { page } = await dashboard.open("/scrub", SECRETS.viewer);
  await page.getByRole("link", { name: "scrub1" }).click();
  for (const text of ["Dry run on the node", "198.51.100.66", "10.0 Gbit/s", "ranges of ports, packet lengths"]) {
    await page.getByText(text, { exact: true }).waitFor();
  }
  await page.getByRole("row", { name: new RegExp(`^${VICTIM} Divert to scrub1`) }).waitFor();
  await page.goto(`${dashboard.world.base}/#/scrub/scrub3`);
  for (const text of ["It has not polled yet", "No report yet", "Nothing is diverted to it"]) {
    await page.getByText(text, { exact: true }).waitFor();
  }
  await page.goto(`${dashboard.world.base}/#/scrub/scrub9`);
  await page.getByText("No scrub node scrub9").waitFor();
});

test("a tenant has no such view", async () => {
  const { page } = await dashboard.open("/scrub", SECRETS.tenantOperator);
  await page.getByText("This page has no such view").waitFor();
  expect(await page.getByRole("link", { name: "Scrub nodes" }).count()).toBe(0);
});
