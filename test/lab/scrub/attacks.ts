/** Floods of the scrubbing lab: our traffic source, hping3, recorded captures and real connections. */
import { join } from "node:path";
import { runCommand } from "../../fixtures/run-command.ts";
import type { Undo } from "../../fixtures/undo.ts";
import type { Namespace } from "../namespaces.ts";
import { sendFrom, type TrafficOptions } from "../world.ts";
import { THRESHOLD_PPS } from "./box-lab.ts";
import { VICTIM } from "./scrub-network.ts";

/** Sends for this number of seconds; resolves with the packets that were sent. */
export type Attack = (attacker: Namespace, seconds: number, undo: Undo) => Promise<number>;

const PPS = 10 * THRESHOLD_PPS;
/** Addresses of the attacker that answer. */
export const REAL_SOURCES = "198.19.0.0/16";

export function flood(
  traffic: Omit<TrafficOptions, "target" | "pps" | "seconds"> & { readonly target?: string },
): Attack {
  return async (attacker, seconds) => {
    const { packets } = await sendFrom(attacker, {
      ...{ target: VICTIM, src: "198.18.0.1", path: "socket", pps: PPS, seconds },
      ...traffic,
    });
    return packets;
  };
}

/** Every 50 µs a packet, of a random source. */
export function hping(options: readonly string[]): Attack {
  return sending(["hping3", "-q", "-n", "-i", "u50", "--rand-source", ...options, VICTIM]);
}

/** The packets of a capture again and again, as they were but for the destination and MAC addresses. */
export function replay(capture: string): Attack {
  return (attacker, seconds, undo) => {
    const rewritten = join(undo.folder("replay"), "rewritten.pcap");
    runCommand([
      ...["tcprewrite", `--infile=${capture}`, `--outfile=${rewritten}`, `--dstipmap=0.0.0.0/0:${VICTIM}/32`],
      ...["--enet-smac=02:00:00:00:00:01", "--enet-dmac=02:00:00:00:00:02", "--enet-vlan=del", "--fixcsum"],
    ]);
    const flags = ["--intf1=wire0", `--pps=${PPS}`, "--loop=0", "--preload-pcap", "--quiet"];
    return sending(["tcpreplay", ...flags, rewritten])(attacker, seconds, undo);
  };
}

/** Connections whose handshakes complete, of this number of addresses in turn. */
export function connections({ addresses, perSecond }: { addresses: number; perSecond: number }): Attack {
  const each = Math.ceil(perSecond / 200);
  const program = `const { connect } = require("node:net");
    let next = 0;
    setInterval(() => { for (let i = 0; i < ${each}; i++) {
      const number = next++ % ${addresses} + 1;
      const localAddress = "198.19." + (number >> 8) + "." + (number & 255);
      const peer = connect({ host: "${VICTIM}", port: 80, localAddress });
      peer.on("connect", () => peer.end("GET / HTTP/1.1\\r\\nHost: victim\\r\\nConnection: close\\r\\n\\r\\n"));
      peer.on("error", () => {}); setTimeout(() => peer.destroy(), 1000);
    } }, ${(1000 * each) / perSecond});`;
  return async (attacker, seconds, undo) => {
    attacker.run(["ip", "route", "add", "local", REAL_SOURCES, "dev", "lo"]);
    return sending([process.execPath, "-e", program])(attacker, seconds, undo);
  };
}

/** Both at once; what was sent is that of the first. */
export function besides(first: Attack, second: Attack): Attack {
  return async (...all) => (await Promise.all([first(...all), second(...all)]))[0];
}

/** A program that sends until it is ended. */
function sending(command: readonly string[]): Attack {
  return async (attacker, seconds, undo) => {
    const before = sentBy(attacker);
    const child = Bun.spawn(attacker.command(command), { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
    undo.add(() => child.kill());
    await Bun.sleep(seconds * 1000);
    if (child.exitCode !== null) throw new Error(`${command[0]} ended by itself with exit code ${child.exitCode}`);
    child.kill();
    await child.exited;
    return sentBy(attacker) - before;
  };
}

function sentBy(attacker: Namespace): number {
  return Number(attacker.run(["cat", "/sys/class/net/wire0/statistics/tx_packets"]));
}
