/** The scrub nodes, of which one polls, one is lost and one was never there. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { useBrowser, useFleet } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS } from "../fixtures/browser/world.ts";

setDefaultTimeout(60_000);

const VICTIM = "203.0.113.99";

const browser = useBrowser();

describe("with nodes", () => {
  const fleet = useFleet({ config: "mitigation: divert" }, async ({ world: { service } }) => {
    const { body } = await service.post<{ node?: string }>("/api/v1/ban", { ip: VICTIM }, SECRETS.operator);
    expect(body.node).toBe("scrub1");
  });

  const open = (place: string, secret: string = SECRETS.viewer) =>
    browser.open({ base: fleet.world.base, secret, place });

  test("shows which are alive, how loaded they are and what they drop, those first that are not", async () => {
    const opened = await open("/scrub");
    const { page } = opened;
    await page.getByRole("row", { name: /^scrub2 lost 0 – – –/ }).waitFor();
    await page.getByRole("row", { name: /^scrub3 not seen 0 .* never/ }).waitFor();
    await page.getByRole("row", { name: /^scrub1 alive dry run 1 4\.20 Gbit\/s \(42 %\) 1\.00 M native/ }).waitFor();
    expect(await page.getByRole("rowheader").allTextContents()).toEqual(["scrub2", "scrub3", "scrub1"]);
    await page.getByRole("button", { name: "Node", exact: true }).click();
    await page.getByRole("columnheader", { name: "Node" }).getByText("↑").waitFor();
    expect(await page.getByRole("rowheader").allTextContents()).toEqual(["scrub1", "scrub2", "scrub3"]);
    expect(await opened.violations()).toEqual([]);
  });

  test("one of them says what it takes, what it reports, and what is diverted to it", async () => {
    const opened = await open("/scrub");
    const { page } = opened;
    await page.getByRole("link", { name: "scrub1" }).click();
    await page.getByRole("heading", { name: "scrub1" }).waitFor();
    for (const text of ["Dry run on the node", "198.51.100.66", "10.0 Gbit/s", "port_ranges, packet_length"]) {
      await page.getByText(text, { exact: true }).waitFor();
    }
    await page.getByRole("row", { name: new RegExp(`^${VICTIM} Divert to scrubbing`) }).waitFor();
    expect(await opened.violations()).toEqual([]);
    await page.goto(`${fleet.world.base}/#/scrub/scrub3`);
    for (const text of ["It has not polled yet", "No report yet", "Nothing is diverted to it"]) {
      await page.getByText(text, { exact: true }).waitFor();
    }
    await page.goto(`${fleet.world.base}/#/scrub/scrub9`);
    await page.getByText("No scrub node scrub9").waitFor();
  });

  test("a tenant has no such view", async () => {
    const { page } = await open("/scrub", SECRETS.tenantOperator);
    await page.getByText("This page has no such view").waitFor();
    expect(await page.getByRole("link", { name: "Scrub nodes" }).count()).toBe(0);
  });
});

test("without nodes it says how to add one", async () => {
  await browser.inWorld({}, async (world) => {
    const opened = await browser.open({ base: world.base, secret: SECRETS.viewer, place: "/scrub" });
    const { page } = opened;
    await page.getByText("No scrub node", { exact: true }).waitFor();
    await page.getByText("scrubbing.nodes").waitFor();
    expect(await opened.violations()).toEqual([]);
  });
});
