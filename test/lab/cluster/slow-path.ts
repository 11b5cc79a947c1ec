/**
 * A way through a namespace on which each packet takes some time longer: a TUN device of socat gives the packets to this
 * process's child, which gives them back later. Kernels without sch_netem have no other way.
 */
import { join } from "node:path";
import { eventually, OutputProcess } from "../../fixtures/service.ts";
import type { Namespace } from "../namespaces.ts";

const [TUN_PORT, DELAY_PORT] = [5001, 5002];

export class SlowPath {
  readonly device = "slow0";
  readonly #closing: (() => void)[] = [];
  readonly #processes: readonly OutputProcess[];

  private constructor(processes: readonly OutputProcess[]) {
    this.#processes = processes;
  }

  /** One at a time in a namespace. */
  static async open(namespace: Namespace, ms: number): Promise<SlowPath> {
    const delay = new OutputProcess(
      namespace.command([process.execPath, join(import.meta.dir, "delay.ts"), String(DELAY_PORT), String(ms)]),
    );
    await delay.says("ready");
    const tun = "TUN:10.71.0.1/30,tun-name=slow0,iff-no-pi,iff-up";
    const datagrams = `UDP-DATAGRAM:127.0.0.1:${DELAY_PORT},bind=127.0.0.1:${TUN_PORT}`;
    const socat = new OutputProcess(namespace.command(["socat", tun, datagrams]));
    const path = new SlowPath([socat, delay]);
    const isUp = () => /state UNKNOWN|,UP/.test(namespace.run(["sh", "-c", "ip -o link show slow0 || true"]));
    await eventually(isUp, () => `no TUN device: ${socat.output}`);
    return path;
  }

  onClose(close: () => void): void {
    this.#closing.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0)) close();
    for (const each of this.#processes) await each.remove();
  }
}
