/** Makes a service inside a network namespace answer on the host's loopback, by way of a unix socket (socat, Debian). */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../fixtures/service.ts";
import type { Namespace } from "./namespaces.ts";

export class Relay {
  readonly #children: Bun.Subprocess[];

  private constructor(children: Bun.Subprocess[]) {
    this.#children = children;
  }

  /** The same port at both ends. Throws when the port is taken on the host. */
  static async open(namespace: Namespace, port: number, directory: string): Promise<Relay> {
    assertFree(port);
    const socket = join(directory, "api.sock");
    const inside = spawn(namespace.command(["socat", `UNIX-LISTEN:${socket},fork`, `TCP:127.0.0.1:${port}`]));
    const outside = spawn(["socat", `TCP-LISTEN:${port},bind=127.0.0.1,reuseaddr,fork`, `UNIX-CONNECT:${socket}`]);
    const relay = new Relay([inside, outside]);
    await eventually(() => existsSync(socket), "the relay to the API did not start: is socat installed?");
    return relay;
  }

  close(): void {
    for (const child of this.#children) child.kill();
  }
}

function spawn(command: string[]): Bun.Subprocess {
  // A connection that comes before the service listens, or ends under way, is not reported.
  return Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
}

function assertFree(port: number): void {
  try {
    Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
  } catch {
    throw new Error(`127.0.0.1:${port} is in use: stop what listens there, or choose another with PORT=8081`);
  }
}
