/**
 * Whether a release that was built is one that a stranger can check and run: its signatures by the tools of Debian and of
 * RPM, and for each processor the executables of packages and image, under emulation where it is not this machine's.
 * Needs root. The argument is the release's folder; default: build/release.
 */
import {
  appendFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { ARCHITECTURES, type Architecture, isNative } from "../../deploy/architecture.ts";
import { USER_ID } from "../../deploy/image.ts";
import { LIBPCAP } from "../../deploy/rpm.ts";
import { datagram, flood } from "../fixtures/replay-command.ts";
import { runCommand } from "../fixtures/run-command.ts";
import { ROOT } from "../source-tree.ts";

const VICTIM = "203.0.113.7";
const CONFIG = `dry_run: true
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 100000 }
telemetry: { listen: [{ port: 2055 }], exporters: [{ address: 127.0.0.1, name: a, interfaces: { external: [1] } }] }
api: { listen: "127.0.0.1:8080" }
state_dir: /var/lib/floodwall
`;

/** In namespaces of its own: $1 is the root of the system, the rest what runs a program there. */
const ENTER = `root=$1; shift
  mount --bind "$root" "$root"; mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"
  ip link set lo up
`;
/** Starts the service in dry run as this user, without capabilities unless it is root; ends it when it says that it is well. */
const serveAs = (user: number) => `${ENTER}
  chroot --userspec=${user}:${user} --groups= "$root" "$@" serve --config /tmp/floodwall.yaml & pid=$!
  for look in $(seq 240); do
    curl -fsS http://127.0.0.1:8080/healthz 2>/dev/null && break
    kill -0 $pid && sleep 0.5
  done
  curl -fsS http://127.0.0.1:8080/api/v1/status; echo
  kill -TERM $pid; wait $pid; echo "ended with $?"`;

if (process.getuid?.() !== 0) {
  console.error(`this check needs root, since the release runs in namespaces: ${process.argv.join(" ")}`);
  process.exit(2);
}
const folder = resolve(process.argv[2] ?? join(ROOT, "build/release"));
const work = mkdtempSync(join(tmpdir(), `floodwall-release-check-${process.pid}-`));
const run = (...command: string[]) => runCommand(command, { cwd: folder });
const only = (pattern: string) => {
  const [path, ...others] = globSync(join(folder, pattern));
  if (path === undefined || others.length > 0) throw new Error(`not one ${pattern} in ${folder}`);
  return path;
};
let failed = 0;

function check(name: string, work: () => string): void {
  const startMs = performance.now();
  try {
    const remark = work();
    console.log(`ok      ${name} (${((performance.now() - startMs) / 1000).toFixed(1)} s)  ${remark}`.trimEnd());
  } catch (cause) {
    failed++;
    console.log(`FAILED  ${name}: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

function checkSignatures(): void {
  const keyring = join(work, "keyring.gpg");
  const home = join(work, "gnupg");
  mkdirSync(home, { mode: 0o700 });
  run("gpg", "--homedir", home, "--batch", "--output", keyring, "--dearmor", "apt/floodwall.asc");
  const verify = (...files: string[]) => run("gpgv", "--keyring", keyring, ...files);
  check("checksums and their signature", () => {
    verify("SHA256SUMS.asc", "SHA256SUMS");
    return `${run("sha256sum", "--check", "--strict", "SHA256SUMS").trim().split("\n").length} files`;
  });
  check("the index of apt", () => verify("apt/dists/stable/InRelease"));
  check("the index of apt, signed apart", () => verify("apt/dists/stable/Release.gpg", "apt/dists/stable/Release"));
  check("the index of dnf and yum", () => verify("yum/repodata/repomd.xml.asc", "yum/repodata/repomd.xml"));
  check("the signatures in RPM packages", () => {
    const database = ["--dbpath", join(work, "rpm-database")];
    run("rpmkeys", ...database, "--import", "yum/floodwall.asc");
    const said = run("rpmkeys", ...database, "--checksig", ...globSync("*.rpm", { cwd: folder })).trim();
    // Packages without a signature are no error where RPM is set to take them.
    const isSigned = (line: string) => line.endsWith(": digests signatures OK");
    if (!said.split("\n").every(isSigned)) throw new Error(said);
    return said;
  });
}

/** dnf reads the repository as docs/operations/install.md says it, and not one whose index is another. */
function checkYum(): void {
  const packages = (repository: string) => {
    const place = mkdtempSync(join(work, "dnf-"));
    const lines = [
      "[floodwall]\nname=Floodwall\ngpgcheck=1\nrepo_gpgcheck=1\nskip_if_unavailable=0",
      `baseurl=file://${repository}\ngpgkey=file://${join(repository, "floodwall.asc")}\n`,
    ];
    writeFileSync(join(place, "floodwall.repo"), lines.join("\n"));
    const settings = [`reposdir=${place}`, `cachedir=${join(place, "cache")}`].map((text) => `--setopt=${text}`);
    const own = [`--installroot=${join(place, "root")}`, "--releasever=9", "--assumeyes", "--quiet"];
    return run("dnf", ...own, ...settings, "repoquery", "floodwall")
      .trim()
      .split("\n");
  };
  const repository = join(folder, "yum");
  check("dnf reads the repository", () => {
    const found = packages(repository);
    if (found.length !== ARCHITECTURES.length) throw new Error(`it has ${found.join(", ")}`);
    return found.join(", ");
  });
  check("dnf refuses an index that was not signed", () => {
    const changed = join(work, "yum");
    cpSync(repository, changed, { recursive: true });
    appendFileSync(join(changed, "repodata/repomd.xml"), "\n");
    const complaint = thrownBy(() => packages(changed));
    if (!/signature/i.test(complaint)) throw new Error(`it says: ${complaint}`);
    return "";
  });
}

function thrownBy(work: () => unknown): string {
  try {
    return `no error, but ${String(work())}`;
  } catch (cause) {
    return String(cause);
  }
}

/** Unpacked from the image by another's tool. Returns the root. */
function systemOfImage({ name }: Architecture): string {
  const [copied, root] = [join(work, `${name}-image`), join(work, `${name}-root`)];
  const source = `oci-archive:${only("*.oci.tar")}`;
  run("skopeo", "--insecure-policy", "copy", "--quiet", "--override-arch", name, source, `dir:${copied}`);
  const manifest = JSON.parse(readFileSync(join(copied, "manifest.json"), "utf8")) as { layers: { digest: string }[] };
  mkdirSync(root);
  for (const { digest } of manifest.layers) run("tar", "-xzf", join(copied, digest.replace("sha256:", "")), "-C", root);
  return root;
}

interface Target {
  /** Of a system that has the executable. */
  readonly root: string;
  readonly what: string;
  /** The number of who starts the service. */
  readonly user: number;
}

/** The release's executable of this system, run there: prints its version, judges its example, replays a flood, serves. */
function checkExecutable(architecture: Architecture, { root, what, user }: Target): void {
  const label = `${architecture.name}, ${what}${isNative(architecture) ? "" : ", emulated"}`;
  const program = [...emulatorIn(root, architecture), "/usr/bin/floodwall"];
  const inside = (script: string, ...command: string[]) => {
    const namespaces = ["unshare", "--mount", "--propagation", "private", "--net", "--pid", "--fork", "--kill-child"];
    return run(...namespaces, "sh", "-ec", script, "sh", root, ...program, ...command);
  };
  const floodwall = (...command: string[]) => inside(`${ENTER} exec chroot "$root" "$@"`, ...command);
  writeFileSync(join(root, "tmp/capture.pcap"), flood(datagram(VICTIM), 10_000, 3));
  writeFileSync(join(root, "tmp/floodwall.yaml"), CONFIG);
  check(`${label}: version`, () => floodwall("version").trim());
  check(`${label}: check`, () => {
    for (const name of ["floodwall", "scrub"]) floodwall("check", `/etc/floodwall/${name}.yaml`);
    return "";
  });
  check(`${label}: replay`, () => {
    const output = floodwall("replay", "/tmp/capture.pcap", "--config", "/tmp/floodwall.yaml");
    if (!output.includes(VICTIM)) throw new Error(`no attack on ${VICTIM} in: ${output}`);
    return "";
  });
  check(`${label}: a start in dry run by user ${user}`, () => {
    const output = inside(serveAs(user));
    if (!output.includes('"dry_run":true') || !output.endsWith("ended with 0\n")) throw new Error(output.slice(-2000));
    return "";
  });
}

/** Puts it there. Returns what comes before a command. */
function emulatorIn(root: string, architecture: Architecture): readonly string[] {
  if (isNative(architecture)) return [];
  cpSync(`/usr/bin/qemu-${architecture.machine}-static`, join(root, "usr/bin/emulator"), { dereference: true });
  return ["/usr/bin/emulator"];
}

/** The files of the RPM package over the system, whose libraries get the name that they have on its distributions. */
function putRpm(root: string, architecture: Architecture): void {
  const rpm = only(`*.${architecture.machine}.rpm`);
  rmSync(join(root, "usr/bin/floodwall"));
  run(
    "sh",
    "-ec",
    'rpm2cpio "$1" | cpio --extract --quiet --make-directories --unconditional -D "$2"',
    "sh",
    rpm,
    root,
  );
  const libraries = `usr/lib/${architecture.triplet}`;
  symlinkSync("libpcap.so.0.8", join(root, libraries, LIBPCAP));
}

try {
  checkSignatures();
  checkYum();
  for (const architecture of ARCHITECTURES) {
    const deb = only(`floodwall_*_${architecture.name}.deb`);
    const root = systemOfImage(architecture);
    check(`${architecture.name}: the image has the executable of the package`, () => {
      const files = join(work, `${architecture.name}-deb`);
      run("dpkg-deb", "-x", deb, files);
      run("cmp", join(files, "usr/bin/floodwall"), join(root, "usr/bin/floodwall"));
      return `${basename(deb)}: ${run("dpkg-deb", "-f", deb, "Depends").trim()}`;
    });
    checkExecutable(architecture, { root, what: "image", user: USER_ID });
    putRpm(root, architecture);
    checkExecutable(architecture, { root, what: "RPM package", user: 0 });
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
console.log(failed === 0 ? "the release can be checked and run" : `${failed} checks failed`);
process.exit(failed === 0 ? 0 : 1);
