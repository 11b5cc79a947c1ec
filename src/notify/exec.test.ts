import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../../test/fixtures/folders.ts";
import { attackEvent, BOX, events } from "../../test/fixtures/notify/notify.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { attack } from "../../test/fixtures/views.ts";
import { eventToWire } from "./event-wire.ts";
import { execChannel } from "./exec.ts";

const directory = folder("exec");

let scripts = 0;

/** `$OUT` is an output file of this script. Returns the paths of both. */
function script(lines: string): { readonly command: string; readonly out: string } {
  const command = join(directory, `script-${scripts++}`);
  const out = `${command}.out`;
  writeFileSync(command, `#!/bin/bash\nOUT=${out}\n${lines}\n`);
  chmodSync(command, 0o755);
  return { command, out };
}

function run(command: string, batch = [attackEvent()], signal = new AbortController().signal): Promise<unknown> {
  const context = {
    environment: { read: () => null },
    wallMs: () => 0,
    ...BOX,
    telegramApi: "",

    authority: null,
  };
  return execChannel({ kind: "exec", command, timeoutSeconds: 10 }, context)
    .deliver(batch, signal)
    .then(
      () => "done",
      (fault: unknown) => fault,
    );
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A zombie counts as dead.
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

describe("exec", () => {
  test("runs the program with the event as one line of JSON on its input", async () => {
    const { command, out } = script("cat > $OUT");
    expect(await run(command)).toBe("done");
    const line = readFileSync(out, "utf8");
    expect(line).toEndWith("}\n");
    expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(eventToWire(attackEvent(), BOX))));
  });

  test("gives it no argument and nothing of the service's environment", async () => {
    process.env["FLOODWALL_TEST_SECRET"] = "s3cret";
    const { command, out } = script(
      "{ cat /proc/$$/environ | tr '\\0' '\\n' | grep -v '^_='; echo args=$#; pwd; } > $OUT",
    );
    try {
      expect(await run(command)).toBe("done");
    } finally {
      delete process.env["FLOODWALL_TEST_SECRET"];
    }
    expect(readFileSync(out, "utf8").trim().split("\n").toSorted()).toEqual([
      "/",
      "LANG=C.UTF-8",
      "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      "args=0",
    ]);
  });

  test("takes an input that the program does not read, however long", async () => {
    const long = attackEvent({ attack: attack({ group: "x".repeat(1_000_000) }) });
    expect(await run(script("exit 0").command, [long])).toBe("done");
  });

  test("takes a program that floods its output", async () => {
    expect(await run(script("head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2").command)).toBe("done");
  });

  test("reports a program that fails", async () => {
    expect(await run(script("exit 3").command)).toMatchObject({ message: "ended with code 3" });
  });

  test.each(["/no/such/program", directory])("reports what cannot be run: %s", async (command) => {
    expect(await run(command)).toMatchObject({ message: expect.stringMatching(/^E[A-Z]+$/) });
  });

  test("runs no shell", async () => {
    const { command, out } = script("echo ran > $OUT");
    expect(await run(`${command}; true`)).toMatchObject({ message: "ENOENT" });
    expect(existsSync(out)).toBe(false);
  });

  test("ends a program that hangs, and all that it started, when its time is over", async () => {
    const { command, out } = script("sleep 1000 & sleep 1000 & echo $$ $(jobs -p) > $OUT.new; mv $OUT.new $OUT; wait");
    const time = new AbortController();
    const outcome = run(command, [attackEvent()], time.signal);
    await eventually(() => existsSync(out), "the program did not start");
    const pids = readFileSync(out, "utf8").trim().split(/\s+/).map(Number);
    expect(pids).toHaveLength(3);
    expect(pids.every(isAlive)).toBe(true);
    time.abort();
    expect(await outcome).toMatchObject({ message: "not done in time" });
    await eventually(() => !pids.some(isAlive), "something is left running");
  });

  test("ends what a program leaves running when it ends", async () => {
    const { command, out } = script("sleep 1000 & echo $! > $OUT; exit 0");
    expect(await run(command)).toBe("done");
    const pid = Number(readFileSync(out, "utf8"));
    await eventually(() => !isAlive(pid), "the child is left running");
  });

  test("runs once for each event", async () => {
    const { command, out } = script("cat >> $OUT");
    expect(await run(command, events(3) as ReturnType<typeof attackEvent>[])).toBe("done");
    expect(readFileSync(out, "utf8").trim().split("\n")).toHaveLength(3);
  });
});
