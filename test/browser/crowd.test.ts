/** A thousand attacks at once, each with a ban: the lists have them all, and the page only those in sight. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crowdCapture } from "../fixtures/browser/crowd.ts";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { ServiceProcess } from "../fixtures/service.ts";

const CROWD = 1000;
const ROWS_IN_PAGE_MAX = 120;

const browser = useBrowser();
let directory: string;
let service: ServiceProcess;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-crowd-${process.pid}-`));
  const pcap = join(directory, "crowd.pcap");
  writeFileSync(pcap, crowdCapture({ victims: CROWD, pps: 6, seconds: 150 }));
  const config = `networks: [203.0.112.0/22]
thresholds: { pps: 3, mbps: 50, flows_per_sec: 5000 }
ban: { max_active_bans: ${CROWD} }
storage: { driver: none }
capture: { pcap_file: ${pcap}, pace: real }
`;
  service = await ServiceProcess.start({ config });
}, 60_000);
afterAll(async () => {
  await service.remove();
  rmSync(directory, { recursive: true, force: true });
});

test("all are in the list, those in sight are in the page, and the last is reached by the keyboard", async () => {
  const opened = await browser.open({ base: `http://127.0.0.1:${service.port}`, place: "/attacks?q=203" });
  const { page } = opened;
  const list = page.getByRole("region", { name: "Attacks in progress: table" });
  await page.locator(`table[aria-rowcount="${CROWD + 1}"]`).waitFor();
  await page.getByRole("button", { name: "Victim" }).click();
  await list.getByRole("link", { name: "203.0.112.1", exact: true }).waitFor();
  expect(await list.getByRole("row").count()).toBeLessThan(ROWS_IN_PAGE_MAX);
  expect(await list.getByRole("link", { name: "203.0.115.232", exact: true }).count()).toBe(0);
  await list.focus();
  await page.keyboard.press("End");
  await list.getByRole("link", { name: "203.0.115.232", exact: true }).waitFor();
  expect(await list.getByRole("row").count()).toBeLessThan(ROWS_IN_PAGE_MAX);
  expect(await list.locator(`[aria-rowindex="${CROWD + 1}"]`).count()).toBe(1);
  expect(await opened.violations()).toEqual([]);
}, 120_000);

test("the overview has the most urgent, and the way to the others", async () => {
  const { page } = await browser.open({ base: `http://127.0.0.1:${service.port}` });
  await page.getByRole("link", { name: `${CROWD - 12} more attacks, less urgent` }).waitFor();
  expect(await page.getByRole("listitem").count()).toBe(12);
});
