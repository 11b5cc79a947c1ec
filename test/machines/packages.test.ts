/** How Debian's packages are installed: on which machines, which of them, and what is left out where there is none. */
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Ended, Programs } from "../fixtures/programs.ts";
import { ROOT } from "../source-tree.ts";

const SCRIPT = join(ROOT, "setup/packages.sh");
const isRoot = process.getuid?.() === 0;

interface Machine {
  /** Lines of /etc/os-release. Default: Debian 12's. */
  readonly release?: string;
  readonly architecture?: string;
  readonly installed?: readonly string[];
  /** What its release has. Default: everything. */
  readonly available?: readonly string[] | null;
  readonly user?: number;
}

const machines: Programs[] = [];
afterEach(() => {
  for (const machine of machines.splice(0)) machine.remove();
});

/** Runs the script where the release is another one and /usr/sbin is empty; what it asks of apt is only written down. */
async function install(machine: Machine, ...packages: readonly string[]): Promise<Ended & { readonly asked: string }> {
  const { release = "ID=debian\nVERSION_ID=12", architecture = "amd64", installed = [], available = null } = machine;
  const known = (names: readonly string[]) => `case "$last" in ${["''", ...names].join("|")})`;
  const last = 'for last in "$@"; do :; done';
  const programs = new Programs({
    dpkg: `echo ${architecture}`,
    "dpkg-query": `${last}; ${known(installed)} echo 'install ok installed' ;; *) exit 1 ;; esac`,
    "apt-cache":
      available === null ? "echo Package" : `${last}; ${known(available)} echo Package ;; *) exit 100 ;; esac`,
    "apt-get": 'echo "$* $(/usr/sbin/policy-rc.d 2>/dev/null; echo $?)" >> asked',
    id: `echo ${machine.user ?? 0}`,
  });
  machines.push(programs);
  writeFileSync(join(programs.folder, "os-release"), `${release}\n`);
  const inside = `mount --bind os-release /etc/os-release && mount -t tmpfs none /usr/sbin
    "$@"; code=$?; ls /usr/sbin; exit $code`;
  const command = ["unshare", "--mount", "sh", "-c", inside, "sh", SCRIPT, "log", ...packages];
  const ended = await programs.run(command);
  const asked = join(programs.folder, "asked");
  return { ...ended, asked: existsSync(asked) ? readFileSync(asked, "utf8") : "" };
}

describe.skipIf(!isRoot)(`packages${isRoot ? "" : " (skipped: needs root for a mount namespace)"}`, () => {
  test("those that are missing are installed at once, and no service is started meanwhile", async () => {
    const { exitCode, output, asked } = await install({ installed: ["clang"] }, "clang", "g++", "llvm");
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: "installing Debian packages: g++ llvm\n" });
    const [update, installing] = asked.trim().split("\n");
    expect(update).toStartWith("update ");
    expect(installing).toEndWith("install -y --no-install-recommends g++ llvm 101");
  });

  test("nothing is asked of apt when nothing is missing, whoever asks", async () => {
    const machine = { installed: ["g++", "wrk"], user: 1000 };
    expect(await install(machine, "g++", "--if-available", "wrk")).toEqual({ exitCode: 0, output: "", asked: "" });
  });

  test("one that this release may lack is installed where it is there, and left out by name where it is not", async () => {
    const there = await install({}, "pebble", "--if-available", "clickhouse-server");
    expect(there.output).toBe("installing Debian packages: pebble clickhouse-server\n");
    const lacking = await install({ available: ["pebble"] }, "pebble", "--if-available", "clickhouse-server");
    expect(lacking.exitCode).toBe(0);
    expect(lacking.output).toBe(
      "this release of Debian has no clickhouse-server: tests that need it are skipped, and named\n" +
        "installing Debian packages: pebble\n",
    );
  });

  test("without root the command is told that installs them", async () => {
    const { exitCode, output, asked } = await install({ user: 1000 }, "g++", "llvm");
    expect({ exitCode, asked }).toEqual({ exitCode: 1, asked: "" });
    expect(output).toBe("missing Debian packages, as root: apt-get install --no-install-recommends g++ llvm\n");
  });

  test.each([
    ["ID=debian\nVERSION_ID=11", "amd64", "this is Debian 11: its clang, libxdp and GoBGP are too old; upgrade"],
    ["ID=debian\nVERSION_ID=12", "i386", "this is Debian for i386: there are Floodwall and Bun for amd64 and arm64"],
  ])("%j on %s is refused", async (release, architecture, text) => {
    const { exitCode, output, asked } = await install({ release, architecture }, "g++");
    expect({ exitCode, asked }).toEqual({ exitCode: 1, asked: "" });
    expect(output).toStartWith(text);
  });

  test.each([
    ["ID=debian\nVERSION_ID=13", "arm64"],
    ["ID=debian\nVERSION_CODENAME=forky", "amd64"],
    ["ID=ubuntu\nVERSION_ID=24.04", "amd64"],
  ])("%j on %s is taken", async (release, architecture) => {
    expect((await install({ release, architecture }, "g++")).exitCode).toBe(0);
  });
});
