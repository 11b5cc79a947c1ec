/**
 * The packets of an attack by what became of them, from an inline box that filters: a flood of which a rule drops the
 * packets, and a user on the same wire; then a flood whose sources must prove their address. Real packets.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { decodeHeader, type PacketHeader } from "../../src/traffic/packet-header.ts";
import type { PacketOutcome } from "../../src/traffic/packet-outcome.ts";
import { readFrames } from "../fixtures/captures/capture-file.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { makeBoxLab, THRESHOLD_PPS } from "../lab/scrub/box-lab.ts";
import { VICTIM } from "../lab/scrub/scrub-network.ts";
import { sendFrom } from "../lab/world.ts";

const FLOOD = { src: "198.18.0.1", sources: 60_000, pps: 10 * THRESHOLD_PPS } as const;
const USER = "198.19.0.7";
const SYN = 2;

const undo = new Undo();
afterEach(() => undo.all());

const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

interface Kept {
  readonly kept_packets: Readonly<Record<PacketOutcome | "total", number>>;
}

/** The one attack on the victim, which need not go on. */
async function attackId(service: ServiceProcess): Promise<string> {
  let id: string | undefined;
  await eventually(
    async () => {
      const { active, recent } = (await service.get<Record<"active" | "recent", { id: string }[]>>("/api/v1/attacks"))
        .body;
      id = [...active, ...recent][0]?.id;
      return id !== undefined;
    },
    () => `no attack:\n${service.output}`,
  );
  return id as string;
}

async function keptOf(service: ServiceProcess, id: string): Promise<Kept["kept_packets"]> {
  return (await service.get<Kept>(`/api/v1/attacks/${id}/sources`)).body.kept_packets;
}

/** Resolves when no more packets are kept: samples come some time after the flood. */
async function allKept(service: ServiceProcess, id: string): Promise<void> {
  let before: unknown = null;
  const isSame = async () => {
    const now = await keptOf(service, id);
    const same = Bun.deepEquals(before, now);
    before = now;
    return same;
  };
  await eventually(isSame, "packets are kept on and on", 20_000, 500);
}

/** The headers in the file; null: there is none. */
async function packetsOf(service: ServiceProcess, id: string, outcome: PacketOutcome | null): Promise<PacketHeader[]> {
  const query = outcome === null ? "" : `?outcome=${outcome}`;
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1/attacks/${id}/pcap${query}`);
  expect([outcome, answer.status]).toEqual([outcome, 200]);
  const path = join(undo.folder("attack-packets"), "packets.pcap");
  await Bun.write(path, await answer.arrayBuffer());
  return readFrames(path).flatMap(({ frame }) => decodeHeader(frame) ?? []);
}

describe.skipIf(unavailable !== null)(`packets of an attack by what became of them${reason}`, () => {
  test("the dropped ones are the attack's, those that passed the user's, and each download is audited", async () => {
    // The ban's own rules are not tested here: rules of the operator decide before.
    const rules = [
      `{ name: user, action: pass, source: ${USER} }`,
      "{ name: flood, action: drop, source: 198.18.0.0/16, protocol: udp }",
    ];
    const { attacker, service } = await makeBoxLab(undo, {
      scrub: '{ tcp: "off" }',
      more: `filter_rules: [${rules.join(", ")}]\nstorage: { driver: sqlite }\n`,
    });
    const common = { target: VICTIM, path: "socket", seconds: 8 } as const;
    await Promise.all([
      sendFrom(attacker, { ...common, ...FLOOD, profile: "udp" }),
      sendFrom(attacker, { ...common, profile: "ack", src: USER, pps: THRESHOLD_PPS, cpu: 1 }),
    ]);
    const id = await attackId(service);
    await allKept(service, id);
    const dropped = await packetsOf(service, id, "dropped");
    expect(dropped.filter(({ source }) => !source.startsWith("198.18."))).toEqual([]);
    expect(dropped.length).toBeGreaterThan(100);
    const passed = await packetsOf(service, id, "passed");
    expect(passed.filter(({ source }) => source !== USER)).toEqual([]);
    expect(passed.length).toBeGreaterThan(10);
    const all = await packetsOf(service, id, null);
    expect(all).toHaveLength(dropped.length + passed.length);
    expect(await keptOf(service, id)).toEqual({
      ...{ total: all.length, passed: passed.length, dropped: dropped.length, answered: 0 },
    });
    const { body } = await service.get<{ events: object[] }>("/api/v1/audit?action=packet_download");
    expect(body.events.map((event) => (event as { reason: string }).reason).toSorted()).toEqual([
      `attack ${id}`,
      `attack ${id}, dropped`,
      `attack ${id}, passed`,
    ]);
    expect(body.events[0]).toMatchObject({ target: VICTIM, target_type: "host", result: "ok", source: "api" });
  }, 60_000);

  test("those that were answered for a proof of their source's address are kept as they came", async () => {
    const { attacker, service } = await makeBoxLab(undo, { scrub: "{ tcp: transparent }" });
    await sendFrom(attacker, { ...FLOOD, profile: "syn", target: VICTIM, path: "socket", seconds: 6 });
    const id = await attackId(service);
    const answered = await packetsOf(service, id, "answered");
    expect(answered.length).toBeGreaterThan(100);
    const isAsItCame = ({ source, destination, tcpFlags }: PacketHeader) =>
      source.startsWith("198.18.") && destination === VICTIM && tcpFlags === SYN;
    expect(answered.filter((packet) => !isAsItCame(packet))).toEqual([]);
    // Of those that passed before the ban some stay.
    expect((await keptOf(service, id)).passed).toBeGreaterThan(0);
  }, 60_000);
});
