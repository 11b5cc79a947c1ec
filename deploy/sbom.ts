/**
 * The bill of materials of a release: what is inside of the executables beside our code, and what the image has beside the
 * executables (CycloneDX 1.6, as JSON).
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../package.json";
import { ROOT } from "./compile.ts";
import type { DebianVersion } from "./runtime-system.ts";

export interface BillOrder {
  readonly version: string;
  /** Unix seconds. */
  readonly time: number;
  /** Names of the npm packages inside. */
  readonly packages: readonly string[];
  /** Debian's packages in the image, by its name of the processor; none: the bill of the packages. */
  readonly systems: readonly { readonly architecture: string; readonly versions: readonly DebianVersion[] }[];
}

interface Component {
  readonly type: "library" | "platform";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly object[];
  readonly licenses?: readonly object[];
}

export function billOfMaterials({ version, time, packages, systems }: BillOrder): object {
  const lock = readFileSync(join(ROOT, "bun.lock"), "utf8");
  const own = `pkg:generic/floodwall@${encodeURIComponent(version)}`;
  // It is in the executables whole, and no package of its own is in a list of packages.
  const components = [
    component("bun", lock, "platform"),
    ...packages.map((name) => component(name, lock, "library")),
    ...systems.flatMap(({ architecture, versions }) => versions.map((one) => debianComponent(architecture, one))),
  ];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(time * 1000).toISOString(),
      component: {
        type: "application",
        "bom-ref": own,
        name: manifest.name,
        version,
        purl: own,
        licenses: [{ license: { id: manifest.license } }],
      },
    },
    components,
    dependencies: [{ ref: own, dependsOn: components.map((one) => one["bom-ref"]) }],
  };
}

function component(name: string, lock: string, type: Component["type"]): Component {
  const path = join(ROOT, "node_modules", name, "package.json");
  const { version, license } = JSON.parse(readFileSync(path, "utf8")) as { version: string; license?: string };
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const hash = hashOf(lock, `${name}@${version}`);
  return {
    ...{ type, "bom-ref": purl, name, version, purl },
    ...(hash === null ? {} : { hashes: [{ alg: "SHA-512", content: hash }] }),
    ...(license === undefined ? {} : { licenses: [licenceOf(license)] }),
  };
}

function debianComponent(architecture: string, { name, version }: DebianVersion): Component {
  const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`;
  return { type: "library", "bom-ref": purl, name, version, purl };
}

/** One identifier of SPDX, or an expression of several. */
function licenceOf(license: string): object {
  return /^[A-Za-z0-9.+-]+$/.test(license) ? { license: { id: license } } : { expression: license };
}

/** Hash of the archive that was installed, hexadecimal; null: the lock file has none. */
function hashOf(lock: string, entry: string): string | null {
  const line = lock.split("\n").find((text) => text.includes(`["${entry}",`));
  const base64 = /"sha512-([A-Za-z0-9+/=]+)"/.exec(line ?? "")?.[1];
  return base64 === undefined ? null : Buffer.from(base64, "base64").toString("hex");
}
