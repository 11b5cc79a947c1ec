/** Rules between the keys of `capture`. */
import { parseAddress } from "../../net/address.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { repeated } from "./repeated.ts";

type File = Pruned<ConfigFile>;
type Interface = NonNullable<NonNullable<NonNullable<File["capture"]>["interfaces"]>[number]>;

const OTHER_TUNNEL_PORTS = new Map([
  [6081, "GENEVE"],
  [2152, "GTP-U"],
]);

/** Uses `in` instead of a comparison, since a key whose value has a wrong type is present too. */
export function* captureHasOneSource({ capture, telemetry }: File): Generator<Finding> {
  if (capture === undefined) return;
  const hasTunnels = (capture.tunnels ?? []).length > 0;
  if ("interfaces" in capture && "pcap_file" in capture) {
    yield { path: ["capture", "pcap_file"], rule: "excludes interfaces: capture from the one or from the other" };
  }
  if (hasTunnels && "pcap_file" in capture) {
    yield { path: ["capture", "pcap_file"], rule: "excludes tunnels: capture from the one or from the other" };
  }
  if (!("interfaces" in capture) && !("pcap_file" in capture) && !hasTunnels && telemetry === undefined) {
    yield {
      path: ["capture"],
      rule: "needs interfaces or pcap_file, or telemetry beside it: remove capture to run without",
    };
  }
}

export function* decapsulationGoesWithFile({ capture }: File): Generator<Finding> {
  if (capture === undefined || "pcap_file" in capture || (capture.decapsulate ?? []).length === 0) return;
  yield { path: ["capture", "decapsulate"], rule: "goes with pcap_file only: set that of each interface" };
}

/** A port says what its packets carry. */
export function* vxlanPortsAreItsOwn({ capture }: File): Generator<Finding> {
  for (const [i, port] of (capture?.vxlan_ports ?? []).entries()) {
    const owner = port === undefined ? undefined : OTHER_TUNNEL_PORTS.get(port);
    if (owner === undefined) continue;
    yield { path: ["capture", "vxlan_ports", i], rule: `${port} is the port of ${owner}: remove it` };
  }
}

export function* tunnelsAreReceived({ capture }: File): Generator<Finding> {
  const first = new Map<string, number>();
  for (const [i, tunnel] of (capture?.tunnels ?? []).entries()) {
    const path = ["capture", "tunnels", i];
    const kinds = tunnel?.decapsulate;
    if (kinds !== undefined && !kinds.includes("gre") && !kinds.includes("erspan")) {
      yield { path: [...path, "decapsulate"], rule: "needs gre or erspan: nothing else is received" };
    }
    const address = tunnel?.address === undefined ? null : parseAddress(tunnel.address);
    if (address === null) continue;
    const other = first.get(address);
    if (other === undefined) first.set(address, i);
    else {
      const rule = `${address} is received by tunnels[${other}] already: remove one of them`;
      yield { path: [...path, "address"], rule };
    }
  }
}

export function* paceGoesWithFile({ capture }: File): Generator<Finding> {
  if (capture !== undefined && "pace" in capture && !("pcap_file" in capture)) {
    yield { path: ["capture", "pace"], rule: "goes with pcap_file only: remove it" };
  }
}

export function* interfacesAreUnique({ capture }: File): Generator<Finding> {
  for (const [name, i, other] of repeated(capture?.interfaces?.map((captured) => captured?.name))) {
    const rule = `${name} is captured by interfaces[${other}] already: remove one of them`;
    yield { path: ["capture", "interfaces", i, "name"], rule };
  }
}

export function* inlineUsesXdp(file: File): Generator<Finding> {
  for (const [{ mode, backend }, path] of interfaces(file)) {
    if (mode !== "inline" || backend !== "pcap") continue;
    yield { path: [...path, "backend"], rule: "must be af_xdp in inline mode: only XDP can count and pass on" };
  }
}

export function* interfaceKeysHaveAnEffect(file: File): Generator<Finding> {
  for (const [captured, path] of interfaces(file)) {
    if (captured.backend === "pcap") {
      for (const key of ["xdp_mode", "queues", "zero_copy"].filter((key) => key in captured)) {
        yield { path: [...path, key], rule: "has no effect with backend pcap: remove it" };
      }
    } else if (captured.mode === "inline") {
      for (const key of ["queues", "zero_copy"].filter((key) => key in captured)) {
        yield { path: [...path, key], rule: "has no effect in inline mode, where XDP sees every queue: remove it" };
      }
    }
  }
}

export function* inlineCountsEveryFrame(file: File): Generator<Finding> {
  for (const [captured, path] of interfaces(file)) {
    if (captured.mode !== "inline" || !("sampling_rate" in captured)) continue;
    yield {
      path: [...path, "sampling_rate"],
      rule: "is of mirrors only: in inline mode XDP counts every frame, remove it",
    };
  }
}

export function* externalMacsHaveAnEffect(file: File): Generator<Finding> {
  for (const [captured, path] of interfaces(file)) {
    if ((captured.external_macs ?? []).length === 0) continue;
    const at = [...path, "external_macs"];
    if (captured.mode === "inline")
      yield { path: at, rule: "is of mirrors only: set external of the interface instead" };
    else if (captured.external === true)
      yield { path: at, rule: "has no effect beside external, which is of all frames" };
  }
}

export function* queuesAreUnique(file: File): Generator<Finding> {
  for (const [{ queues }, path] of interfaces(file)) {
    if (queues !== undefined && queues !== "auto") yield* inTheList(queues, [...path, "queues"]);
  }
}

export function* cpusAreUnique(file: File): Generator<Finding> {
  for (const [{ cpus }, path] of interfaces(file)) yield* inTheList(cpus, [...path, "cpus"]);
}

function* inTheList(numbers: readonly (number | undefined)[] | undefined, path: ConfigPath): Generator<Finding> {
  for (const [number, i] of repeated(numbers)) {
    yield { path: [...path, i], rule: `${number} is in the list already: remove one of them` };
  }
}

function* interfaces({ capture }: File): Generator<readonly [Interface, ConfigPath]> {
  for (const [i, captured] of (capture?.interfaces ?? []).entries()) {
    if (captured !== undefined) yield [captured, ["capture", "interfaces", i]];
  }
}
