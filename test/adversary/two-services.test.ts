/** Two services on one gobgpd, which an operator runs: each is owner of its own routes and of no other's. */
import { afterEach, expect, test } from "bun:test";
import { BgpLab, loopback, until } from "../fixtures/bgp/bgp.ts";
import { OperatorGobgpd } from "../fixtures/bgp/operator-gobgpd.ts";
import { ServiceProcess } from "../fixtures/service.ts";

const lab = new BgpLab();
afterEach(() => lab.end());

const OTHERS = "routes of other Floodwall services are in the speaker";

test("each announces its bans, none withdraws a route of the other, and each restart adopts its own alone", async () => {
  const operator = await OperatorGobgpd.start(lab);
  const bird = await lab.bird();
  const start = async (name: string, port?: number) => {
    const directory = lab.directory(name);
    const service = await ServiceProcess.start({
      config: configFor(operator.socket),
      directory,
      ...(port && { port }),
    });
    lab.onEnd(() => service.remove());
    return service;
  };
  const holds = (...prefixes: string[]) =>
    until(`BIRD has ${prefixes.join()}`, async () => String(await bird.prefixes()) === String(prefixes));
  const [first, second] = [await start("first"), await start("second")];
  await ban(first, "203.0.113.1");
  await ban(first, "203.0.113.9");
  await ban(second, "203.0.113.2");
  await ban(second, "203.0.113.9");
  await holds("203.0.113.1/32", "203.0.113.2/32", "203.0.113.9/32");
  // A route that both want is announced for both, whichever of the two equal paths the speaker selects.
  await until("all announced", async () => (await announced(first)) === 2 && (await announced(second)) === 2);

  const fewest = await fewestWhile(
    () => bird.routeCount(),
    async () => {
      for (const [name, service] of Object.entries({ first, second })) {
        await service.stop("SIGKILL");
        const restarted = await start(name, service.port);
        await until("announced again", async () => (await announced(restarted)) === 2);
        await until("the other's routes are named in its log", () => restarted.output.includes(OTHERS));
      }
    },
  );
  expect(fewest).toBe(3);
  await unban(first, "203.0.113.1");
  await unban(first, "203.0.113.9");
  await holds("203.0.113.2/32", "203.0.113.9/32");
  await unban(second, "203.0.113.9");
  await holds("203.0.113.2/32");
  expect(await operator.routes()).toEqual([expect.stringMatching(/^203\.0\.113\.2\/32 of \d+$/)]);
}, 120_000);

/** The smallest number that `count` gives while `work` runs. */
async function fewestWhile(count: () => Promise<number>, work: () => Promise<void>): Promise<number> {
  let isOver = false;
  let fewest = await count();
  const watching = (async () => {
    while (!isOver) fewest = Math.min(fewest, await count());
  })();
  try {
    await work();
  } finally {
    isOver = true;
    await watching;
  }
  return fewest;
}

function configFor(socket: string): string {
  return `
dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
bgp: { speaker: external, grpc: ${socket}, local_asn: 65001, router_id: ${loopback(1)}, next_hop: 192.0.2.1 }
`;
}

async function ban(service: ServiceProcess, ip: string): Promise<void> {
  expect((await service.post("/api/v1/ban", { ip })).status).toBe(200);
}

async function unban(service: ServiceProcess, ip: string): Promise<void> {
  expect((await service.post("/api/v1/unban", { ip })).status).toBe(200);
}

interface Bans {
  readonly bans: readonly { readonly state: string; readonly announced?: boolean }[];
}

/** Number of active bans whose routes a neighbor has. */
async function announced(service: ServiceProcess): Promise<number> {
  const { bans } = (await service.get<Bans>("/api/v1/bans")).body;
  return bans.filter(({ state, announced: isOut }) => state === "active" && isOut !== false).length;
}
