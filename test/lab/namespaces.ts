/**
 * Network namespaces and veth pairs for tests and the lab, named after this process, gone when it ends. Nothing outside
 * these namespaces is touched. Knows nothing of what runs in them.
 */
import { existsSync, readdirSync } from "node:fs";
import { runCommand } from "../fixtures/run-command.ts";

const PREFIX = "floodwall";
const NAMED = "/run/netns";

/** One end of a veth pair. Addresses are in CIDR form; without an IPv6 address the device sends no IPv6 of its own. */
export interface VethEnd {
  readonly namespace: Namespace;
  readonly device: string;
  readonly addresses?: readonly string[];
}

interface VethOptions {
  /** RX and TX queues of each end. Frames of CPU n arrive at queue n modulo this. */
  readonly queues?: number;
}

/** Why namespaces cannot be had here, or null. For `test.skipIf`, with the reason in the test's name. */
export function namespacesUnavailable(): string | null {
  if (process.getuid?.() !== 0) return "needs root";
  return Bun.which("ip") === null ? "needs ip (Debian package iproute2)" : null;
}

export class Namespace {
  constructor(readonly name: string) {}

  /** The command that runs another one inside. */
  command(argv: readonly string[]): string[] {
    return ["ip", "netns", "exec", this.name, ...argv];
  }

  /** Runs a command inside and returns its output. Throws when it fails. */
  run(argv: readonly string[]): string {
    return runCommand(this.command(argv));
  }

  /** Of processes inside. */
  pids(): number[] {
    return runCommand(["ip", "netns", "pids", this.name]).split("\n").filter(Boolean).map(Number);
  }
}

/** A set of namespaces with one owner. close() twice is fine; the process's end closes what is still open. */
export class Namespaces {
  readonly #names = new Set<string>();
  #pairs = 0;

  constructor() {
    removeLeftovers();
    open.add(this);
    closeAtExit();
  }

  /** @param name short; made unique for this process. */
  add(name: string): Namespace {
    const namespace = new Namespace(`${PREFIX}-${process.pid}-${name}`);
    runCommand(["ip", "netns", "add", namespace.name]);
    this.#names.add(namespace.name);
    // Devices made from here on are silent: no IPv6 until connect() switches it on, and then no discovery of any kind.
    const settings = ["disable_ipv6 1", "accept_ra 0", "accept_dad 0", "router_solicitations 0", "addr_gen_mode 1"];
    const lines = settings.map((setting) => setting.split(" "));
    const script = lines.map(([key, value]) => `echo ${value} > /proc/sys/net/ipv6/conf/default/${key}`).join("\n");
    namespace.run(["sh", "-ec", `${script}\nip link set lo up`]);
    return namespace;
  }

  /** A veth pair, up. The n-th pair (from 0) has the MACs 02:00:00:00:n:01 and, at the far end, 02:00:00:00:n:02. */
  connect(near: VethEnd, far: VethEnd, { queues = 1 }: VethOptions = {}): void {
    const pair = (this.#pairs++).toString(16).padStart(2, "0");
    const mac = (end: string) => `02:00:00:00:${pair}:${end}`;
    const counts = queues === 1 ? [] : ["numtxqueues", String(queues), "numrxqueues", String(queues)];
    const nearLink = ["name", near.device, "address", mac("01"), ...counts, "type", "veth"];
    const farLink = ["peer", "name", far.device, "address", mac("02"), ...counts, "netns", far.namespace.name];
    runCommand(["ip", "-n", near.namespace.name, "link", "add", ...nearLink, ...farLink]);
    for (const end of [near, far]) bringUp(end);
  }

  close(): void {
    open.delete(this);
    for (const name of this.#names) remove(name);
    this.#names.clear();
  }
}

function bringUp({ namespace, device, addresses = [] }: VethEnd): void {
  if (addresses.some((address) => address.includes(":"))) {
    namespace.run(["sh", "-ec", `echo 0 > /proc/sys/net/ipv6/conf/${device}/disable_ipv6`]);
  }
  runCommand(["ip", "-n", namespace.name, "link", "set", device, "up"]);
  for (const address of addresses) runCommand(["ip", "-n", namespace.name, "address", "add", address, "dev", device]);
}

const open = new Set<Namespaces>();
let isHooked = false;

function closeAtExit(): void {
  if (isHooked) return;
  isHooked = true;
  process.on("exit", () => {
    for (const namespaces of open) namespaces.close();
  });
  const numbers = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
  for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"] as const) {
    // A program with a handler of its own ends in its own way, through exit.
    process.on(signal, () => {
      if (process.listenerCount(signal) === 1) process.exit(128 + numbers[signal]);
    });
  }
}

/** Namespaces of processes that were killed before they could clean up. */
function removeLeftovers(): void {
  if (!existsSync(NAMED)) return;
  for (const name of readdirSync(NAMED)) {
    const owner = new RegExp(`^${PREFIX}-(\\d+)-`).exec(name)?.[1];
    if (owner !== undefined && !existsSync(`/proc/${owner}`)) remove(name);
  }
}

/** A namespace lives on while a process is inside, so what was left running there ends first. */
function remove(name: string): void {
  if (!existsSync(`${NAMED}/${name}`)) return;
  for (const pid of new Namespace(name).pids()) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself meanwhile.
    }
  }
  try {
    runCommand(["ip", "netns", "delete", name]);
  } catch (error) {
    // Another process may have removed the same leftover first.
    if (existsSync(`${NAMED}/${name}`)) throw error;
  }
}
