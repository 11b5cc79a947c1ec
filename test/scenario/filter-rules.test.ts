/** The operator's rules on an inline box, with real packets: by payload, set and limit, by order, and over a kill -9. */
import { afterEach, describe, expect, test } from "bun:test";
import { eventually, ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { type Namespace, namespacesUnavailable } from "../lab/namespaces.ts";
import { CLIENT, makeBoxLab } from "../lab/scrub/box-lab.ts";
import { serve, VICTIM } from "../lab/scrub/scrub-network.ts";

interface RuleWire {
  readonly name: string;
  readonly origin: string;
  readonly packets?: number;
  readonly dropped_packets?: number;
  readonly hidden_by?: string;
}

const PATH = "/api/v1/filter-rules";
const undo = new Undo();
afterEach(() => undo.all());

const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

function isServed(client: Namespace, path = "/"): boolean {
  const command = client.command(["curl", "-s", "-o", "/dev/null", "--max-time", "2", `http://${VICTIM}${path}`]);
  return Bun.spawnSync(command, { stdin: "ignore" }).exitCode === 0;
}

async function rulesOf(service: ServiceProcess): Promise<readonly RuleWire[]> {
  return (await service.get<{ rules: RuleWire[] }>(PATH)).body.rules;
}

/** Counts are at most a second old. */
async function droppedBy(service: ServiceProcess, name: string): Promise<number> {
  await Bun.sleep(1100);
  return (await rulesOf(service)).find((rule) => rule.name === name)?.dropped_packets ?? -1;
}

describe.skipIf(unavailable !== null)(`rules of the operator${reason}`, () => {
  test("decide before those of bans, from configuration and order, and outlive the service", async () => {
    const folder = undo.folder("filter-rules");
    const list = `${folder}/clients.txt`;
    await Bun.write(list, `${CLIENT}\n`);
    // "GET /private"
    const more = `prefix_sets: [{ name: clients, file: ${list} }]
filter_rules:
  - { name: private, action: drop, protocol: tcp, payload: [{ bytes: "474554202f70726976617465" }] }
  - { name: watched, action: drop, source_sets: [clients], protocol: tcp, dry_run: true }
  - { name: attacked, action: drop, when: attacked, source_sets: [clients], protocol: tcp, ports: ["80"] }
`;
    const { client, victim, service } = await makeBoxLab(undo, { scrub: '{ tcp: "off" }', more });
    await serve(victim);
    expect(isServed(client)).toBe(true);
    expect(isServed(client, "/private")).toBe(false);
    expect(isServed(client, "/public")).toBe(true);
    expect(await droppedBy(service, "private")).toBeGreaterThanOrEqual(1);
    expect(await droppedBy(service, "watched")).toBeGreaterThanOrEqual(10);

    // While the victim has a ban, by order here.
    expect((await service.post("/api/v1/ban", { ip: VICTIM })).status).toBe(200);
    await eventually(() => !isServed(client), "the rule for attacked addresses does not act", 20_000, 100);
    expect((await service.post("/api/v1/unban", { ip: VICTIM })).status).toBe(200);
    await eventually(() => isServed(client), "the rule for attacked addresses still acts", 20_000, 100);

    const order = { name: "closed", action: "drop", protocol: "tcp", ports: ["80"], ttl_seconds: 600 };
    expect((await service.post(PATH, order)).status).toBe(200);
    await eventually(() => !isServed(client), "the ordered rule does not act", 20_000, 100);
    const hidden = (await rulesOf(service)).find(({ name }) => name === "attacked");
    expect(hidden).toMatchObject({ hidden_by: "closed" });

    await service.stop("SIGKILL");
    expect(isServed(client)).toBe(false);
    const next = await ServiceProcess.start(service.again);
    undo.add(() => next.remove());
    expect((await rulesOf(next)).map(({ name, origin }) => `${name} ${origin}`)).toEqual([
      "closed order",
      "private configuration",
      "watched configuration",
      "attacked configuration",
    ]);
    expect(isServed(client)).toBe(false);
    expect((await next.order("DELETE", `${PATH}/closed`, {})).status).toBe(200);
    await eventually(() => isServed(client), "the rule acts after its end", 20_000, 100);
  }, 120_000);

  test("hold the connections of each source to a rate", async () => {
    const rule =
      "{ name: opens, action: limit, protocol: tcp, tcp_flags: { set: [syn], unset: [ack] }, packets_per_second: 1, per: source }";
    const more = `filter_rules: [${rule}]\n`;
    const { client, victim, service } = await makeBoxLab(undo, { scrub: '{ tcp: "off" }', more });
    await serve(victim);
    // What is beyond the rate is sent again by the client's stack a second later, and passes then.
    expect(Array.from({ length: 5 }, () => isServed(client))).toEqual([true, true, true, true, true]);
    expect(await droppedBy(service, "opens")).toBeGreaterThanOrEqual(1);
  }, 120_000);
});
