/** Forwarding over real links: TCP through a box that redirects, and through a tunnel to the kernel's own VXLAN. */

import { afterEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { answered, PacketProcess } from "../../test/fixtures/dataplane/asked-process.ts";
import { BpfDirectory } from "../../test/fixtures/dataplane/bpf-directory.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { type Namespace, Namespaces, namespacesUnavailable } from "../../test/lab/namespaces.ts";
import type { Tunnel } from "./dataplane-config.ts";
import { readPinnedStatus } from "./kernel-filter.ts";
import type { ForwardOutcome } from "./native.d.ts";

const unavailable = namespacesUnavailable();
const BOUNDS = { xdpMode: "native", maxPairs: 8, maxRules: 8, maxPrefixes: 8, maxSources: 1024 } as const;
const XDP_PASS = join(import.meta.dir, "../../build/lab/xdp_pass.bpf.o");
const BYTES = 3_000_000;
const VXLAN_MAC = "02:00:5e:10:00:01";
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface World {
  readonly client: Namespace;
  readonly box: Namespace;
  readonly victim: Namespace;
}

/** client 192.0.2.2 and 2001:db8:2::2, box, victim 203.0.113.2 and 2001:db8:3::2, all by veth. */
function world(): World {
  const namespaces = new Namespaces();
  closers.push(() => namespaces.close());
  const [client, box, victim] = [namespaces.add("client"), namespaces.add("box"), namespaces.add("victim")];
  const cidr = (net: string, net6: string, host: number) => [`${net}.${host}/24`, `${net6}::${host}/64`];
  const ends = (net: string, net6: string) => [cidr(net, net6, 1), cidr(net, net6, 2)] as const;
  const [near, far] = [ends("192.0.2", "2001:db8:2"), ends("203.0.113", "2001:db8:3")];
  const clientEnd = { namespace: client, device: "up0", addresses: near[1] };
  namespaces.connect({ namespace: box, device: "in0", addresses: near[0] }, clientEnd);
  const victimEnd = { namespace: victim, device: "down0", addresses: far[1] };
  namespaces.connect({ namespace: box, device: "out0", addresses: far[0] }, victimEnd);
  // A router asks for neighbors of IPv6 from an address of the link.
  for (const device of ["in0", "out0"]) box.run(["ip", "address", "add", "fe80::1/64", "dev", device, "nodad"]);
  // A veth leaves checksums to the next device with hardware, and XDP is none; GRO at the far end lets it take frames.
  for (const [namespace, device] of [[client, "up0"] as const, [victim, "down0"] as const]) {
    namespace.run(["ethtool", "-K", device, "tx", "off", "gro", "on"]);
    const [gateway, gateway6] =
      namespace === client ? ["192.0.2.1", "2001:db8:2::1"] : ["203.0.113.1", "2001:db8:3::1"];
    namespace.run(["ip", "route", "add", "default", "via", gateway]);
    namespace.run(["ip", "-6", "route", "add", "default", "via", gateway6]);
  }
  box.run(["sh", "-ec", "for f in ipv4 ipv6; do echo 1 > /proc/sys/net/$f/conf/all/forwarding; done"]);
  return { client, box, victim };
}

async function redirecting(box: Namespace, tunnels: readonly Tunnel[] = [], interfaces = ["in0", "out0"]) {
  const directory = new BpfDirectory();
  closers.push(() => directory.close());
  const filter = new PacketProcess(box);
  closers.push(() => filter.kill());
  await filter.ask("openFilter", { pinPath: directory.path, interfaces, ...BOUNDS, forward: { tunnels } });
  await filter.ask("attach");
  const outcome = async (name: ForwardOutcome) =>
    (await filter.ask("filterStatus")).forward?.outcomes[name].packets ?? -1;
  return { filter, directory, outcome };
}

/** Sends bytes by TCP from the client to the victim; how many arrived. */
async function transfer({ client, victim }: World, host: string, port = 5000): Promise<number> {
  const listen = `const { promise, resolve } = Promise.withResolvers(); let n = 0;
    const server = Bun.listen({ hostname: "${host}", port: ${port}, socket: { data(s, d) { n += d.length; }, close: resolve } });
    console.log("listening"); await promise; console.log(n); server.stop(true); process.exit(0);`;
  const server = Bun.spawn(victim.command([process.execPath, "-e", listen]), { stdout: "pipe", stderr: "inherit" });
  closers.push(() => server.kill());
  const lines = server.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await lines.read()).value ?? "";
  const send = `let left = ${BYTES}; const push = (s) => { while (left > 0) {
      const sent = s.write(new Uint8Array(Math.min(left, 65536))); if (sent <= 0) return; left -= sent; } s.end(); };
    await new Promise((resolve) => Bun.connect({ hostname: "${host}", port: ${port},
      socket: { open: push, drain: push, data() {}, close: resolve } }));`;
  const sender = Bun.spawn(client.command(["timeout", "20", process.execPath, "-e", send]), { stderr: "inherit" });
  await sender.exited;
  for (let part = await lines.read(); !part.done; part = await lines.read()) text += part.value;
  return Number(text.trim().split("\n").at(-1));
}

/** UDP datagrams from the client, which must not be fragmented. */
function send({ client }: World, { host = "203.0.113.2", bytes = 10, ttl = 64, count = 1 }): void {
  const program = `const socket = await Bun.udpSocket({ hostname: "0.0.0.0", socket: { error() {} } });
    socket.setTTL(${ttl});
    for (let i = 0; i < ${count}; i++) { socket.send(new Uint8Array(${bytes}), 9, "${host}"); await Bun.sleep(1); }
    await Bun.sleep(50); socket.close();`;
  client.run([process.execPath, "-e", program]);
}

/** A counter of the client's ICMP, as the kernel names it. */
function icmp({ client }: World, counter: string): number {
  const lines = client.run(["cat", "/proc/net/snmp"]).split("\n");
  const [names = [], values = []] = lines.filter((line) => line.startsWith("Icmp:")).map((line) => line.split(" "));
  return Number(values[names.indexOf(counter)]);
}

function routeTo({ client }: World, host: string): string {
  return client.run(["ip", "route", "get", host]);
}

function name(text: string): string {
  return unavailable === null ? text : `${text} (skipped: ${unavailable})`;
}

const vxlan: Tunnel = {
  kind: "vxlan",
  networks: [prefix("198.51.100.0/24"), prefix("2001:db8:9::/64")],
  local: address("203.0.113.1"),
  remote: address("203.0.113.2"),
  ...{ key: 4711, port: 4789, mac: VXLAN_MAC, mtu: 1450, mss: { 4: 1410, 6: 1390 } },
};

/** The victim behind the far end of a tunnel, which is the kernel's; answers go without it. */
function addFarEnd({ box, victim }: World): void {
  const link = ["link", "add", "tunnel0", "address", VXLAN_MAC, "type", "vxlan"];
  const ends = ["id", "4711", "dstport", "4789", "local", "203.0.113.2", "remote", "203.0.113.1"];
  victim.run(["ip", ...link, ...ends, "dev", "down0"]);
  victim.run(["ip", "link", "set", "tunnel0", "up"]);
  victim.run(["ip", "address", "add", "198.51.100.7/32", "dev", "lo"]);
  victim.run([
    "sh",
    "-ec",
    "echo 0 > /proc/sys/net/ipv6/conf/tunnel0/disable_ipv6; ip address add 2001:db8:9::7/128 dev lo",
  ]);
  // The kernel takes a source back by the tunnel that it sends to by another way only if configured.
  victim.run(["sh", "-ec", "for d in all tunnel0; do echo 0 > /proc/sys/net/ipv4/conf/$d/rp_filter; done"]);
  box.run(["ip", "route", "add", "198.51.100.0/24", "via", "203.0.113.2"]);
}

describe.skipIf(unavailable !== null)(name("a box that redirects"), () => {
  test("passes TCP on past its network stack, in both directions, of both families", async () => {
    const there = world();
    const { outcome, filter } = await redirecting(there.box);
    await filter.untilFilter(({ forward }) => forward?.egress.join() === "in0,out0");
    expect(await transfer(there, "203.0.113.2")).toBe(BYTES);
    const redirected = await outcome("redirected");
    expect(redirected).toBeGreaterThan(BYTES / 1500);
    expect(await transfer(there, "2001:db8:3::2", 5001)).toBe(BYTES);
    expect(await outcome("redirected")).toBeGreaterThan(redirected + BYTES / 1500);
    // The first packets find no neighbor, and ask for it by the kernel.
    expect(await outcome("kernel_no_neighbor")).toBeGreaterThan(0);
  });

  test("leaves to the kernel what must be answered: the end of a hop limit, and a packet too big", async () => {
    const there = world();
    const { outcome } = await redirecting(there.box);
    send(there, {});
    there.box.run(["ip", "link", "set", "out0", "mtu", "1300"]);
    send(there, { ttl: 1 });
    await answered(
      () => icmp(there, "InTimeExcds"),
      (count) => count === 1,
    );
    send(there, { bytes: 1400 });
    await answered(
      () => routeTo(there, "203.0.113.2"),
      (route) => route.includes("mtu 1300"),
    );
    expect(await outcome("kernel_ttl")).toBeGreaterThan(0);
    expect(await outcome("kernel_mtu")).toBeGreaterThan(0);
  });

  test("goes on without its process, and stops with the filter", async () => {
    const there = world();
    const { filter, directory, outcome } = await redirecting(there.box);
    send(there, {});
    expect(await outcome("kernel_no_neighbor")).toBeGreaterThan(0);
    await filter.kill();
    const pinned = () => readPinnedStatus(directory.path).forward?.outcomes.redirected.packets ?? -1;
    const before = pinned();
    send(there, { count: 50 });
    expect(pinned()).toBeGreaterThan(before + 40);
    const next = new PacketProcess(there.box);
    closers.push(() => next.kill());
    await next.ask("openFilter", { pinPath: directory.path, interfaces: ["in0", "out0"], ...BOUNDS });
    await next.ask("attach");
    expect(readPinnedStatus(directory.path).forward).toBeNull();
    expect(await transfer(there, "203.0.113.2")).toBe(BYTES);
  });
});

describe.skipIf(unavailable !== null)(name("a tunnel"), () => {
  test("reaches the kernel's VXLAN, also before the neighbor is known, and TCP keeps within its MTU", async () => {
    const there = world();
    addFarEnd(there);
    // Else the kernel takes an outer packet, which has its own address, for a forged one.
    there.box.run(["sh", "-ec", "echo 1 > /proc/sys/net/ipv4/conf/in0/accept_local"]);
    const { outcome, filter } = await redirecting(there.box, [vxlan], ["in0", "out0"]);
    there.box.run(["ip", "neigh", "flush", "dev", "out0"]);
    expect(await transfer(there, "198.51.100.7")).toBe(BYTES);
    expect(await outcome("tunneled")).toBeGreaterThan(BYTES / 1500);
    expect(await outcome("tunneled_by_kernel")).toBeGreaterThan(0);
    expect(await outcome("drop_too_big")).toBe(0);
    expect((await filter.ask("filterStatus")).forward?.clamped).toBeGreaterThanOrEqual(2);
    expect(Number(there.victim.run(["cat", "/sys/class/net/tunnel0/statistics/rx_packets"]))).toBeGreaterThan(0);
  });

  test("answers what is too big, so that the sender keeps to its MTU", async () => {
    const there = world();
    addFarEnd(there);
    // What XDP sends back by a veth arrives where the far end has a program.
    there.client.run(["ip", "link", "set", "dev", "up0", "xdpdrv", "object", XDP_PASS, "section", "xdp"]);
    const { outcome } = await redirecting(there.box, [vxlan], ["in0"]);
    send(there, { host: "198.51.100.7", bytes: 1450 });
    await answered(
      () => routeTo(there, "198.51.100.7"),
      (route) => route.includes("mtu 1450"),
    );
    expect(await outcome("answer_too_big")).toBe(1);
  });
});
