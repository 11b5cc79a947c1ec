/** A flood of real packets on a mirror port, from its first second to its end, in front of whoever watches the page. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { TestBrowser } from "../fixtures/browser/browser.ts";
import { eventually, freePort } from "../fixtures/service.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { THRESHOLD_PPS, World } from "../lab/world.ts";

const VICTIM = "203.0.113.7";
const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

let browser: TestBrowser;
let world: World | null = null;

beforeAll(async () => {
  browser = await TestBrowser.start();
}, 60_000);
afterAll(async () => {
  await browser.stop();
  await world?.close();
});

test.skipIf(unavailable !== null)(
  `a flood of real packets shows itself, its kind, its route and its end${reason}`,
  async () => {
    const apiPort = await freePort();
    world = await World.create({ apiPort, hysteresisSeconds: 2, mode: "mirror" });
    const opened = await browser.open({ base: `http://127.0.0.1:${apiPort}` });
    const { page } = opened;
    await page.getByText("No attack now").waitFor();
    const flood = world.send({
      profile: "syn",
      target: VICTIM,
      sources: 500,
      ports: 100,
      pps: 5 * THRESHOLD_PPS,
      seconds: 5,
    });
    const card = page.getByRole("listitem").filter({ hasText: VICTIM });
    await card.getByText("SYN flood").waitFor();
    await card.getByText("Blackhole announced").waitFor();
    expect(await world.bird.hasRoute(`${VICTIM}/32`)).toBe(true);
    await page.getByRole("row", { name: /mirror0 running/ }).waitFor();
    await flood;
    await page.getByText("No attack now").waitFor();
    const { bird } = world;
    await eventually(async () => !(await bird.hasRoute(`${VICTIM}/32`)), "the route was not withdrawn");
    await page.getByRole("navigation").getByRole("link", { name: "Attacks" }).click();
    await page.getByRole("button", { name: "Over" }).click();
    await page.getByRole("row", { name: new RegExp(`^${VICTIM} .*SYN flood`) }).waitFor();
    expect(await opened.violations()).toEqual([]);
    await browser.closePages();
  },
  60_000,
);
