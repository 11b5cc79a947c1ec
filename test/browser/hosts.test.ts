/** Hosts: found, sorted and paged; one host with its past and what can be done about it; a hundred thousand of them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { useBrowser, useWorld } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, VICTIM } from "../fixtures/browser/world.ts";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";

setDefaultTimeout(60_000);

const browser = useBrowser();

/** Its users' hosts are 203.0.113.100 to .169. */
const CALM = "203.0.113.104";

function addresses(page: Page): Promise<string[]> {
  return page.getByRole("table").getByRole("rowheader").allTextContents();
}

describe("under attack", () => {
  const span = { fromSeconds: 0, toSeconds: 240 };
  const floods = [
    { vector: "dns_amplification", victim: VICTIM, pps: 1500, ...span },
    { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, ...span },
  ] as const;
  const world = useWorld({ capture: { floods, seconds: 240, hosts: 70 } });

  const open = (place: string, secret: string = SECRETS.operator) => browser.open({ base: world.base, secret, place });

  test("the busiest are first, and say what is the matter with them", async () => {
    const { page } = await open("/hosts");
    const row = page.getByRole("row", { name: new RegExp(`^${VICTIM} attacked: packets banned`) });
    await row.waitFor();
    await page.getByText(/^1 to 50 of 72$/).waitFor();
    expect((await addresses(page)).slice(0, 2)).toEqual([VICTIM, ACME_VICTIM]);
  });

  test("they are paged by the service, to the end and back, in any order", async () => {
    const { page } = await open("/hosts");
    await page.getByText(/^1 to 50 of 72$/).waitFor();
    const sort = page.getByRole("button", { name: "Address" });
    await sort.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("columnheader", { name: "Address", exact: false }).getByText("↑").waitFor();
    await page.getByRole("rowheader", { name: ACME_VICTIM, exact: true }).waitFor();
    // What was pressed is still there to be pressed again.
    expect(await page.evaluate("document.activeElement.textContent")).toContain("Address");
    expect((await addresses(page))[0]).toBe(ACME_VICTIM);
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText(/^51 to 72 of 72$/).waitFor();
    expect((await addresses(page)).at(-1)).toBe(VICTIM);
    expect(await page.getByRole("button", { name: "Next" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Previous" }).click();
    await page.getByText(/^1 to 50 of 72$/).waitFor();
  });

  test("they are found by a part of the address, a prefix, a hostgroup; the page's address keeps it", async () => {
    const opened = await open("/hosts");
    const { page } = opened;
    const field = page.getByLabel("Address");
    await field.fill("113.10");
    await page.getByText(/^1 to 10 of 10$/).waitFor();
    await field.fill("203.0.113.0/26");
    await page.getByText(/^1 to 1 of 1$/).waitFor();
    await page.reload();
    await page.getByText(/^1 to 1 of 1$/).waitFor();
    expect(await addresses(page)).toEqual([ACME_VICTIM]);
    await field.fill("nonsense!");
    await page.getByRole("alert").getByText("Part of an address").waitFor();
    await field.fill("");
    await page.getByLabel("Hostgroup").selectOption("acme-web");
    await page.getByText(/^1 to 1 of 1$/).waitFor();
    await field.fill("203.0.113.99");
    await page.getByText("No host matches").waitFor();
    expect(await opened.violations()).toEqual([]);
    await page.getByRole("link", { name: "look at the history of 203.0.113.99" }).click();
    await page.getByText("No traffic now").waitFor();
  });

  test("one of them has its rates beside its thresholds, its history, its attack and its ban", async () => {
    const opened = await open(`/hosts/${VICTIM}`);
    const { page } = opened;
    await page.getByText("the threshold of 300 pps").waitFor();
    await page.getByText("Hostgroup global · when attacked: Blackhole").waitFor();
    await page.getByRole("img", { name: new RegExp(`^Incoming rate of ${VICTIM} .*tinted$`) }).waitFor();
    await page.getByText("Threshold 300 pps").waitFor();
    await page.getByRole("button", { name: "Bits" }).click();
    await page.getByText("Threshold 50.0 Mbit/s").waitFor();
    await page
      .getByRole("region", { name: "Bans of it" })
      .getByRole("row", { name: /dry run/ })
      .waitFor();
    expect(await opened.violations()).toEqual([]);
    await page.getByRole("link", { name: "DNS amplification" }).click();
    await page.getByRole("heading", { level: 1, name: "Attacks" }).waitFor();
  });

  test("an operator bans one, and unbans it", async () => {
    const { page } = await open(`/hosts/${CALM}`);
    await page.getByRole("button", { name: `Ban ${CALM}`, exact: true }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Ban", exact: true }).click();
    const unban = page.getByRole("button", { name: `Unban ${CALM}/32` }).first();
    await unban.click();
    await page.getByRole("dialog").getByRole("button", { name: "Unban", exact: true }).click();
    await page.getByRole("button", { name: `Ban ${CALM}`, exact: true }).waitFor();
  });

  test("a viewer has nothing to act with", async () => {
    const { page } = await open(`/hosts/${VICTIM}`, SECRETS.viewer);
    await page.getByText("the threshold of 300 pps").waitFor();
    expect(await page.getByRole("button", { name: /ban/i }).count()).toBe(0);
  });

  test("a tenant has its own, and is told why it does not see another's", async () => {
    const opened = await open("/hosts", SECRETS.tenantOperator);
    const { page } = opened;
    await page.getByText(/^1 to 1 of 1$/).waitFor();
    expect(await addresses(page)).toEqual([ACME_VICTIM]);
    opened.expectFault(/status of 403/);
    await page.goto(`${world.base}/#/hosts/${VICTIM}`);
    await page.getByText("target is outside your tenant").waitFor();
    await page.getByText("No traffic now").waitFor();
  });

  test("what is no address says so", async () => {
    const { page } = await open("/hosts/nobody");
    await page.getByText("nobody is not an address").waitFor();
  });
});

test("with nothing captured and storage off it says what to do", async () => {
  await browser.inWorld({ config: "storage: { driver: none }" }, async (world) => {
    const opened = await browser.open({ base: world.base, secret: SECRETS.viewer, place: "/hosts" });
    const { page } = opened;
    await page.getByText("Nothing is captured").waitFor();
    await page.goto(`${world.base}/#/hosts/${VICTIM}`);
    for (const text of ["No traffic now", "No history: storage is off", "No attack", "Not banned"]) {
      await page.getByText(text, { exact: true }).waitFor();
    }
    expect(await opened.violations()).toEqual([]);
  });
});

describe("a hundred thousand", () => {
  const HOSTS = 100_000;
  const directory = mkdtempSync(join(tmpdir(), `floodwall-hosts-${process.pid}-`));
  const pcap = join(directory, "hosts.pcap");

  beforeAll(() => {
    const frames = Array.from({ length: HOSTS }, (_, i) =>
      ethernet(ip({ src: "2001:db8:ffff::1", dst: address(i) }, udp({ destinationPort: 443 }))),
    );
    writeFileSync(pcap, pcapBytes(evenly(frames, { stepMs: 0.05 })));
  });
  const world = useWorld({ config: `capture: { pcap_file: ${pcap}, pace: real }` });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test("are paged, sorted and searched, with a page of them in the browser", async () => {
    const { page } = await browser.open({ base: world.base, secret: SECRETS.viewer, place: "/hosts?sort=target" });
    await page.getByText(/^1 to 50 of 100\u202f000$/).waitFor({ timeout: 30_000 });
    await page.getByRole("button", { name: "Next" }).click();
    await page.getByText(/^51 to 100 of 100\u202f000$/).waitFor();
    await page.getByRole("rowheader", { name: address(50), exact: true }).waitFor();
    expect((await addresses(page))[0]).toBe(address(50));
    await page.getByRole("button", { name: "Address" }).click();
    await page.getByRole("rowheader", { name: address(HOSTS - 1), exact: true }).waitFor();
    await page.getByLabel("Address").fill("::1:869f");
    await page.getByText(/^1 to 1 of 1$/).waitFor();
    expect(await addresses(page)).toEqual([address(HOSTS - 1)]);
    expect(await page.getByRole("row").count()).toBeLessThan(60);
  });

  function address(index: number): string {
    const [high, low] = [Math.floor(index / 65_536), index % 65_536];
    const tail = `${low.toString(16)}`;
    return high === 0
      ? low === 0
        ? "2001:db8:1::"
        : `2001:db8:1::${tail}`
      : `2001:db8:1::${high.toString(16)}:${tail}`;
  }
});
