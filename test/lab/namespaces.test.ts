import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { Namespaces, namespacesUnavailable } from "./namespaces.ts";

const unavailable = namespacesUnavailable();
const opened: Namespaces[] = [];

function openNamespaces(): Namespaces {
  const namespaces = new Namespaces();
  opened.push(namespaces);
  return namespaces;
}

afterEach(() => {
  for (const namespaces of opened.splice(0)) namespaces.close();
});

const isThere = (name: string) => existsSync(`/run/netns/${name}`);

/** A process of its own that makes a namespace, prints its name and then does `then`. */
function child(then: string) {
  const script = `
    import { Namespaces } from "${import.meta.dir}/namespaces.ts";
    const namespace = new Namespaces().add("child");
    console.log(namespace.name);
    ${then}`;
  return Bun.spawn([process.execPath, "-e", script], { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
}

async function firstLine(stream: ReadableStream<Uint8Array>): Promise<string> {
  for await (const chunk of stream) return new TextDecoder().decode(chunk).trim();
  throw new Error("the child printed nothing");
}

describe.skipIf(unavailable !== null)(`namespaces${unavailable === null ? "" : ` (${unavailable})`}`, () => {
  test("connects two namespaces so that one reaches the other over IPv4 and IPv6", async () => {
    const namespaces = openNamespaces();
    const left = namespaces.add("left");
    const right = namespaces.add("right");
    namespaces.connect(
      { namespace: left, device: "eth0", addresses: ["10.0.0.1/24", "2001:db8::1/64"] },
      { namespace: right, device: "eth0", addresses: ["10.0.0.2/24", "2001:db8::2/64"] },
    );
    const serve = `Bun.serve({ hostname: "::", port: 8000, fetch: () => new Response("reached") }); console.log("up");`;
    const server = Bun.spawn(right.command([process.execPath, "-e", serve]), { stdin: "ignore", stdout: "pipe" });
    expect(await firstLine(server.stdout)).toBe("up");
    for (const host of ["10.0.0.2", "[2001:db8::2]"]) {
      const ask = `process.stdout.write(await (await fetch("http://${host}:8000")).text())`;
      expect(left.run([process.execPath, "-e", ask])).toBe("reached");
    }
    expect(right.run(["ip", "link", "show", "eth0"])).toContain("02:00:00:00:00:02");
  });

  test("names what failed when a command fails inside", () => {
    const namespace = openNamespaces().add("left");
    expect(() => namespace.run(["ip", "link", "show", "absent"])).toThrow(/ip link show absent: .*does not exist/);
  });

  test("removes its namespaces and what still runs in them on close, and does nothing on the second", async () => {
    const namespaces = openNamespaces();
    const namespace = namespaces.add("inside");
    const command = namespace.command(["sh", "-c", "echo inside; exec sleep 60"]);
    const sleeper = Bun.spawn(command, { stdin: "ignore", stdout: "pipe" });
    expect(await firstLine(sleeper.stdout)).toBe("inside");
    namespaces.close();
    namespaces.close();
    expect(isThere(namespace.name)).toBe(false);
    await sleeper.exited;
    expect(sleeper.signalCode).toBe("SIGKILL");
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("removes its namespaces on %s", async (signal) => {
    const process = child("setInterval(() => {}, 1000);");
    const name = await firstLine(process.stdout);
    expect(isThere(name)).toBe(true);
    process.kill(signal);
    await process.exited;
    expect(isThere(name)).toBe(false);
  });

  test("removes its namespaces when the process exits by itself", async () => {
    const process = child("process.exit(3);");
    const name = await firstLine(process.stdout);
    expect(await process.exited).toBe(3);
    expect(isThere(name)).toBe(false);
  });

  test("removes what a killed process left behind, and leaves those of living ones alone", async () => {
    const killed = child("setInterval(() => {}, 1000);");
    const living = child("setInterval(() => {}, 1000);");
    const [leftover, used] = [await firstLine(killed.stdout), await firstLine(living.stdout)];
    killed.kill("SIGKILL");
    await killed.exited;
    expect(isThere(leftover)).toBe(true);
    openNamespaces();
    expect(isThere(leftover)).toBe(false);
    expect(isThere(used)).toBe(true);
    living.kill("SIGTERM");
    await living.exited;
  });
});
