/**
 * The method `scrub` on an inline box: a spoofed SYN flood and users come in by two interfaces, and users go on being
 * served. Two real stacks, a real flood; the box sees only what comes in.
 */
import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { BpfDirectory } from "../fixtures/dataplane/bpf-directory.ts";
import { eventually, freePort, ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { type Namespace, Namespaces, namespacesUnavailable } from "../lab/namespaces.ts";
import { Relay } from "../lab/relay.ts";
import { serve, VICTIM } from "../lab/scrub/scrub-network.ts";
import { Requests } from "../lab/scrub/scrub-requests.ts";
import { sendFrom, TRAFFIC_SOURCE } from "../lab/world.ts";

const THRESHOLD_PPS = 2000;
const FLOOD_SECONDS = 8;
/** A connection is learned when it is older than two units of time, 4.3 s each. */
const LEARNED_MS = 9500;
const REQUEST_INTERVAL_MS = 50;
const ECHO_PORT = 81;
const XDP_PASS = join(TRAFFIC_SOURCE, "../xdp_pass.bpf.o");

const unavailable = namespacesUnavailable();
const reason = unavailable === null ? "" : `: ${unavailable}`;

interface BanBody {
  readonly method: string;
  readonly state: string;
  readonly route: string;
  readonly challenged_packets?: number;
  readonly validated_sources?: number;
}

const undo = new Undo();
afterEach(() => undo.all());

interface Lab {
  readonly attacker: Namespace;
  readonly client: Namespace;
  readonly victim: Namespace;
  readonly service: ServiceProcess;
}

async function makeLab(tcp: string): Promise<Lab> {
  const directory = undo.folder("scrub-here");
  const pins = new BpfDirectory();
  undo.add(() => pins.close());
  const namespaces = new Namespaces();
  undo.add(() => namespaces.close());
  const [attacker, client] = [namespaces.add("attacker"), namespaces.add("client")];
  const [box, victim] = [namespaces.add("box"), namespaces.add("victim")];
  namespaces.connect(
    { namespace: attacker, device: "wire0", addresses: ["198.18.255.1/15"] },
    { namespace: box, device: "in0", addresses: ["198.18.255.2/15"] },
  );
  namespaces.connect(
    { namespace: client, device: "net0", addresses: ["192.0.2.130/25"] },
    { namespace: box, device: "in1", addresses: ["192.0.2.129/25"] },
  );
  namespaces.connect(
    { namespace: box, device: "out0", addresses: ["203.0.113.1/24"] },
    { namespace: victim, device: "net0", addresses: [`${VICTIM}/24`] },
  );
  client.run(["ip", "route", "add", "default", "via", "192.0.2.129"]);
  victim.run(["ip", "route", "add", "default", "via", "203.0.113.1"]);
  box.run(["sh", "-ec", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
  // What XDP sends back over a veth arrives only where the far end has a program too.
  for (const [end, device] of [
    [attacker, "wire0"],
    [client, "net0"],
  ] as const) {
    end.run(["ip", "link", "set", "dev", device, "xdpdrv", "object", XDP_PASS, "section", "xdp"]);
  }
  await serve(victim);
  echo(victim);
  const port = await freePort();
  const relay = await Relay.open(box, port, directory);
  undo.add(() => relay.close());
  const config = `
dry_run: false
networks: [203.0.113.0/24]
capture:
  interfaces:
    - { name: in0, mode: inline }
    - { name: in1, mode: inline }
dataplane: { interfaces: [in0, in1], pin_path: ${pins.path}, on_exit: detach }
thresholds: { pps: ${THRESHOLD_PPS}, mbps: 1000, flows_per_sec: 50000 }
ban: { ttl_seconds: 60, unban_hysteresis_seconds: 1, repeat_window_seconds: 0 }
mitigation: scrub
scrub: { tcp: ${tcp} }
`;
  const service = await ServiceProcess.start({ config, netns: box.name, port, directory });
  undo.add(() => service.remove());
  return { attacker, client, victim, service };
}

/** Ends with its namespace. */
function echo(victim: Namespace): void {
  const socket = "{ data(peer, bytes) { peer.write(bytes); } }";
  const program = `Bun.listen({ hostname: "${VICTIM}", port: ${ECHO_PORT}, socket: ${socket} });`;
  Bun.spawn(victim.command([process.execPath, "-e", program]), { stdin: "ignore", stdout: "ignore" });
}

/** One connection that sends a line every tenth of a second; `answers` is how many came back, `isClosed` its end. */
class LongConnection {
  answers = 0;
  isClosed = false;

  constructor(client: Namespace) {
    const socket = `{ data() { console.log("answer"); }, close() { console.log("closed"); process.exit(); } }`;
    const program = `const peer = await Bun.connect({ hostname: "${VICTIM}", port: ${ECHO_PORT}, socket: ${socket} });
      setInterval(() => peer.write("line"), 100);`;
    const command = client.command([process.execPath, "-e", program]);
    const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
    undo.add(() => child.kill());
    void this.#read(child.stdout);
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const bytes of stream) {
      const text = new TextDecoder().decode(bytes);
      this.answers += text.split("answer").length - 1;
      this.isClosed ||= text.includes("closed");
    }
  }
}

function received(victim: Namespace): number {
  return Number(victim.run(["cat", "/sys/class/net/net0/statistics/rx_packets"]));
}

describe.skipIf(unavailable !== null)(`scrubbing on an inline box${reason}`, () => {
  test.each(["transparent", "reset"])(
    "a spoofed SYN flood is kept from the victim, and its users are served: %s",
    async (tcp) => {
      const { attacker, client, victim, service } = await makeLab(tcp);
      const long = new LongConnection(client);
      await eventually(() => long.answers > 0, "the long connection has no answers");
      await Bun.sleep(LEARNED_MS);
      const startedAtMs = performance.timeOrigin + performance.now();
      const flooding = sendFrom(attacker, {
        ...{ profile: "syn", target: VICTIM, sources: 60_000, src: "198.18.0.1", path: "socket" },
        ...{ pps: 10 * THRESHOLD_PPS, seconds: FLOOD_SECONDS },
      });
      const bans = async () => (await service.get<{ bans: BanBody[] }>("/api/v1/bans")).body.bans;
      const isScrubbed = async () => (await bans()).some(({ challenged_packets: count = 0 }) => count > 0);
      await eventually(isScrubbed, () => `nothing is challenged:\n${service.output}`);
      const requests = new Requests(client, { origin: `http://${VICTIM}`, intervalMs: REQUEST_INTERVAL_MS });
      await Bun.sleep(startedAtMs + 3000 - performance.timeOrigin - performance.now());
      const [before, answersBefore] = [received(victim), long.answers];
      const sent = await flooding;
      await requests.stop();
      const after = received(victim);

      const [ban] = await bans();
      expect(ban).toMatchObject({ method: "scrub", state: "active", route: `validate tcp ${tcp}` });
      expect(ban?.validated_sources).toBeGreaterThanOrEqual(1);
      expect(long.isClosed).toBe(false);
      expect(long.answers - answersBefore).toBeGreaterThan(10);
      const { requests: made, served, medianMs } = requests.between(startedAtMs + 3000, Number.POSITIVE_INFINITY);
      expect(made).toBeGreaterThan(50);
      expect(served).toBe(made);
      expect(medianMs).toBeLessThan(1000);
      // Of the flood; each request is about six packets of the client's.
      const users = 8 * made + 2 * (long.answers - answersBefore);
      expect(after - before - users).toBeLessThan(0.01 * sent.packets);
      await eventually(async () => (await bans()).every(({ state }) => state !== "active"), "the ban did not end");
    },
    60_000,
  );
});
