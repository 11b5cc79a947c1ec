/**
 * Scrubbing centers of providers, through the examples of docs/operations/cloud-scrubbing.md themselves, against a
 * server that answers in the form that each provider documents.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Scenario } from "../fixtures/scenario.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";
import { ROOT } from "../source-tree.ts";

setDefaultTimeout(60_000);

const scene = new Scenario();
const PAGE = readFileSync(join(ROOT, "docs/operations/cloud-scrubbing.md"), "utf8");
const WIDE = "203.0.113.0/24";
const TOKEN = "Bearer a-token";

/** The state of the prefix at the provider, and what came to it. */
class Provider {
  isAdvertised = false;
  /** Requests until a change shows, as its network takes a while. */
  slowFor = 0;
  isDown = false;
  #pending: { readonly isAdvertised: boolean; left: number } | null = null;
  readonly changes: string[] = [];
  readonly requestIds = new Set<string>();
  readonly server: ReturnType<typeof Bun.serve>;

  constructor(answer: (provider: Provider, request: Request, url: URL) => Promise<Response> | Response) {
    this.server = Bun.serve({
      ...{ port: 0, hostname: "127.0.0.1" },
      fetch: (request) => {
        if (this.isDown) return new Response("down", { status: 503 });
        if (request.headers.get("authorization") !== TOKEN) return new Response("no", { status: 403 });
        return answer(this, request, new URL(request.url));
      },
    });
    scene.onEnd(() => this.server.stop(true));
  }

  change(isAdvertised: boolean): void {
    this.changes.push(isAdvertised ? "advertise" : "withdraw");
    this.#pending = { isAdvertised, left: this.slowFor };
  }

  look(): boolean {
    if (this.#pending !== null && this.#pending.left-- <= 0) {
      this.isAdvertised = this.#pending.isAdvertised;
      this.#pending = null;
    }
    return this.isAdvertised;
  }
}

const CLOUDFLARE_PATH = "/client/v4/accounts/acc/addressing/prefixes/pre/bgp/prefixes/bgp1";
const cloudflare = () =>
  new Provider(async (provider, request, { pathname }) => {
    if (pathname !== CLOUDFLARE_PATH)
      return Response.json({ success: false, errors: [{ code: 1001 }] }, { status: 404 });
    if (request.method === "PATCH") {
      const body = (await request.json()) as { on_demand: { advertised: boolean } };
      provider.change(body.on_demand.advertised);
    }
    const onDemand = { advertised: provider.look(), advertised_modified_at: null, on_demand_enabled: true };
    return Response.json({ success: true, errors: [], messages: [], result: { cidr: WIDE, on_demand: onDemand } });
  });

const GOOGLE_PATH = "/compute/v1/projects/p/regions/europe-west1/publicDelegatedPrefixes/pdp";
const google = () =>
  new Provider((provider, request, { pathname, searchParams }) => {
    const verb = pathname.slice(GOOGLE_PATH.length);
    if (request.method === "POST") {
      const id = searchParams.get("requestId") ?? "";
      if (!/^[0-9a-f-]{36}$/.test(id)) return Response.json({ error: { code: 400 } }, { status: 400 });
      // A request that it has done is ignored.
      if (!provider.requestIds.has(id)) provider.change(verb === "/announce");
      provider.requestIds.add(id);
      return Response.json({ kind: "compute#operation", status: "RUNNING" });
    }
    if (verb !== "") return Response.json({ error: { code: 404 } }, { status: 404 });
    const status = provider.look() ? "ANNOUNCED" : "READY_TO_ANNOUNCE";
    return Response.json({ kind: "compute#publicDelegatedPrefix", name: "pdp", status }, {});
  });

/** The example under the heading, with the operator's own values in it. */
function example(heading: string, provider: Provider): string {
  const [, text = ""] = PAGE.split(`## ${heading}`);
  const [, script = ""] = /```sh\n([\s\S]*?)```/.exec(text) ?? [];
  const header = join(scene.directory, "header");
  writeFileSync(header, `Authorization: ${TOKEN}\n`);
  const own: readonly (readonly [RegExp, string])[] = [
    [/https:\/\/[a-z.]+/, `http://127.0.0.1:${provider.server.port}`],
    [/HEADER=\S+/, `HEADER=${header}`],
    [/your-account-id/, "acc"],
    [/your-prefix-id/, "pre"],
    [/your-bgp-prefix-id/, "bgp1"],
    [/your-project/, "p"],
    [/your-delegated-prefix/, "pdp"],
  ];
  const command = join(scene.directory, "divert");
  writeFileSync(
    command,
    own.reduce((made, [from, to]) => made.replace(from, to), script),
  );
  chmodSync(command, 0o755);
  return command;
}

const configOf = (command: string, more = "") => `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 100000 }
mitigation: divert
dry_run: false
scrubbing:
  announce_v4: 24
  hook: { command: ${command}, timeout_seconds: 10, attempts: 2, confirm_seconds: 60, retry_after_seconds: 10${more} }
`;

type Row = Readonly<Record<string, unknown>>;
const announcementOf = async (service: ServiceProcess) =>
  (await service.get<{ bans: Row[] }>("/api/v1/bans")).body.bans.find(({ state }) => state === "active")?.[
    "announcement"
  ];
const phases = async (service: ServiceProcess) =>
  (await service.get<{ diversions: Row[] }>("/api/v1/diversions")).body.diversions.map(({ phase }) => phase);
const ban = (service: ServiceProcess, ip: string) => service.post("/api/v1/ban", { ip });

describe.each([
  ["Cloudflare Magic Transit", cloudflare],
  ["Google Cloud, a prefix of your own", google],
] as const)("by the example for %s", (heading, provide) => {
  test("a prefix is diverted while bans want it, over a kill of the service, and ended once #diversions-list", async () => {
    const provider = provide();
    provider.slowFor = 1;
    const config = configOf(example(heading, provider));
    const first = await scene.start(config);
    for (const ip of ["203.0.113.7", "203.0.113.8"]) expect((await ban(first, ip)).status).toBe(200);
    await eventually(async () => (await announcementOf(first)) === "announced", "not announced", 30_000);
    expect(provider.isAdvertised).toBe(true);
    expect(provider.changes).toEqual(["advertise"]);
    expect(await phases(first)).toEqual(["diverted"]);

    await first.stop("SIGKILL");
    const second = await scene.start(config);
    await eventually(async () => (await announcementOf(second)) === "announced", "not adopted");
    expect(provider.changes).toEqual(["advertise"]);
    await second.post("/api/v1/unban", { ip: "203.0.113.7" });
    await second.post("/api/v1/unban", { ip: "203.0.113.8" });
    await eventually(async () => (await phases(second)).length === 0, "not ended", 30_000);
    expect(provider.isAdvertised).toBe(false);
    expect(provider.changes.at(-1)).toBe("withdraw");
    await second.stop();
  });

  test("a killed service's diversion that no ban wants any more is ended by the next one", async () => {
    const provider = provide();
    const config = configOf(example(heading, provider));
    const first = await scene.start(config);
    await ban(first, "203.0.113.9");
    await eventually(async () => (await announcementOf(first)) === "announced", "not announced", 30_000);
    provider.isDown = true;
    await first.post("/api/v1/unban", { ip: "203.0.113.9" });
    await eventually(async () => (await phases(first)).join() === "ending", "it does not end");
    await first.stop("SIGKILL");
    provider.isDown = false;
    const second = await scene.start(config);
    await eventually(async () => (await phases(second)).length === 0, "not ended", 30_000);
    expect(provider.isAdvertised).toBe(false);
    await second.stop();
  });

  test("nothing comes to the provider in a dry run of the hook", async () => {
    const provider = provide();
    const service = await scene.start(configOf(example(heading, provider), ", dry_run: true"));
    await ban(service, "203.0.113.10");
    await eventually(async () => (await announcementOf(service)) === "announced", "not announced");
    expect(provider.changes).toEqual([]);
    await service.stop();
  });
});
