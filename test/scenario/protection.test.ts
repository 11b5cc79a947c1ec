/**
 * Protection profiles chosen at run time: over kill -9 of the service, and on an inline box with real packets, without
 * and amid a flood.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { OrderLedger } from "../fixtures/order-ledger.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { type Namespace, namespacesUnavailable } from "../lab/namespaces.ts";
import { makeBoxLab, THRESHOLD_PPS } from "../lab/scrub/box-lab.ts";
import { serve, VICTIM } from "../lab/scrub/scrub-network.ts";
import { sendFrom } from "../lab/world.ts";

const KILLS = 6;
const WORKERS = 4;
const ORDERS = 100;
const PROFILES = ["web", "dns", "mail", "game", "vpn"];
const CONFIG = "networks: [203.0.113.0/24]\nthresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }\n";
const path = (prefix: string) => `/api/v1/protection/${encodeURIComponent(prefix)}`;

interface Chosen {
  readonly prefix: string;
  readonly choice: { readonly profile: string; readonly always: boolean };
}

const scene = new Scenario();
const undo = new Undo();
afterEach(() => undo.all());

const textOf = ({ choice }: Chosen) => `${choice.profile} ${choice.always}`;

test(`choices with kill -9 at random moments lose nothing that was acknowledged`, async () => {
  const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const random = seededRandom(seed);
  const ledger = new OrderLedger();
  /** Resolves with false when the service died before it answered. */
  const order = async (service: ServiceProcess, prefix: string) => {
    const isEnd = ledger.valueOf(prefix) !== null && random() < 0.3;
    ledger.give(prefix, isEnd ? "end" : "begin");
    const profile = PROFILES[Math.floor(random() * PROFILES.length)];
    const body = isEnd ? {} : { profile, always: random() < 0.5 };
    const answer = await service.order<Chosen>(isEnd ? "DELETE" : "PUT", path(prefix), body).catch(() => null);
    if (answer === null) return false;
    expect(answer.status).toBe(200);
    ledger.acknowledge(prefix, isEnd ? null : textOf(answer.body));
    return true;
  };
  const agrees = async (service: ServiceProcess) => {
    const { protections } = (await service.get<{ protections: Chosen[] }>("/api/v1/protection")).body;
    const found = new Map(protections.map((each) => [each.prefix, textOf(each)]));
    expect(ledger.compare(found)).toEqual({ lost: [], undone: [] });
  };
  for (let kills = 0; kills < KILLS || ledger.acknowledged < ORDERS; kills++) {
    const service = await scene.start(CONFIG);
    await agrees(service);
    const dying = Bun.sleep(random() * 250).then(() => service.stop("SIGKILL"));
    const prefixOf = (worker: number) => `203.0.113.${worker + WORKERS * Math.floor(random() * 20)}/32`;
    const work = async (worker: number) => {
      while (await order(service, prefixOf(worker)));
    };
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
    await dying;
  }
  await agrees(await scene.start(CONFIG));
}, 120_000);

const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

/** The client's own stack; a SYN is sent again after a second. */
function isServed(client: Namespace): boolean {
  const command = client.command(["curl", "-s", "-o", "/dev/null", "--max-time", "3", `http://${VICTIM}/`]);
  return Bun.spawnSync(command, { stdin: "ignore" }).exitCode === 0;
}

describe.skipIf(unavailable !== null)(`a protection on an inline box${reason}`, () => {
  test("that always applies is there, changed and gone with the choice", async () => {
    const { client, victim, service } = await makeBoxLab(undo, { scrub: '{ tcp: "off" }' });
    await serve(victim);
    expect(isServed(client)).toBe(true);
    const choose = async (prefix: string, body: object) =>
      expect((await service.order("PUT", path(prefix), body)).status).toBe(200);
    // A mail server has no port 80.
    await choose("203.0.113.0/24", { profile: "mail", always: true });
    await eventually(() => !isServed(client), "the web server is still served", 20_000, 100);
    // The longer prefix is one of a web server, within the other one.
    await choose(VICTIM, { profile: "web", always: true });
    await eventually(() => isServed(client), "the web server is not served", 20_000, 100);
    // Only while attacked: then it is not under what is around it either.
    await choose(VICTIM, { profile: "mail", always: false });
    await eventually(() => isServed(client), "the web server is not served any more", 20_000, 100);
    await service.order("DELETE", path(VICTIM), {});
    await eventually(() => !isServed(client), "the prefix around it does not decide", 20_000, 100);
    await service.order("DELETE", path("203.0.113.0/24"), {});
    await eventually(() => isServed(client), "the web server is not served in the end", 20_000, 100);
  }, 120_000);

  test("changes the rules of a ban amid its flood: users are served from then on, and counts go on", async () => {
    const { attacker, client, victim, service, bans } = await makeBoxLab(undo, { scrub: "{ profile: mail }" });
    await serve(victim);
    const flooding = sendFrom(attacker, {
      ...{ profile: "syn", target: VICTIM, sources: 60_000, src: "198.18.0.1", path: "socket" },
      ...{ pps: 10 * THRESHOLD_PPS, seconds: 16 },
    });
    const isScrubbed = async () => (await bans()).some(({ challenged_packets: count = 0 }) => count > 0);
    await eventually(isScrubbed, () => `nothing is challenged:\n${service.output}`);
    await eventually(() => !isServed(client), "a mail server's port 80 is served", 8000, 100);
    const [before] = await bans();
    expect((await service.order("PUT", path(VICTIM), { profile: "web" })).status).toBe(200);
    await eventually(
      () => isServed(client),
      () => `the web server is not served:\n${service.output}`,
      10_000,
      100,
    );
    const [after] = await bans();
    await flooding;
    expect(before?.route).toContain("only tcp/25");
    expect(after?.route).toContain("only tcp/80,443");
    expect(after?.state).toBe("active");
    expect(after?.challenged_packets).toBeGreaterThanOrEqual(before?.challenged_packets ?? Number.POSITIVE_INFINITY);
    expect(after?.validated_sources).toBeGreaterThanOrEqual(1);
  }, 120_000);
});
