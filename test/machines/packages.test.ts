/** How Debian's packages are installed: on which machines, which of them, and what is left out where there is none. */
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
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
  /** What its release does not have. */
  readonly lacking?: readonly string[];
  readonly user?: number;
}

/** Runs the script where the release is another one and /usr/sbin is empty; what it asks of apt is only written down. */
async function install(machine: Machine, ...packages: readonly string[]): Promise<Ended & { readonly asked: string }> {
  const { release = "ID=debian\nVERSION_ID=12", architecture = "amd64", installed = [], lacking = [] } = machine;
  const lastIsIn = (names: readonly string[]) =>
    `for last in "$@"; do :; done; case "$last" in ${["''", ...names].join("|")})`;
  const programs = new Programs({
    dpkg: `echo ${architecture}`,
    "dpkg-query": `${lastIsIn(installed)} echo 'install ok installed' ;; *) exit 1 ;; esac`,
    "apt-cache": `${lastIsIn(lacking)} exit 100 ;; *) echo Package ;; esac`,
    "apt-get": 'echo "$* $(/usr/sbin/policy-rc.d 2>/dev/null; echo $?)" >> asked',
    id: `echo ${machine.user ?? 0}`,
  });
  try {
    writeFileSync(join(programs.folder, "os-release"), `${release}\n`);
    const inside = `mount --bind os-release /etc/os-release && mount -t tmpfs none /usr/sbin
      "$@"; code=$?; ls /usr/sbin; exit $code`;
    const ended = await programs.run(["unshare", "--mount", "sh", "-c", inside, "sh", SCRIPT, "log", ...packages]);
    return { ...ended, asked: (await programs.run(["sh", "-c", "cat asked 2>/dev/null"])).output };
  } finally {
    programs.remove();
  }
}

describe.skipIf(!isRoot)(`packages${isRoot ? "" : " (skipped: needs root for a mount namespace)"}`, () => {
  test("those that are missing are installed at once, and no service is started meanwhile", async () => {
    const { exitCode, output, asked } = await install({ installed: ["clang"] }, "clang", "g++", "llvm");
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: "installing Debian packages: g++ llvm\n" });
    expect(asked).toMatch(/^update .*\n.*install -y --no-install-recommends g\+\+ llvm 101\n$/);
  });

  test("one that this release may lack is installed where it is there, and left out by name where it is not", async () => {
    const packages = ["pebble", "--if-available", "clickhouse-server"];
    expect((await install({}, ...packages)).output).toBe("installing Debian packages: pebble clickhouse-server\n");
    expect(await install({ lacking: ["clickhouse-server"] }, ...packages)).toMatchObject({
      exitCode: 0,
      output:
        "this release of Debian has no clickhouse-server: tests that need it are skipped, and named\n" +
        "installing Debian packages: pebble\n",
    });
  });

  const missing = "missing Debian packages, as root: apt-get install --no-install-recommends g++ wrk";
  const ELEVEN = { release: "ID=debian\nVERSION_ID=11" };
  test.each<[Machine, number, string]>([
    [{ installed: ["g++", "wrk"], user: 1000 }, 0, ""],
    [{ user: 1000 }, 1, missing],
    [ELEVEN, 1, "this is Debian 11: its clang, libxdp and GoBGP are too old; upgrade"],
    [{ architecture: "i386" }, 1, "this is Debian for i386: there are Floodwall and Bun for amd64 and arm64"],
  ])("on %j apt is not called, and it ends with %d", async (machine, code, text) => {
    const { exitCode, output, asked } = await install(machine, "g++", "--if-available", "wrk");
    expect({ exitCode, asked }).toEqual({ exitCode: code, asked: "" });
    expect(output).toStartWith(text);
  });

  test.each(["ID=debian\nVERSION_ID=13", "ID=debian\nVERSION_CODENAME=forky", "ID=ubuntu\nVERSION_ID=24.04"])(
    "%j is taken",
    async (release) => {
      expect((await install({ release, architecture: "arm64" }, "g++")).exitCode).toBe(0);
    },
  );
});
