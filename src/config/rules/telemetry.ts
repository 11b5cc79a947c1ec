/** Rules between the keys of `telemetry`. */
import { SITE_RULES_MAX } from "../../native/constants.ts";
import { addressFamily, type IpAddress, parseAddress } from "../../net/address.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import { parseAddressOrPrefix } from "../../schema/text-forms.ts";
import type { ConfigFile } from "../sections/schema.ts";
import type { TelemetryFile } from "../sections/telemetry.ts";
import { repeated } from "./repeated.ts";

type File = Pick<Pruned<ConfigFile>, "telemetry">;
type Exporter = Pruned<TelemetryFile["exporters"][number]>;

export function* flowPortsAreFree({ telemetry }: File): Generator<Finding> {
  const taken: { readonly address: IpAddress; readonly port: number; readonly i: number }[] = [];
  for (const [i, listen] of (telemetry?.listen ?? []).entries()) {
    const address = parseAddress(listen?.address ?? "");
    const port = listen?.port;
    if (address === null || port === undefined) continue;
    const other = taken.find((one) => one.port === port && meet(one.address, address));
    if (other === undefined) taken.push({ address, port, i });
    else {
      yield {
        path: ["telemetry", "listen", i, "port"],
        rule: `${port} is taken by telemetry.listen[${other.i}] (${other.address}): a port takes all protocols, so remove one of them`,
      };
    }
  }
}

/** `::` takes IPv4 too. */
function meet(a: IpAddress, b: IpAddress): boolean {
  const holds = (outer: IpAddress, inner: IpAddress) =>
    outer === inner || outer === "::" || (outer === "0.0.0.0" && addressFamily(inner) === 4);
  return holds(a, b) || holds(b, a);
}

export function* flowCpusAreUnique({ telemetry }: File): Generator<Finding> {
  for (const [i, { cpus } = {}] of (telemetry?.listen ?? []).entries()) {
    for (const [cpu, at] of repeated(cpus)) {
      yield { path: ["telemetry", "listen", i, "cpus", at], rule: `${cpu} is in the list already: remove one of them` };
    }
  }
}

export function* exporterNamesAreUnique({ telemetry }: File): Generator<Finding> {
  for (const [name, i, other] of repeated(telemetry?.exporters?.map((exporter) => exporter?.name))) {
    const rule = `${name} is the name of telemetry.exporters[${other}] already: choose another`;
    yield { path: ["telemetry", "exporters", i, "name"], rule };
  }
}

/** One inside of another is allowed: the longest decides. */
export function* exporterPrefixesAreUnique({ telemetry }: File): Generator<Finding> {
  const prefixes = telemetry?.exporters?.map((exporter) => parseAddressOrPrefix(exporter?.address ?? "")?.text);
  for (const [text, i, other] of repeated(prefixes)) {
    const rule = `${text} is there already, as telemetry.exporters[${other}]: remove one of them`;
    yield { path: ["telemetry", "exporters", i, "address"], rule };
  }
}

export function* exportersAreNotAnyone(file: File): Generator<Finding> {
  for (const [{ address }, path] of exporters(file)) {
    if (address === undefined || parseAddressOrPrefix(address)?.length !== 0) continue;
    yield {
      path: [...path, "address"],
      rule: `${address} would take records of anyone, who could then have any host banned: name your exporters, or the network that they send from`,
    };
  }
}

export function* exportersAreListenedTo(file: File): Generator<Finding> {
  const listen = file.telemetry?.listen;
  // If an address could not be read, families would be reported wrongly.
  if (listen === undefined || listen.some((one) => parseAddress(one?.address ?? "") === null)) return;
  const addresses = listen.map((one) => parseAddress(one?.address ?? "") as IpAddress);
  const families = new Set(addresses.flatMap((address) => (address === "::" ? [4, 6] : addressFamily(address))));
  for (const [{ address }, path] of exporters(file)) {
    const family = parseAddressOrPrefix(address ?? "")?.family;
    if (family === undefined || families.has(family)) continue;
    yield {
      path: [...path, "address"],
      rule: `${address} is IPv${family}, and no address of telemetry.listen is: add one, or "::" for both families`,
    };
  }
}

export function* sitesAreBounded(file: File): Generator<Finding> {
  const counts = new Map<string, number>();
  for (const [{ site }, path] of exporters(file)) {
    if (site === undefined) continue;
    const count = (counts.get(site) ?? 0) + 1;
    counts.set(site, count);
    if (count === SITE_RULES_MAX + 1) {
      yield { path: [...path, "site"], rule: `${site} has more than ${SITE_RULES_MAX} exporters, which is the most` };
    }
  }
}

export function* interfaceRolesAreDistinct(file: File): Generator<Finding> {
  for (const [{ interfaces }, path] of exporters(file)) {
    const external = new Set((interfaces?.external ?? []).map(String));
    for (const [at, pattern] of (interfaces?.internal ?? []).entries()) {
      if (pattern === undefined || !external.has(String(pattern))) continue;
      yield {
        path: [...path, "interfaces", "internal", at],
        rule: `${pattern} is external too: an interface leads to one side, so remove one of them`,
      };
    }
    if (interfaces !== undefined && !("external" in interfaces) && !("internal" in interfaces)) {
      yield { path: [...path, "interfaces"], rule: "needs external or internal: remove it to count all interfaces" };
    }
  }
}

function* exporters({ telemetry }: File): Generator<readonly [Exporter, ConfigPath]> {
  for (const [i, exporter] of (telemetry?.exporters ?? []).entries()) {
    if (exporter !== undefined) yield [exporter, ["telemetry", "exporters", i]];
  }
}
