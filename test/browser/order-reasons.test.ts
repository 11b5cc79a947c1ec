/** The reasons of a ban and an unban, from the dialogs to the audit trail; and the effect of a source block in its dialog. */
import { expect, test } from "bun:test";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS, VICTIM } from "../fixtures/browser/world.ts";
import { eventually } from "../fixtures/service.ts";

const dashboard = useBrowser().useWorld({ config: "dataplane: { interfaces: [lo] }\n", capture: null });

async function reasons(action: string): Promise<readonly string[]> {
  const path = `/api/v1/audit?action=${action}`;
  const { body } = await dashboard.world.service.get<{ events: { reason: string }[] }>(path, SECRETS.operator);
  return body.events.map(({ reason }) => reason);
}

async function hasReason(action: string, reason: string): Promise<void> {
  const isThere = async () => (await reasons(action)).includes(reason);
  await eventually(isThere, `no row of ${action} with ${reason}`, 10_000, 100);
}

test("a ban and an unban take a reason, which the audit trail has", async () => {
  const opened = await dashboard.open("/mitigation");
  const { page } = opened;
  await page.getByRole("button", { name: "Ban an address" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Address").fill(VICTIM);
  await dialog.getByLabel("Reason").fill("ticket 7");
  expect(await opened.violations()).toEqual([]);
  await dialog.getByRole("button", { name: "Ban" }).click();
  await dialog.waitFor({ state: "detached" });
  await hasReason("ban", "ticket 7");
  await page
    .getByRole("button", { name: `Unban ${VICTIM}/32` })
    .first()
    .click();
  await dialog.getByLabel("Reason").fill("ticket 7 is over");
  await dialog.getByRole("button", { name: "Unban" }).click();
  await dialog.waitFor({ state: "detached" });
  await hasReason("unban", "manual unban: ticket 7 is over");
});

test("the dialog of a source block says what it would do, or why that is not known", async () => {
  const { page } = await dashboard.open("/mitigation?which=blocks");
  await page.getByRole("button", { name: "Block a source" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Source").fill("198.51.100.9");
  await dialog.getByLabel("Victim").fill("198.51.100.1");
  await dialog.getByText("Floodwall would refuse it: victim is outside configured networks.").waitFor();
  await dialog.getByLabel("Victim").fill(VICTIM);
  await dialog.getByText(/^Its effect is not known: /).waitFor();
});
