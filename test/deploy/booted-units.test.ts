/** The units under a systemd: with their users, capabilities, mounts and filters of system calls, both parts do their work. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile, EXECUTABLES, strippedAddon } from "../../deploy/compile.ts";
import { BootedSystemd, systemdUnavailable } from "../fixtures/booted-systemd.ts";
import { eventually } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { ROOT } from "../source-tree.ts";

const unavailable = systemdUnavailable();
const reason = unavailable === null ? "" : ` (skipped: ${unavailable})`;

const SERVICE = `dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 100000, mbps: 1000, flows_per_sec: 1000000 }
capture: { interfaces: [{ name: in0, mode: inline }, { name: copy0, mode: mirror }] }
dataplane: { interfaces: [in0] }
bgp:
  speaker: managed
  local_asn: 64500
  router_id: 192.0.2.10
  listen: 127.0.0.1:179
  next_hop: 192.0.2.66
  neighbors: [{ address: 127.0.0.2, remote_asn: 64501 }]
`;
const NODE = `dry_run: false
node: scrub1
controller: { url: "http://127.0.0.1:8080" }
bounds: { networks: [203.0.113.0/24] }
dataplane: { interfaces: [scrub0], pin_path: /sys/fs/bpf/floodwall/scrub }
state_dir: /var/lib/floodwall/scrub
metrics_listen: 127.0.0.1:9641
`;
/** Without a journal, units write to a file. Where limits cannot be raised, as in some containers, two capabilities help. */
const DROP_IN = `[Unit]
DefaultDependencies=no
[Service]
StandardOutput=append:/run/UNIT.log
StandardError=inherit
AmbientCapabilities=CAP_IPC_LOCK CAP_SYS_NICE
CapabilityBoundingSet=CAP_IPC_LOCK CAP_SYS_NICE
`;
/** What a package's installation does. */
const PREPARE = `
  for name in floodwall floodwall-scrub; do
    touch usr/bin/$name; mount --bind FOLDER/$name usr/bin/$name
    cp FOLDER/$name.service etc/systemd/system/
    mkdir etc/systemd/system/$name.service.d
    sed s/UNIT/$name/ FOLDER/drop-in.conf >etc/systemd/system/$name.service.d/test.conf
  done
  echo 'floodwall:x:64321:64321::/nonexistent:/usr/sbin/nologin' >>etc/passwd
  echo 'floodwall:x:64321:' >>etc/group
  mkdir -p etc/floodwall; cp FOLDER/*.yaml etc/floodwall/; chmod 755 etc/floodwall; chmod 644 etc/floodwall/*
  rm -rf var/lib/floodwall
`;
const DEVICES = `
  mkdir -m 700 /sys/fs/bpf/floodwall && chown floodwall:floodwall /sys/fs/bpf/floodwall
  for name in in copy scrub; do
    ip link add \${name}0 type veth peer name \${name}1
    ip link set \${name}0 up; ip link set \${name}1 up
  done`;

const undo = new Undo();
let booted: BootedSystemd;

beforeAll(async () => {
  if (unavailable !== null) return;
  const folder = undo.folder("units");
  const addon = await strippedAddon();
  for (const executable of EXECUTABLES) {
    await compile(executable, { addon, directory: folder });
    chmodSync(join(folder, executable.name), 0o755);
    copyFileSync(join(ROOT, "deploy", `${executable.name}.service`), join(folder, `${executable.name}.service`));
  }
  writeFileSync(join(folder, "drop-in.conf"), DROP_IN);
  writeFileSync(join(folder, "scrub.yaml"), NODE);
  booted = await BootedSystemd.boot(PREPARE.replaceAll("FOLDER", folder), undo);
  booted.run("sh", "-euc", DEVICES);
}, 120_000);
afterAll(() => undo.all());

const logOf = (unit: string) => booted.try("cat", `/run/${unit}.log`);
const untilLogged = (unit: string, text: string) =>
  eventually(
    () => logOf(unit).includes(text),
    () => `${unit} does not log "${text}":\n${logOf(unit)}`,
  );

/** Instead of the one that runs. */
async function startService(config: string): Promise<void> {
  const write = 'printf %s "$1" >/etc/floodwall/floodwall.yaml; true >/run/floodwall.log; systemctl restart floodwall';
  booted.run("sh", "-ec", write, "sh", config);
  await untilLogged("floodwall", "bgp speaker answers");
}

/** Until there is an XDP program on the device. */
const untilFiltered = (unit: string, device: string) =>
  eventually(
    () => booted.run("ip", "-details", "link", "show", device).includes("prog/xdp"),
    () => `nothing on ${device}:\n${logOf(unit)}`,
  );

/** Lines of /proc/PID/status. */
function statusOf(pid: string, ...fields: readonly string[]): Record<string, string> {
  const status = booted.run("cat", `/proc/${pid}/status`);
  return Object.fromEntries(
    fields.map((name) => [name, new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(status)?.[1] ?? ""]),
  );
}

/** Of all threads of a process: the one set that they have. */
function rightsOfThreads(pid: string): string[] {
  return booted
    .run("sh", "-c", `grep -hE "^Cap(Eff|Prm|Amb)" /proc/${pid}/task/*/status | cut -f 2 | sort -u`)
    .split("\n");
}

/** Ports that come up send frames by themselves (IPv6): until the service has received some. */
async function untilReceived(device: string): Promise<void> {
  for (const state of ["down", "up"]) booted.run("ip", "link", "set", device.replace("0", "1"), state);
  const fetched = 'process.stdout.write(await (await fetch("http://127.0.0.1:8080/metrics")).text())';
  const received = new RegExp(`^svc_capture_received_packets_total\\{.*"${device}".*\\} [1-9]`, "m");
  await eventually(
    () => received.test(booted.run(process.execPath, "-e", fetched)),
    () => `nothing is received on ${device}:\n${logOf("floodwall")}`,
  );
}

const mainPid = (unit: string) => booted.run("systemctl", "show", "--property=MainPID", "--value", unit).trim();

test.skipIf(unavailable !== null)(`the service captures, filters and speaks BGP${reason}`, async () => {
  await startService(SERVICE);
  for (const device of ["in0", "copy0"]) await untilFiltered("floodwall", device);
  const pid = mainPid("floodwall");
  const rights = statusOf(pid, "Uid", "CapEff", "NoNewPrivs", "Seccomp");
  expect(rights).toEqual({ Uid: "64321", CapEff: "000000c000807400", NoNewPrivs: "1", Seccomp: "2" });
  expect(rightsOfThreads(pid)).toEqual([rights["CapEff"] as string, ""]);
  for (const device of ["in0", "copy0"]) await untilReceived(device);
  expect(booted.run("ps", "-L", "-o", "cls=", "-p", pid)).toContain("RR");
  const gobgpd = booted.run("pgrep", "-x", "gobgpd").trim();
  expect(booted.run("pgrep", "-u", "64321", "-f", `floodwall-guard [0-9]+ [0-9]* ${gobgpd}$`)).not.toBe("");
  expect(statusOf(gobgpd, "Uid", "CapEff")).toEqual({ Uid: "64321", CapEff: "0000000000000400" });
  expect(booted.run("cat", `/proc/${pid}/mountinfo`)).toMatch(/ \/proc\/sys ro,/);
});

test.skipIf(unavailable !== null)(
  `rights that a configuration has no use for are given up by all threads${reason}`,
  async () => {
    // CAP_NET_RAW is for mirror ports.
    await startService(SERVICE.replace(", { name: copy0, mode: mirror }", ""));
    await untilReceived("in0");
    const pid = mainPid("floodwall");
    expect(rightsOfThreads(pid)).toEqual(["000000c000805400", ""]);
    expect(statusOf(pid, "CapBnd")).toEqual({ CapBnd: "000000c000807400" });
  },
);

test.skipIf(unavailable !== null)(`the agent of a scrub node filters${reason}`, async () => {
  booted.run("systemctl", "start", "floodwall-scrub");
  await untilLogged("floodwall-scrub", "the filter is in force");
  await untilFiltered("floodwall-scrub", "scrub0");
  const rights = statusOf(mainPid("floodwall-scrub"), "Uid", "CapEff", "NoNewPrivs", "Seccomp");
  expect(rights).toEqual({ Uid: "64321", CapEff: "000000c000805000", NoNewPrivs: "1", Seccomp: "2" });
});
