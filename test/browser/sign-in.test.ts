/** People sign in by an identity provider of another project, in a browser: from the button to the end of the session. */
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { CALLBACK_PATH } from "../../src/access/sign-in-config.ts";
import type { TestPage } from "../fixtures/browser/browser.ts";
import { useBrowser } from "../fixtures/browser/dashboard-tests.ts";
import { SECRETS } from "../fixtures/browser/world.ts";
import { ServiceProcess } from "../fixtures/service.ts";
import { TestProvider } from "../fixtures/sign-in/test-provider.ts";

const ROLES = "[{ value: noc, role: operator }, { value: acme, role: operator, tenant: acme }]";
const providers: TestProvider[] = [];

/** On a host of its own: for the browser another site. @param isUp whether it runs when the service starts */
async function providerFor(base: string, isUp = true): Promise<string> {
  const provider = new TestProvider({
    clientId: "floodwall",
    secret: SECRETS.client,
    redirectUri: base + CALLBACK_PATH,
  });
  provider.users.set("alice", { groups: ["noc"] });
  provider.users.set("carol", { groups: ["acme"] });
  provider.users.set("mallory", { groups: [] });
  providers.push(provider);
  await provider.start();
  if (!isUp) await provider.stop();
  return `oidc: { issuer: "${provider.issuer}", client_id: floodwall, client_secret_env: OIDC, public_url: "${base}", name: Example,
    scopes: [openid, profile, groups], roles: ${ROLES} }`;
}

const browser = useBrowser();
const dashboard = browser.useWorld({ api: (base) => providerFor(base) });
afterAll(async () => {
  for (const provider of providers) await provider.stop();
});

const BUTTON = { name: "Sign in with Example" };
/** The provider's pages, which name a font of a server that no test may reach. */
const OUTSIDE = /request to http:\/\/localhost|fonts\.googleapis\.com|status of 40[134]/;

async function signIn({ page }: TestPage, user: string): Promise<void> {
  await page.getByRole("link", BUTTON).click();
  await page.getByPlaceholder("Enter any login").fill(user);
  await page.getByPlaceholder("and password").fill("x");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

async function opened(place: string): Promise<TestPage> {
  const page = await dashboard.open(place, null);
  page.expectFault(OUTSIDE);
  await page.context.route(/fonts\.googleapis\.com/, (route) => route.abort());
  return page;
}

test("the button leads to the provider and back to the place; scripts see no secret, and a reload keeps the session", async () => {
  const own = await opened("/attacks?group=acme-web");
  const { page, context } = own;
  await page.getByRole("link", BUTTON).waitFor();
  expect(await own.violations()).toEqual([]);
  await signIn(own, "alice");
  await page.getByText("user alice · operator").waitFor();
  expect(new URL(page.url()).hash).toBe("#/attacks?group=acme-web");
  expect(await page.evaluate("document.cookie + JSON.stringify(sessionStorage)")).toBe("{}");
  const cookies = (await context.cookies(dashboard.world.base)).filter(({ domain }) => domain === "127.0.0.1");
  expect(cookies).toMatchObject([{ httpOnly: true, sameSite: "Strict", path: "/" }]);
  await page.reload();
  await page.getByText("user alice · operator").waitFor();
});

test("a new tab is signed in too, an order has the user's name, and signing out is for all tabs", async () => {
  const own = await opened("/");
  const { page, context } = own;
  await signIn(own, "carol");
  await page.getByText("user carol · operator · tenant acme").waitFor();
  const second = await context.newPage();
  await second.goto(`${dashboard.world.base}/#/settings`);
  await second.getByText("user carol, this browser").waitFor();
  const ordered = await second.evaluate<number>(
    `fetch("/api/v1/ban", { method: "POST", headers: { "content-type": "application/json" }, body: '{"ip":"203.0.113.7"}' }).then((a) => a.status)`,
  );
  expect(ordered).toBe(200);
  await page.goto(`${dashboard.world.base}/#/audit`);
  await page.getByText("user carol (operator, acme)").first().waitFor();
  await second.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
  for (const tab of [page, second]) await tab.getByRole("link", BUTTON).waitFor();
  expect(
    (await context.cookies()).filter(({ name, domain }) => domain === "127.0.0.1" && name.startsWith("floodwall")),
  ).toEqual([]);
  await page.reload();
  await page.getByRole("link", BUTTON).waitFor();
});

test("a user of no group is refused, with what to do", async () => {
  const own = await opened("/");
  await signIn(own, "mallory");
  await own.page.getByRole("alert").getByText("Your account may not use Floodwall").waitFor();
  expect(await own.violations()).toEqual([]);
});

test("a user who cancels at the provider is back at the sign-in page, and may take a token", async () => {
  const own = await opened("/");
  const { page } = own;
  await page.getByRole("link", BUTTON).click();
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByRole("alert").getByText("did not sign you in").waitFor();
  await page.getByLabel("Token").fill(SECRETS.viewer);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByText("wall · viewer").waitFor();
});

test("a session that has ended shows the sign-in page with the reason, and an operator can end one", async () => {
  const own = await opened("/");
  await signIn(own, "alice");
  await own.page.getByText("user alice · operator").waitFor();
  const operator = await dashboard.open("/settings");
  const row = operator.page.getByRole("row").filter({ hasText: "user alice" }).last();
  await row.getByRole("button", { name: "Sign out a browser of user alice" }).click();
  await operator.page.getByRole("dialog").getByRole("button", { name: "Sign out", exact: true }).click();
  await operator.page.getByText("The browser is signed out.").waitFor();
  await own.page.getByRole("alert").getByText("Your sign-in has ended. Sign in again.").waitFor();
  expect(await own.violations()).toEqual([]);
});

test("a page of another origin of the same site sends no order with the cookie", async () => {
  const own = await opened("/");
  const { page, context } = own;
  await signIn(own, "alice");
  await page.getByText("user alice · operator").waitFor();
  const evil = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () => new Response("<title>evil</title>", { headers: { "content-type": "text/html" } }),
  });
  try {
    const other = await context.newPage();
    await other.goto(`http://127.0.0.1:${evil.port}/`);
    const [answer] = await Promise.all([
      other.waitForResponse((response) => response.url().endsWith("/api/v1/ban")),
      other.evaluate(
        `fetch("${dashboard.world.base}/api/v1/ban", { method: "POST", mode: "no-cors", credentials: "include", body: '{"ip":"203.0.113.8"}' }).then(() => {})`,
      ),
    ]);
    const sent = await answer.request().allHeaders();
    expect(sent["cookie"]).toContain("floodwall-");
    expect(answer.status()).toBe(403);
    await other.close();
  } finally {
    await evil.stop(true);
  }
});

test("a copy of the cookie ends with its session, and so does the page of one that is over after a restart #sign-in-sessions", async () => {
  await browser.inWorld({ api: (base) => providerFor(base) }, async (dashboard) => {
    const { world } = dashboard;
    const [own, thief] = [await dashboard.open("/", null), await dashboard.open("/", null)];
    for (const each of [own, thief]) {
      each.expectFault(OUTSIDE);
      each.expectFault(
        /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|status of (401|503)/,
      );
      await each.context.route(/fonts\.googleapis\.com/, (route) => route.abort());
    }
    await signIn(own, "alice");
    await own.page.getByText("user alice · operator").waitFor();
    await thief.context.addCookies(await own.context.cookies(world.base));
    await thief.page.reload();
    await thief.page.getByText("user alice · operator").waitFor();
    await own.page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
    await thief.page.getByRole("alert").getByText("Your sign-in has ended. Sign in again.").waitFor();
    // The provider still knows her.
    await own.page.getByRole("link", BUTTON).click();
    await own.page.getByText("user alice · operator").waitFor();
    await world.service.stop();
    expire(join(world.service.directory, "state/state.db"));
    const again = await ServiceProcess.start(world.options);
    try {
      await own.page.getByRole("alert").getByText("Your sign-in has ended. Sign in again.").waitFor();
      expect(await own.violations()).toEqual([]);
    } finally {
      await again.remove();
    }
  });
});

/** As if they had begun longer ago than sessions last. */
function expire(path: string): void {
  const state = new Database(path);
  try {
    const { changes } = state.run("UPDATE browser_sessions SET record = json_set(record, '$.ageMs', 864000000)");
    expect(changes).toBe(1);
  } finally {
    state.close();
  }
}

test("while the provider is away the page says so and takes a token; when it is back, the button is there", async () => {
  await browser.inWorld({ api: (base) => providerFor(base, false) }, async (away) => {
    const own = await away.open("/", null);
    own.expectFault(OUTSIDE);
    const { page } = own;
    await page.getByText("Example does not answer").waitFor();
    expect(await own.violations()).toEqual([]);
    const status = await away.world.service.get<{ faulty_files: { kind: string }[] }>("/api/v1/status", SECRETS.viewer);
    expect(status.body.faulty_files).toMatchObject([{ kind: "identity_provider" }]);
    await providers.at(-1)?.start();
    await page.getByRole("link", BUTTON).waitFor();
    await page.getByLabel("Token").fill(SECRETS.viewer);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("wall · viewer").waitFor();
  });
});

test("a sign-out that the service did not take says so, and is tried until it did #sign-in-sessions", async () => {
  const own = await opened("/");
  const { page, context } = own;
  await signIn(own, "alice");
  await page.getByText("user alice · operator").waitFor();
  own.expectFault(/sign-out|ERR_FAILED/);
  await page.route("**/api/v1/sign-out", (route) => route.abort());
  await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("alert").getByText("Floodwall has not ended your session yet").waitFor();
  expect(await own.violations()).toEqual([]);
  await page.unroute("**/api/v1/sign-out");
  await page.getByRole("link", { name: "End the session with the identity provider too" }).waitFor();
  const cookies = (await context.cookies()).filter(({ name }) => name.startsWith("floodwall"));
  expect(cookies).toEqual([]);
});
