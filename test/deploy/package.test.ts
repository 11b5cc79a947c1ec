/** The Debian package: what is in it works, installs, and is gone when it is purged. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXECUTABLES } from "../../deploy/compile.ts";
import { FLOODWALL } from "../fixtures/program.ts";
import { datagram, flood } from "../fixtures/replay-command.ts";
import { runCommand } from "../fixtures/run-command.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";
import { TestProvider } from "../fixtures/sign-in/test-provider.ts";
import { Undo } from "../fixtures/undo.ts";
import { ROOT } from "../source-tree.ts";

const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }
`;
const VICTIM = "203.0.113.7";

const undo = new Undo();
const directory = undo.folder("package");
let deb: string;
/** The package's files, unpacked. */
let files: string;

beforeAll(async () => {
  const command = [process.execPath, join(ROOT, "deploy/package.ts"), "--quick", "--directory", join(directory, "deb")];
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "inherit" });
  const output = await child.stdout.text();
  expect(await child.exited).toBe(0);
  deb = output.split("  ")[0] ?? "";
  files = join(directory, "files");
  run("dpkg-deb", "-x", deb, files);
}, 120_000);
afterAll(() => undo.all());

const executable = () => join(files, "usr/bin/floodwall");

const run = (...command: string[]) => runCommand(command, { cwd: "/" });

test("the service runs from it: answers, keeps history in its thread, reads its configuration in another", async () => {
  // In place of the command that starts Floodwall here, which comes first.
  const runner = ["sh", "-ec", `shift ${FLOODWALL.length}; exec ${executable()} "$@"`, "sh"];
  const service = await ServiceProcess.start({ config: CONFIG, runner });
  undo.add(() => service.remove());
  expect((await service.get("/api/v1/status")).status).toBe(200);
  expect((await service.post("/api/v1/ban", { ip: VICTIM })).status).toBe(200);
  await eventually(
    async () => (await service.get<{ events: unknown[] }>("/api/v1/audit?action=ban")).body.events.length === 1,
    () => `the ban is in no history:\n${service.output}`,
  );
  service.writeConfig(CONFIG.replace("pps: 1000", "pps: 2000"));
  service.signal("SIGHUP");
  await service.says("configuration reloaded");
  expect(await service.stop()).toBe(0);
});

test("the service of it reads an identity provider, so that people can sign in", async () => {
  const provider = new TestProvider({ clientId: "f", secret: null, redirectUri: "http://127.0.0.1:9/" });
  await provider.start();
  undo.add(() => provider.stop());
  const oidc = `{ issuer: "${provider.issuer}", client_id: f, public_url: "http://127.0.0.1:9", roles: [{ value: a, role: viewer }] }`;
  const runner = ["sh", "-ec", `shift ${FLOODWALL.length}; exec ${executable()} "$@"`, "sh"];
  const service = await ServiceProcess.start({ config: CONFIG, runner, api: `token_env: TOKEN, oidc: ${oidc}` });
  undo.add(() => service.remove());
  const ways = async () => (await service.get<{ provider: { available: boolean } }>("/api/v1/sign-in")).body;
  await eventually(
    async () => (await ways()).provider.available,
    () => `no one can sign in:\n${service.output}`,
  );
});

test("the agent of a scrub node has an executable of its own", () => {
  const agent = join(files, "usr/bin/floodwall-scrub");
  expect(run(agent, "--version")).toMatch(/^floodwall-scrub \d/);
  expect(() => run(agent, "--config", "/nonexistent.yaml")).toThrow(/nonexistent\.yaml: .*nonexistent\.yaml/s);
  // Sets are read in a thread, which the executable has inside, before the kernel is used.
  const config = join(directory, "scrub.yaml");
  const sets = "prefix_sets: [{ name: drop, file: /nonexistent.txt }]";
  const required = 'node: a\ncontroller: { url: "http://127.0.0.1:1" }\ndataplane: { interfaces: [fw-absent0] }';
  writeFileSync(config, `${required}\nstate_dir: ${directory}\n${sets}\n`);
  // It goes on without the set; the interface that is not there is another matter.
  const { stdout } = Bun.spawnSync([agent, "--config", config], { timeout: 10_000 });
  expect(stdout.toString()).toMatch(/prefix_sets drop.*nonexistent\.txt/s);
}, 30_000);

test("it replays a capture with the packet counter inside", () => {
  const [capture, config] = [join(directory, "flood.pcap"), join(directory, "floodwall.yaml")];
  writeFileSync(capture, flood(datagram(VICTIM), 10_000, 3));
  writeFileSync(config, CONFIG);
  const output = run(executable(), "replay", capture, "--config", config);
  expect(output).toMatch(new RegExp(`attack.*${VICTIM}|${VICTIM}.*attack`));
});

test.each([
  "etc/floodwall/floodwall.yaml",
  "etc/floodwall/scrub.yaml",
  "usr/share/doc/floodwall/examples/mirror.yaml",
  "usr/share/doc/floodwall/examples/telemetry.yaml",
  "usr/share/doc/floodwall/examples/inline.yaml",
])("%s is valid, unchanged", (path) => {
  expect(run(executable(), "check", join(files, path))).toEndWith(`${path}: valid\n`);
});

test("it reads no environment from files of the working directory", () => {
  const config = join(directory, "token.yaml");
  writeFileSync(join(directory, ".env"), "FLOODWALL_TOKEN=secret\n");
  writeFileSync(config, `api: { token_env: FLOODWALL_TOKEN }${CONFIG}`);
  const { stdout } = Bun.spawnSync([executable(), "check", config], { cwd: directory });
  expect(stdout.toString()).toContain("FLOODWALL_TOKEN is not set");
});

test("it has all that a machine needs, and nothing that only we do", () => {
  const listed = run("dpkg-deb", "-c", deb)
    .replaceAll(/^.* \.(\/\S*).*$/gm, "$1")
    .split("\n");
  const doc = "/usr/share/doc/floodwall";
  const needed = [
    ...EXECUTABLES.flatMap(({ name }) => [`/usr/bin/${name}`, `/lib/systemd/system/${name}.service`]),
    ...EXECUTABLES.map(({ name }) => `/usr/share/man/man1/${name}.1.gz`),
    ...["/usr/share/man/man1/floodwall-ctl.1.gz", "/usr/share/bash-completion/completions/floodwall"],
    ...[`${doc}/copyright`, `${doc}/examples/control-plane.yaml`],
    ...[`${doc}/docs/operations/README.md.gz`, `${doc}/docs/operations/attack-at-night.md`],
  ];
  expect(needed.filter((path) => !listed.includes(path))).toEqual([]);
  expect(listed.filter((path) => /\.(map|ts|node)$|node_modules/.test(path))).toEqual([]);
  expect(run("dpkg-deb", "-f", deb, "Depends")).toContain("libxdp1");
  // The licences of the native code's headers and of the GoBGP definitions.
  expect(readFileSync(join(files, doc, "third-party.txt"), "utf8")).toContain("==== node-addon-api ");
  expect(readFileSync(join(files, doc, "copyright"), "utf8")).toContain("Nippon Telegraph and Telephone Corporation");
});

test("it names no folder of the machine that built it, so that another gives the same bytes", () => {
  const bytes = readFileSync(executable());
  expect(["addon", "node_modules", "src"].filter((name) => bytes.includes(join(ROOT, name)))).toEqual([]);
});

const isRoot = process.getuid?.() === 0;
test.skipIf(!isRoot)(
  `it installs, and a purge leaves nothing but its user${isRoot ? "" : ": needs root"}`,
  () => {
    // This machine with a layer over it that takes all that is written, in a mount namespace that goes with the script.
    const layer = join(directory, "layer");
    mkdirSync(layer);
    const inside = `
      dpkg -i ${deb} && dpkg -V floodwall && floodwall version && floodwall check /etc/floodwall/floodwall.yaml
      echo secret > /etc/floodwall/floodwall.env && mkdir /var/lib/floodwall && touch /var/lib/floodwall/state.db
      echo "user: $(getent passwd floodwall | cut -d: -f7)"
      dpkg -r floodwall && echo "removed: $(ls -A /etc/floodwall | tr '\\n' ' ')$(ls /usr/bin/floodwall 2>/dev/null)"
      dpkg -P floodwall && echo "purged:" && { find /etc /lib/systemd /usr /var -xdev -path ${ROOT} -prune -o -ipath '*floodwall*' -newer ${deb} -print; }`;
    const script = `
      mount -t tmpfs layer ${layer} && mkdir ${layer}/upper ${layer}/work ${layer}/merged
      mount -t overlay root -o lowerdir=/,upperdir=${layer}/upper,workdir=${layer}/work ${layer}/merged
      mount -t proc proc ${layer}/merged/proc && mount --bind /dev ${layer}/merged/dev
      mount --bind ${directory}/deb ${layer}/merged${directory}/deb
      exec chroot ${layer}/merged sh -ec "$1"`;
    const output = run("unshare", "--mount", "sh", "-ec", script, "sh", inside);
    expect(output).toContain("\nfloodwall 0.");
    expect(output).toContain("floodwall.yaml: valid\n");
    expect(output).toContain("user: /usr/sbin/nologin\n");
    expect(output).toContain("removed: floodwall.env floodwall.yaml scrub.yaml \n");
    expect(output).toEndWith("purged:\n");
  },
  240_000,
);
