/** Pictures of every place of the dashboard under attack, light, dark and as wide as a phone, for people to look at: `make screenshots`. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DESKTOP, PHONE, TestBrowser } from "../fixtures/browser/browser.ts";
import { BrowserFleet } from "../fixtures/browser/fleet.ts";
import { placesOf } from "../fixtures/browser/places.ts";
import { ACME_VICTIM, SECRETS, VICTIM, WHITELISTED } from "../fixtures/browser/world.ts";

const OUT = join(import.meta.dir, "../../build/screenshots");
const CONFIG = `
escalation: [{ after_seconds: 0, action: flowspec }, { after_seconds: 300, action: blackhole }]
storage: { driver: sqlite, traffic_interval_seconds: 1 }
`;
/** Pictures of the documents, kept in dashboard/pictures. */
const DOCUMENTS = ["overview-light", "attack-dark"];
/** For charts to have something to show. */
const HISTORY_MS = 25_000;
const SECONDS = 240;

const LOOKS = [
  { name: "light", colorScheme: "light", viewport: DESKTOP },
  { name: "dark", colorScheme: "dark", viewport: DESKTOP },
  { name: "phone", colorScheme: "light", viewport: PHONE },
] as const;

const floods = [
  { vector: "dns_amplification", victim: VICTIM, pps: 1500, fromSeconds: 8, toSeconds: SECONDS },
  { vector: "syn_flood", victim: ACME_VICTIM, pps: 600, fromSeconds: 12, toSeconds: SECONDS },
  { vector: "udp_flood", victim: WHITELISTED, pps: 400, fromSeconds: 15, toSeconds: SECONDS },
  { vector: "icmp_flood", victim: "203.0.113.210", pps: 900, fromSeconds: 2, toSeconds: 6 },
] as const;

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const fleet = await BrowserFleet.start({ hasBgp: true, capture: { floods, seconds: SECONDS }, config: CONFIG });
const { world } = fleet;
const browser = await TestBrowser.start();
try {
  const secret = SECRETS.operator;
  const pages = await Promise.all(LOOKS.map((look) => browser.open({ base: world.base, secret, ...look })));
  await Bun.sleep(HISTORY_MS);
  for (const [i, { name: look }] of LOOKS.entries()) {
    const page = pages[i]?.page;
    if (page === undefined) continue;
    for (const { name, place } of await placesOf(page, world, secret)) {
      await page.goto(`${world.base}/#${place}`);
      await page
        .getByText(/^Reading /)
        .first()
        .waitFor({ state: "detached" });
      await page.screenshot({ path: join(OUT, `${name}-${look}.png`), fullPage: true });
      // What is seen without scrolling.
      if (DOCUMENTS.includes(`${name}-${look}`)) await page.screenshot({ path: join(OUT, `documents-${name}.png`) });
    }
  }
  const signIn = await browser.open({ base: world.base });
  signIn.expectFault(/status of 401/);
  await signIn.page.getByLabel("Token").waitFor();
  await signIn.page.screenshot({ path: join(OUT, "sign-in-light.png") });
  await browser.closePages();
} finally {
  await browser.stop();
  await fleet.stop();
}
console.log(`pictures in ${OUT}`);
