/** Flow records of exporters on loopback: what `floodwall telemetry` says of them, and what the service does with them. */
import { afterAll, expect, test } from "bun:test";
import { createSocket } from "node:dgram";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { configWith } from "../fixtures/config/parsed-config.ts";
import { netflow9Data, netflow9Template } from "../fixtures/flows/flow-datagrams.ts";
import { FLOODWALL } from "../fixtures/program.ts";
import { floodwall } from "../fixtures/replay-command.ts";
import { eventually, OutputProcess, ServiceProcess } from "../fixtures/service.ts";
import { DatagramSender, freeUdpPort, netflow5, netflow9WithoutTemplate } from "../fixtures/telemetry/datagrams.ts";
import { Undo } from "../fixtures/undo.ts";

const undo = new Undo();
afterAll(() => undo.all());

const VICTIM = "203.0.113.7";
const FLOW = { source: "198.51.100.1", destination: VICTIM, packets: 1000, bytes: 500_000 };
const SENT_EVERY_MS = 50;

async function senderAt(from: string): Promise<DatagramSender> {
  const sender = await DatagramSender.bound(from);
  undo.add(() => sender.close());
  return sender;
}

interface Reported {
  readonly exporters: readonly Record<string, unknown>[];
  readonly listeners: readonly { readonly refused_addresses: readonly string[] }[];
}

interface Received {
  readonly exporters: readonly Record<string, unknown>[];
  readonly configuration: string;
}

test("floodwall telemetry says what it understands of each exporter, and lines that are a valid configuration", async () => {
  const port = await freeUdpPort();
  const [first, second] = [await senderAt("127.0.0.1"), await senderAt("127.0.0.2")];
  const listen = ["--listen", `127.0.0.1:${port}`, "--seconds", "2"];
  const command = new OutputProcess([...FLOODWALL, "telemetry", ...listen, "--json"]);
  undo.add(() => command.remove());
  await command.says(`listening at 127.0.0.1:${port}`);
  for (let i = 0; i < 10; i++) {
    first.send(netflow5([FLOW, FLOW], { sequence: 2 * i, samplingRate: 100 }), port);
    second.send(netflow9WithoutTemplate(i), port);
  }
  expect(await command.ended()).toBe(0);
  const { exporters, configuration } = JSON.parse(
    command.output.split("\n").find((l) => l.startsWith("{")) ?? "",
  ) as Received;
  expect(exporters).toMatchObject([
    {
      ...{ address: "127.0.0.1", protocols: ["netflow5"], datagrams: 10, records: 20, lost_records: 0 },
      sampling: [{ rate: 100 }],
      interfaces: expect.arrayContaining([expect.objectContaining({ index: 1, records_in: 20 })]),
    },
    { address: "127.0.0.2", protocols: ["netflow9"], datagrams: 10, records: 0 },
  ]);
  const { telemetry } = configWith(configuration);
  expect(telemetry?.listen).toMatchObject([{ address: "127.0.0.1", port }]);
  expect(telemetry?.exporters.map(({ name }) => name)).toEqual(["exporter-127.0.0.1", "exporter-127.0.0.2"]);
}, 30_000);

test("floodwall telemetry says who may have its port, and that nothing came", async () => {
  const socket = createSocket("udp4");
  undo.add(() => socket.close());
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  const taken = floodwall("telemetry", "--listen", `127.0.0.1:${socket.address().port}`, "--seconds", "1");
  expect(taken.exitCode).toBe(1);
  expect(taken.errors).toMatch(/another process has the port.*if it is the service, GET \/api\/v1\/telemetry/s);
  const quiet = floodwall("telemetry", "--listen", `127.0.0.1:${await freeUdpPort()}`, "--seconds", "1");
  expect(quiet.exitCode).toBe(1);
  expect(quiet.errors).toMatch(/no datagram was received: see whether the routers export/);
}, 30_000);

test("a flood that only an exporter reports is an attack; a reload changes who may send", async () => {
  const port = await freeUdpPort();
  const [exporter, stranger] = [await senderAt("127.0.0.1"), await senderAt("127.0.0.2")];
  const config = (address: string) => `networks: [203.0.113.0/24]
thresholds: { pps: 5000, mbps: 1000, flows_per_sec: 100000 }
telemetry:
  listen: [{ address: 127.0.0.1, port: ${port} }]
  exporters: [{ address: ${address}, name: edge1 }]
`;
  const service = await ServiceProcess.start({ config: config("127.0.0.1") });
  undo.add(() => service.remove());
  let sequence = 0;
  const flood = setInterval(() => {
    exporter.send(netflow5([FLOW], { sequence: sequence++ }), port);
    stranger.send(netflow5([FLOW], { sequence }), port);
  }, SENT_EVERY_MS);
  undo.add(() => clearInterval(flood));
  await eventually(async () => {
    const { body } = await service.get<{ active: { target: string }[] }>("/api/v1/attacks");
    return body.active.some(({ target }) => target === VICTIM);
  }, "there is no attack");
  const reported = async () => {
    const { body } = await service.get<Reported>("/api/v1/telemetry");
    return { row: body.exporters[0] ?? {}, refused: body.listeners[0]?.refused_addresses ?? [] };
  };
  await eventually(async () => {
    const { row, refused } = await reported();
    return row["state"] === "ok" && Number(row["counted_records"]) > 10 && refused[0] === "127.0.0.2";
  }, "the exporter is not reported");
  expect((await service.get("/api/v1/status")).body).toMatchObject({
    capture: { interfaces: [{ name: `127.0.0.1:${port}`, kind: "flow", state: "running" }] },
    telemetry: { exporters: 1, faulty: 0, states: { ok: 1 } },
  });
  service.writeConfig(config("127.0.0.2"));
  expect((await service.post("/api/v1/config/reload", {})).status).toBe(200);
  await eventually(async () => {
    const { row } = await reported();
    return row["address"] === "127.0.0.2" && Number(row["counted_records"]) > 0;
  }, "the other exporter does not count after the reload");
}, 60_000);

test("after a restart records count without a template, and a damaged file of what exporters said stops nothing", async () => {
  const port = await freeUdpPort();
  const exporter = await senderAt("127.0.0.1");
  const config = `networks: [203.0.113.0/24]
thresholds: { pps: 1000000, mbps: 10000, flows_per_sec: 100000 }
telemetry:
  listen: [{ address: 127.0.0.1, port: ${port} }]
  exporters: [{ address: 127.0.0.1, name: edge1 }]
`;
  const flow = { src: FLOW.source, dst: VICTIM, packets: 10, bytes: 5000 };
  const service = await ServiceProcess.start({ config });
  undo.add(() => service.remove());
  let sequence = 0;
  const counted = async (running: ServiceProcess) => {
    exporter.send(Buffer.from(netflow9Data([flow], sequence++)), port);
    const { body } = await running.get<Reported>("/api/v1/telemetry");
    return Number(body.exporters[0]?.["counted_records"] ?? 0);
  };
  exporter.send(Buffer.from(netflow9Template(sequence++)), port);
  // Two seconds and more: what is new is saved after a second.
  await eventually(async () => (await counted(service)) > 200, "no record counts", 20_000);
  await service.stop();

  const stored = join(service.directory, "state", "exporters.bin");
  const second = await ServiceProcess.start(service.again);
  undo.add(() => second.remove());
  await eventually(async () => (await counted(second)) > 0, "no record counts after a restart");
  await second.stop();

  writeFileSync(stored, readFileSync(stored).subarray(0, -1));
  const third = await ServiceProcess.start(service.again);
  undo.add(() => third.remove());
  await third.says("what exporters said before the restart cannot be read");
  await counted(third);
  exporter.send(Buffer.from(netflow9Template(sequence++)), port);
  await eventually(async () => (await counted(third)) > 0, "no record counts after a damaged file");
}, 60_000);
