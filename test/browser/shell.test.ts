/** What is around every view: signing in, roles, themes, the keyboard, a service that goes away and comes back. */
import { describe, expect, test } from "bun:test";
import { EVENT_STREAMS_PER_TOKEN } from "../../src/limits.ts";
import { PHONE } from "../fixtures/browser/browser.ts";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS } from "../fixtures/browser/world.ts";
import { EventReader } from "../fixtures/http/event-reader.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const browser = useBrowser();
const dashboard = browser.useWorld();

const REFUSED = /status of 40[13]/;

describe("signing in", () => {
  test("asks for a token, says what is wrong with one, takes a good one and shows who it is", async () => {
    const opened = await dashboard.open("/", null);
    opened.expectFault(REFUSED);
    const { page } = opened;
    const field = page.getByLabel("Token");
    await field.fill("wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("does not know this token").waitFor();
    expect(await opened.violations()).toEqual([]);
    await field.fill(SECRETS.agent);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("This is the token of a node").waitFor();
    await field.fill(` ${SECRETS.operator}\n`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.getByText("noc · operator").waitFor();
  });

  test("is for the tab: a reload keeps it, signing out forgets it, and no cookie is left", async () => {
    const opened = await dashboard.open("/", null);
    opened.expectFault(REFUSED);
    const { page, context } = opened;
    await page.getByLabel("Token").fill(SECRETS.tenantOperator);
    await page.keyboard.press("Enter");
    await page.getByText("acme-noc · operator · tenant acme").waitFor();
    await page.reload();
    await page.getByText("tenant acme").waitFor();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").waitFor();
    await page.reload();
    await page.getByLabel("Token").waitFor();
    expect(await page.evaluate("sessionStorage.length + document.cookie.length")).toBe(0);
    expect(await context.cookies()).toEqual([]);
  });

  test("a new tab is signed in as another one is, signing out is for all tabs, and nothing outlives the last one", async () => {
    const opened = await dashboard.open("/", null);
    opened.expectFault(REFUSED);
    const { page, context } = opened;
    await page.getByLabel("Token").fill(SECRETS.viewer);
    await page.keyboard.press("Enter");
    await page.getByText("wall · viewer").waitFor();
    const address = page.url();
    const second = await context.newPage();
    await second.goto(address);
    await second.getByText("wall · viewer").waitFor();
    await page.close();
    // It has the token itself, and gives it on.
    const third = await context.newPage();
    await third.goto(address);
    await third.getByText("wall · viewer").waitFor();
    expect(await third.evaluate("localStorage.length")).toBe(0);
    await third.getByRole("button", { name: "Sign out" }).click();
    for (const tab of [second, third]) {
      await tab.getByLabel("Token").waitFor();
      expect(await tab.evaluate("sessionStorage.length")).toBe(0);
    }
    const fourth = await context.newPage();
    await fourth.goto(address);
    await fourth.getByLabel("Token").waitFor();
    expect((await context.storageState()).origins).toEqual([]);
  });

  test("a token that is taken away in the middle of things is noticed, with what to do", async () => {
    await browser.inWorld({}, async (own) => {
      const opened = await own.open("/", SECRETS.viewer);
      opened.expectFault(/status of 401|ERR_INCOMPLETE_CHUNKED_ENCODING/);
      const { page } = opened;
      await page.getByText("wall · viewer").waitFor();
      own.world.service.writeConfig(
        own.world.options.config,
        "tokens: [{ name: noc, token_env: OPERATOR, role: operator }]",
      );
      own.world.service.signal("SIGHUP");
      await page.getByRole("alert").getByText("The token is not valid any more").waitFor();
      expect(await page.evaluate("sessionStorage.length")).toBe(0);
      await page.getByLabel("Token").fill(SECRETS.operator);
      await page.keyboard.press("Enter");
      await page.getByText("noc · operator").waitFor();
    });
  });

  test("without tokens there is no sign-in; on this machine itself no warning takes room", async () => {
    await browser.inWorld({ hasTokens: false }, async (own) => {
      const { page } = await own.open("/", null);
      await page.getByText("no sign-in · operator").waitFor();
      await page.getByRole("banner").getByText("DRY RUN").waitFor();
      expect(await page.getByText("The API is open", { exact: true }).count()).toBe(0);
      expect(await page.getByRole("button", { name: "Sign out" }).count()).toBe(0);
    });
  });
});

test("a theme is chosen, and kept for the next time", async () => {
  const { page } = await dashboard.open("/", SECRETS.viewer);
  const ground = () => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
  const light = await ground();
  await page.getByRole("button", { name: "Choose light" }).click();
  await page.getByRole("button", { name: "Choose dark" }).click();
  expect(await ground()).not.toBe(light);
  await page.reload();
  await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  expect(await ground()).not.toBe(light);
});

test("Ctrl-K finds an address in every view, by the keyboard alone; ? shows the keys", async () => {
  const opened = await dashboard.open("/settings");
  const { page } = opened;
  await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
  await page.keyboard.press("Control+k");
  const search = page.getByRole("dialog", { name: "Search" });
  await search.waitFor();
  await page.keyboard.type("203.0.113.77");
  await search.getByRole("link", { name: "Audit trail of 203.0.113.77" }).waitFor();
  expect(await opened.violations()).toEqual([]);
  // In a field it is a character like any other.
  await page.keyboard.type("?");
  await search.getByText("0 found").waitFor();
  await page.keyboard.press("Backspace");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  const focused = () => page.evaluate("document.activeElement.textContent");
  expect(await focused()).toBe("Earlier attacks on 203.0.113.77");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 2, name: "203.0.113.77" }).waitFor();
  expect(await search.count()).toBe(0);
  expect(page.url()).toEndWith("#/hosts/203.0.113.77");
  await page.keyboard.press("?");
  const keys = page.getByRole("dialog", { name: "Keys" });
  await keys.getByText("Ctrl K").waitFor();
  expect(await opened.violations()).toEqual([]);
  await page.keyboard.press("Escape");
  await keys.waitFor({ state: "detached" });
});

test("Ctrl-K finds by name what has one: a customer, a hostgroup, a list", async () => {
  const { page } = await dashboard.open("/audit");
  await page.getByRole("heading", { level: 1, name: "Audit" }).waitFor();
  await page.keyboard.press("Control+k");
  const search = page.getByRole("dialog", { name: "Search" });
  await search.waitFor();
  await page.keyboard.type("acme");
  await search.getByRole("link", { name: "Hostgroup acme-web" }).waitFor();
  await search.getByRole("link", { name: "Customer acme" }).click();
  await page.getByRole("heading", { name: "acme now" }).waitFor();
  await page.keyboard.press("Control+k");
  await search.waitFor();
  await page.keyboard.type("game");
  await search.getByRole("link", { name: "Profile game" }).click();
  await page.getByRole("heading", { level: 2, name: "Protection" }).waitFor();
});

test("on a phone every view of the navigation is in sight", async () => {
  const { page } = await dashboard.open("/", SECRETS.operator, { viewport: PHONE });
  const views = page.getByRole("navigation", { name: "Views" }).getByRole("link");
  await views.first().waitFor();
  const links = await views.all();
  expect(links.length).toBe(11);
  for (const link of links) {
    const box = await link.boundingBox();
    if (box === null) throw new Error("a link is not shown");
    expect(box.x).toBeGreaterThanOrEqual(0);
    expect(box.x + box.width).toBeLessThanOrEqual(PHONE.width);
    expect(box.y + box.height).toBeLessThan(PHONE.height / 4);
  }
});

test("the result of a command covers nothing", async () => {
  const victim = "203.0.113.97";
  const { page } = await dashboard.open("/mitigation");
  await page.getByRole("button", { name: "Ban an address" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Address").fill(victim);
  await dialog.getByRole("button", { name: "Ban", exact: true }).click();
  const outcome = await page.getByText(new RegExp(`^${victim} is banned until`)).boundingBox();
  const head = await page.getByRole("banner").boundingBox();
  if (outcome === null || head === null) throw new Error("the result is not shown");
  expect(outcome.y).toBeGreaterThanOrEqual(head.y);
  expect(outcome.y + outcome.height).toBeLessThanOrEqual(head.y + head.height);
});

test("by the keyboard alone: past the navigation, to a dialog, out of it, and back to where it was", async () => {
  const { page } = await dashboard.open();
  await page.getByText("No attack now").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  const focused = () => page.evaluate("document.activeElement.textContent");
  expect(await focused()).toBe("Overview");
  // The situation has its own links before.
  const situation = page.getByRole("navigation", { name: "Situation" }).getByRole("link");
  await page.getByRole("link", { name: "No attack", exact: true }).waitFor();
  for (const text of await situation.allTextContents()) {
    await page.keyboard.press("Tab");
    expect(await focused()).toBe(text);
  }
  await page.keyboard.press("Tab");
  expect(await focused()).toContain("Ban an address");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Ban an address" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await focused()).toContain("Ban an address");
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Mitigation" }).click();
  await page.getByRole("button", { name: "Ban an address" }).first().click();
  await page.getByRole("dialog", { name: "Ban an address" }).waitFor();
  await page.goBack();
  // The view before is announced.
  await page.locator("h1:focus", { hasText: "Overview" }).waitFor();
  expect(await page.getByRole("dialog").count()).toBe(0);
});

test("without a stream of events left it says so, and reads again and again", async () => {
  const streams: EventReader[] = [];
  // A page of an earlier test may be about to leave its own.
  const open = async () =>
    streams.push(await EventReader.open(dashboard.world.base, { authorization: `Bearer ${SECRETS.operator}` }));
  while (streams.length < EVENT_STREAMS_PER_TOKEN)
    await eventually(async () => (await open()) > 0, "no stream is left");
  try {
    const opened = await dashboard.open();
    opened.expectFault(/status of 429/);
    const { page } = opened;
    await page.getByText("Not live", { exact: true }).waitFor();
    await dashboard.world.service.post("/api/v1/ban", { ip: "203.0.113.98" }, SECRETS.operator);
    await page.getByRole("row", { name: /203\.0\.113\.98/ }).waitFor();
    for (const stream of streams) stream.leave();
    await page.getByText("Not live", { exact: true }).waitFor({ state: "detached" });
  } finally {
    for (const stream of streams) stream.leave();
  }
});

test("says since when what it shows is old, and goes on by itself when the service is back", async () => {
  await browser.inWorld({}, async (own) => {
    const { directory, port } = own.world.service;
    const opened = await own.open();
    opened.expectFault(
      /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/,
    );
    const { page } = opened;
    await page.getByText("No attack now").waitFor();
    await page.locator(".badge-ok").first().waitFor();
    // A service that hangs answers no request, and breaks none.
    own.world.service.signal("SIGSTOP");
    await page.getByRole("link", { name: /^Not known: no answer since \d\d:\d\d:\d\d/ }).waitFor();
    expect(await page.locator(".badge-ok").count()).toBe(0);
    const stopped = await page.locator("time.clock").textContent();
    own.world.service.signal("SIGCONT");
    await page.getByRole("link", { name: "No attack", exact: true }).waitFor();
    await page.locator(".badge-ok").first().waitFor();
    await eventually(async () => (await page.locator("time.clock").textContent()) !== stopped, "times do not go on");
    await own.world.service.stop("SIGKILL");
    await page.getByText(/^No answer since \d\d:\d\d:\d\d \S+$/).waitFor();
    expect(await page.getByText("No attack now").count()).toBe(1);
    const again = await ServiceProcess.start({ ...own.world.options, directory, port });
    try {
      await page.getByText(/^No answer since/).waitFor({ state: "detached" });
      await again.post("/api/v1/ban", { ip: "203.0.113.99" }, SECRETS.operator);
      // By the stream of events, which it has resumed.
      await page.getByRole("row", { name: /203\.0\.113\.99/ }).waitFor();
    } finally {
      await again.stop("SIGKILL");
    }
  });
}, 60_000);
