/** A router of another project as the other end of a BGP session: its processes, and what its own tool says that it holds. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../fixtures/service.ts";
import type { Namespace } from "../namespaces.ts";

export const SPEAKER_ASN = 64500;

/** One link to the speaker's namespace. */
export interface RouterLink {
  readonly namespace: Namespace;
  /** Of the router and of the speaker, without a length. */
  readonly own: { readonly v4: string; readonly v6: string };
  readonly speaker: { readonly v4: string; readonly v6: string };
  readonly asn: number;
}

export interface HeldRoute {
  readonly prefix: string;
  readonly nextHop: string;
  /** Standard, then extended as `rt:65000:100`, then large: sorted. */
  readonly communities: readonly string[];
}

export interface HeldFlow {
  /** Components in the order of RFC 8955, as `dst 203.0.113.7/32; proto =17; sport >=100&<=200`. */
  readonly match: string;
  /** Extended communities, as `rate 0` or `rt:65000:100`, and all others, sorted. */
  readonly attributes: readonly string[];
}

/** The processes of one router, in its namespace and in a Debian system; its files are in a folder of that system. */
class RouterProcesses {
  readonly #running: Bun.Subprocess[] = [];

  constructor(
    readonly root: string,
    readonly name: string,
    readonly namespace: Namespace,
  ) {
    mkdirSync(this.outside(""), { recursive: true, mode: 0o755 });
  }

  /** Its folder, as the processes see it. */
  inside(file: string): string {
    return join("/var/lib/routers", this.name, file);
  }

  outside(file: string): string {
    return join(this.root, this.inside(file));
  }

  write(file: string, content: string, mode = 0o644): void {
    writeFileSync(this.outside(file), content, { mode });
  }

  read(file: string): string {
    return readFileSync(this.outside(file), "utf8");
  }

  /** Output goes to `log` in the folder. */
  start(command: readonly string[]): void {
    const log = Bun.file(this.outside("log"));
    const argv = ["setpriv", "--pdeathsig", "KILL", ...this.#command(command)];
    this.#running.push(Bun.spawn(argv, { stdio: ["ignore", log, log] }));
  }

  /** The output of a command that ends. Throws when it fails. */
  async ask(command: readonly string[]): Promise<string> {
    const child = Bun.spawn(this.#command(command), { stdio: ["ignore", "pipe", "pipe"] });
    const [output, errors, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (code !== 0) throw new Error(`${this.name}: ${command.join(" ")}: ${errors || output}`);
    return output;
  }

  async kill(): Promise<void> {
    for (const child of this.#running) child.kill("SIGKILL");
    await Promise.all(this.#running.map((child) => child.exited));
    this.#running.length = 0;
  }

  #command(command: readonly string[]): string[] {
    return this.namespace.command(["chroot", this.root, ...command]);
  }
}

export abstract class ForeignRouter {
  protected readonly processes: RouterProcesses;

  /** @param root of the Debian system that has its software */
  constructor(
    readonly name: string,
    root: string,
    readonly link: RouterLink,
  ) {
    this.processes = new RouterProcesses(root, name, link.namespace);
  }

  abstract start(): Promise<void>;
  abstract routes(): Promise<readonly HeldRoute[]>;
  /** null: the software knows no FlowSpec. */
  abstract flows(): Promise<readonly HeldFlow[] | null>;

  /** SIGKILL, as a power cut of the router would. A second time does nothing. */
  kill(): Promise<void> {
    return this.processes.kill();
  }

  /** Until it does what it can only do when it runs. */
  protected async started(isUp: () => Promise<boolean>): Promise<void> {
    await eventually(isUp, () => `${this.name} does not start: ${this.processes.read("log")}`, 20_000);
  }
}
