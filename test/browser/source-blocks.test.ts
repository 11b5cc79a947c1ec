/** The source blocks: ordered, refused, ended; and a machine that drops nothing. */
import { afterEach, describe, expect, test } from "bun:test";
import { useBrowser, useWorld } from "../fixtures/browser/dashboard-tests.ts";
import { ACME_VICTIM, SECRETS, WHITELISTED } from "../fixtures/browser/world.ts";

const SOURCE = "198.51.100.9";

interface Blocks {
  readonly sources: readonly { readonly source: string; readonly victim: string }[];
}

const browser = useBrowser();

describe("with a data plane", () => {
  // In dry run nothing is attached to it.
  const world = useWorld({ config: "dataplane: { enabled: true, interfaces: [lo] }" });
  // The next test begins with none.
  afterEach(async () => {
    const { sources } = (await world.service.get<Blocks>("/api/v1/dataplane/sources", SECRETS.operator)).body;
    for (const { source, victim } of sources) {
      await world.service.post("/api/v1/dataplane/sources/unblock", { source, victim }, SECRETS.operator);
    }
  });

  const open = (secret: string) => browser.open({ base: world.base, secret, place: "/sources" });

  test("a block is ordered, told, found, and ended", async () => {
    const opened = await open(SECRETS.operator);
    const { page } = opened;
    await page.getByText("No source is blocked").waitFor();
    await page.getByRole("button", { name: "Block a source" }).click();
    const dialog = page.getByRole("dialog", { name: "Block a source" });
    await dialog.getByLabel("Source").fill(SOURCE);
    await dialog.getByLabel("Victim").fill("203.0.113.90");
    await dialog.getByLabel("For").selectOption("6 h");
    await dialog.getByLabel("Reason").fill("scans ports");
    await dialog.getByText("expires after 6 h").waitFor();
    expect(await opened.violations()).toEqual([]);
    await dialog.getByRole("button", { name: "Block" }).click();
    await page.getByText(new RegExp(`^${SOURCE} is blocked for 203.0.113.90 until .*dry run`)).waitFor();
    const row = page.getByRole("row", { name: new RegExp(`^${SOURCE} 203.0.113.90 dry run – scans ports`) });
    await row.getByText(/^5:59:\d\d$/).waitFor();
    await page.getByLabel("Find").fill("nobody");
    await page.getByText("No block matches").waitFor();
    await page.getByLabel("Find").fill("scans");
    await row.getByRole("button", { name: `Unblock ${SOURCE} to 203.0.113.90` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unblock" }).click();
    await page.getByText(`${SOURCE} is no longer blocked for 203.0.113.90.`).waitFor();
    await page.getByText("No source is blocked").waitFor();
  });

  test("refusals are told in the service's words, and what was typed stays", async () => {
    const opened = await open(SECRETS.operator);
    opened.expectFault(/status of 4(00|09)/);
    const { page } = opened;
    await page.getByRole("button", { name: "Block a source" }).click();
    const dialog = page.getByRole("dialog");
    const alert = dialog.getByRole("alert");
    await dialog.getByLabel("For").selectOption("Another time");
    for (const [source, victim, seconds, refusal] of [
      [SOURCE, WHITELISTED, "60", "victim is in the protected whitelist"],
      ["203.0.113.9", ACME_VICTIM, "60", "source is inside the protected networks"],
      [SOURCE, "2001:db8:1::1", "60", "of different address families"],
      [SOURCE, ACME_VICTIM, "86401", "from 1 to 86400"],
      ["nonsense", ACME_VICTIM, "60", "invalid ip: nonsense"],
    ] as const) {
      await dialog.getByLabel("Source").fill(source);
      await dialog.getByLabel("Victim").fill(victim);
      await dialog.getByLabel("Seconds").fill(seconds);
      await dialog.getByRole("button", { name: "Block" }).click();
      await alert.getByText(refusal).waitFor();
      expect(await dialog.getByLabel("Victim").inputValue()).toBe(victim);
    }
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  test("a viewer only looks; a tenant has those of its own victims", async () => {
    for (const victim of [ACME_VICTIM, "203.0.113.91"]) {
      const order = { source: SOURCE, victim, ttl_seconds: 600 };
      expect((await world.service.post("/api/v1/dataplane/sources", order, SECRETS.operator)).status).toBe(200);
    }
    const viewer = await open(SECRETS.viewer);
    await viewer.page.getByRole("row", { name: new RegExp(`^${SOURCE} 203.0.113.91`) }).waitFor();
    expect(await viewer.page.getByRole("button", { name: /block/i }).count()).toBe(0);
    const tenant = await open(SECRETS.tenantOperator);
    tenant.expectFault(/status of 403/);
    await tenant.page.getByRole("row", { name: new RegExp(`^${SOURCE} ${ACME_VICTIM}`) }).waitFor();
    expect(await tenant.page.getByText("203.0.113.91").count()).toBe(0);
    await tenant.page.getByRole("button", { name: "Block a source" }).click();
    const dialog = tenant.page.getByRole("dialog");
    await dialog.getByLabel("Source").fill(SOURCE);
    await dialog.getByLabel("Victim").fill("203.0.113.91");
    await dialog.getByRole("button", { name: "Block" }).click();
    await dialog.getByRole("alert").getByText("target is outside your tenant").waitFor();
    expect(await tenant.violations()).toEqual([]);
  });
});

test("without one it says how to have one", async () => {
  await browser.inWorld({}, async (world) => {
    const opened = await browser.open({ base: world.base, secret: SECRETS.operator, place: "/sources" });
    const { page } = opened;
    await page.getByText("This machine drops nothing: it has no data plane").waitFor();
    await page.getByText("dataplane.interfaces").waitFor();
    expect(await page.getByRole("button", { name: "Block a source" }).count()).toBe(0);
    expect(await opened.violations()).toEqual([]);
    const tenant = await browser.open({ base: world.base, secret: SECRETS.tenantOperator, place: "/sources" });
    tenant.expectFault(/status of 409/);
    await tenant.page.getByRole("button", { name: "Block a source" }).click();
    const dialog = tenant.page.getByRole("dialog");
    await dialog.getByLabel("Source").fill(SOURCE);
    await dialog.getByLabel("Victim").fill(ACME_VICTIM);
    await dialog.getByRole("button", { name: "Block" }).click();
    await dialog.getByRole("alert").getByText("the data plane is absent or disabled").waitFor();
  });
}, 60_000);
