/**
 * The service in a virtual machine whose power can be cut, with its state on an ext4 file system on a disk that is served
 * by this process. Knows nothing of the orders that the service is given.
 */
import { type Answer, eventually, Fatal, freePort } from "../fixtures/service.ts";
import type { KernelImage } from "./kernel-image.ts";
import { runInGuest } from "./virtual-machine.ts";

export interface PoweredServiceOptions {
  readonly kernel: KernelImage;
  /** Socket of the disk's server. */
  readonly disk: string;
  /** Makes the file system first. */
  readonly isNewDisk: boolean;
}

/** Of the guest. */
const [ADDRESS, PORT] = ["10.0.2.15", 8080];
const SECRET = "an-operators-secret";
const TIMEOUT_SECONDS = 3600;
const READY_MS = 900_000;
const REQUEST_MS = 20_000;
const TAIL_LINES = 40;
/** Longer than all cuts take: nothing expires meanwhile. */
export const LASTING_SECONDS = 86_400;
export const ZONES = Array.from({ length: 24 }, (_, i) => `zone${i}.example`);
/** Hostgroups whose settings are ordered, with no banned address. */
export const GROUPS = ["group0", "group1", "group2", "group3"];
/** Chosen for addresses. */
export const PROFILE = "web";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
ban: { ttl_seconds: ${LASTING_SECONDS}, max_active_bans: 250 }
dataplane: { interfaces: [eth0] }
hostgroups: [${GROUPS.map((name, i) => `{ name: ${name}, networks: [203.0.113.${208 + 4 * i}/30] }`).join(", ")}]
state_dir: /mnt/floodwall
edge: { zones_file: /tmp/zones.yaml, nodes: [{ name: edge1 }] }
api: { listen: "${ADDRESS}:${PORT}", token_env: OPERATOR }
`;
const ZONES_FILE = `zones:\n${ZONES.map((name) => `- { name: ${name}, origins: ["192.0.2.1:443"] }\n`).join("")}`;

/** The check of the file system is that of every boot: exit codes from 4 on ask for an operator. */
const COMMAND = `
modprobe -a virtio_net virtio_blk ext4
grep -q 'write back' /sys/block/vda/queue/write_cache || { echo "the disk has no write cache"; exit 1; }
[ -z "$NEW_DISK" ] || mkfs.ext4 -q /dev/vda || exit 1
e2fsck -p /dev/vda; [ $? -lt 4 ] || { echo "the file system is damaged"; exit 1; }
mount -t ext4 /dev/vda /mnt || exit 1
ip address add ${ADDRESS}/24 dev eth0 && ip link set eth0 up || exit 1
cat > /tmp/floodwall.yaml <<'END'${CONFIG}END
cat > /tmp/zones.yaml <<'END'
${ZONES_FILE}END
node_modules/.bin/bun src/main.ts serve --config /tmp/floodwall.yaml 2>&1 | grep --line-buffered -v '"level":"info"'`;

export class PoweredService {
  /** What the guest has printed; of the service, all that is worse than information. */
  readonly #lines: string[] = [];
  readonly #errors: string[] = [];
  readonly #port: number;
  readonly #power = new AbortController();
  readonly #ended: Promise<unknown>;
  #hasEnded = false;

  private constructor({ kernel, disk, isNewDisk }: PoweredServiceOptions, port: number) {
    this.#port = port;
    const forward = `hostfwd=tcp:127.0.0.1:${port}-${ADDRESS}:${PORT}`;
    this.#ended = runInGuest({
      ...{ kernel, command: COMMAND, timeoutSeconds: TIMEOUT_SECONDS, signal: this.#power.signal },
      environment: { OPERATOR: SECRET, NEW_DISK: isNewDisk ? "yes" : "" },
      devices: [
        ...["-blockdev", `driver=nbd,node-name=state,server.type=unix,server.path=${disk}`],
        ...["-device", "virtio-blk-pci,drive=state,write-cache=on,physical_block_size=4096"],
        // Nothing outside is reached from it.
        ...["-netdev", `user,id=api,restrict=on,${forward}`, "-device", "virtio-net-pci,netdev=api,romfile="],
      ],
      onLine: (line) => {
        this.#lines.push(line);
        if (/"level":"(error|fatal)"/.test(line)) this.#errors.push(line);
      },
    }).finally(() => {
      this.#hasEnded = true;
    });
    // Reported to the one who cuts the power.
    this.#ended.catch(() => {});
  }

  static async powerOn(options: PoweredServiceOptions): Promise<PoweredService> {
    return new PoweredService(options, await freePort());
  }

  /** Resolves when the service says that it is healthy. Rejects with what was printed when it does not. */
  async ready(): Promise<void> {
    const isHealthy = async () => {
      if (this.#hasEnded) throw new Fatal(`the machine ended:\n${this.tail()}`);
      const answer = await this.#fetch("/healthz", { signal: AbortSignal.timeout(2000) }).catch(() => null);
      return answer?.status === 200;
    };
    await eventually(isHealthy, () => `the service is not ready:\n${this.tail()}`, READY_MS, 200);
  }

  /** Resolves when the machine is off. */
  async cutPower(): Promise<void> {
    this.#power.abort();
    await this.#ended;
  }

  get<T>(path: string): Promise<Answer<T>> {
    return this.#ask(path, {});
  }

  /** @param body absent: a request without one */
  send<T>(method: "POST" | "PUT" | "DELETE", path: string, body?: unknown): Promise<Answer<T>> {
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    return this.#ask(path, { method, ...content });
  }

  /** What the service has logged as an error since the last call: that the state database was damaged, say. */
  newErrors(): readonly string[] {
    return this.#errors.splice(0);
  }

  /** What the guest printed last. */
  tail(): string {
    return this.#lines.slice(-TAIL_LINES).join("\n");
  }

  async #ask<T>(path: string, init: RequestInit): Promise<Answer<T>> {
    const answer = await this.#fetch(path, { signal: AbortSignal.timeout(REQUEST_MS), ...init });
    return { status: answer.status, body: (await answer.json()) as T };
  }

  #fetch(path: string, init: RequestInit): Promise<Response> {
    const headers = { "content-type": "application/json", authorization: `Bearer ${SECRET}` };
    return fetch(`http://127.0.0.1:${this.#port}${path}`, { ...init, headers });
  }
}
