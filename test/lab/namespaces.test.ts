import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { linesOf } from "../fixtures/lines.ts";
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

/** Starts a program; resolves when it has printed a line. Its input is open until the test ends it. */
async function started(command: readonly string[]) {
  const child = Bun.spawn([...command], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  for await (const line of linesOf(child.stdout)) return { child, line };
  throw new Error("the program printed nothing");
}

/** A process of its own that makes a namespace, prints its name and then does `then`. */
function owner(then = "setInterval(() => {}, 1000)") {
  const imported = `import { Namespaces } from "${import.meta.dir}/namespaces.ts"`;
  const script = `${imported}; console.log(new Namespaces().add("child").name); ${then}`;
  return started([process.execPath, "-e", script]);
}

describe.skipIf(unavailable !== null)(`namespaces${unavailable === null ? "" : ` (${unavailable})`}`, () => {
  test("connects two namespaces so that one reaches the other over IPv4 and IPv6", async () => {
    const namespaces = openNamespaces();
    const [left, right] = [namespaces.add("left"), namespaces.add("right")];
    namespaces.connect(
      { namespace: left, device: "eth0", addresses: ["10.0.0.1/24", "2001:db8::1/64"] },
      { namespace: right, device: "eth0", addresses: ["10.0.0.2/24", "2001:db8::2/64"] },
    );
    const serve = `Bun.serve({ hostname: "::", port: 8000, fetch: () => new Response("reached") }); console.log("up");`;
    await started(right.command([process.execPath, "-e", serve]));
    for (const host of ["10.0.0.2", "[2001:db8::2]"]) {
      const ask = `process.stdout.write(await (await fetch("http://${host}:8000")).text())`;
      expect(left.run([process.execPath, "-e", ask])).toBe("reached");
    }
    expect(right.run(["ip", "link", "show", "eth0"])).toContain("02:00:00:00:00:02");
    expect(() => left.run(["ip", "link", "show", "absent"])).toThrow(/ip link show absent: .*does not exist/);
  });

  test("removes its namespaces and what still runs in them on close, and does nothing on the second", async () => {
    const namespaces = openNamespaces();
    const { name } = namespaces.add("inside");
    const { child } = await started(["ip", "netns", "exec", name, "sh", "-c", "echo inside; exec sleep 60"]);
    namespaces.close();
    namespaces.close();
    expect(isThere(name)).toBe(false);
    await child.exited;
    expect(child.signalCode).toBe("SIGKILL");
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP", "exit"] as const)("removes its namespaces on %s", async (end) => {
    const { child, line } = await (end === "exit" ? owner("await Bun.stdin.text(); process.exit(3)") : owner());
    expect(isThere(line)).toBe(true);
    if (end === "exit") void child.stdin.end();
    else child.kill(end);
    await child.exited;
    expect(isThere(line)).toBe(false);
  });

  test("removes what a killed process left behind, and leaves those of living ones alone", async () => {
    const [killed, living] = [await owner(), await owner()];
    killed.child.kill("SIGKILL");
    await killed.child.exited;
    expect(isThere(killed.line)).toBe(true);
    openNamespaces();
    expect([isThere(killed.line), isThere(living.line)]).toEqual([false, true]);
    living.child.kill("SIGTERM");
    await living.child.exited;
  });
});
