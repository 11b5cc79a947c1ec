/**
 * A Debian repository as a folder that any web server can serve: packages, their index, and the index signed
 * (https://wiki.debian.org/DebianRepository/Format). The same packages, time and key give the same bytes.
 */
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Signer } from "./signing.ts";

export interface RepositoryOrder {
  /** Created; must not have another repository in it. */
  readonly directory: string;
  /** Paths of packages, of one architecture each. */
  readonly packages: readonly string[];
  /** Unix seconds. */
  readonly time: number;
  readonly signer: Signer;
}

export const SUITE = "stable";
const COMPONENT = "main";

export async function makeAptRepository({ directory, packages, time, signer }: RepositoryOrder): Promise<void> {
  const byArchitecture = new Map<string, string[]>();
  for (const path of packages) {
    const fields = await Bun.$`dpkg-deb --field ${path}`.text();
    const pool = `pool/${COMPONENT}/f/floodwall/${basename(path)}`;
    mkdirSync(join(directory, pool, ".."), { recursive: true });
    copyFileSync(path, join(directory, pool));
    const architecture = /^Architecture: (\S+)$/m.exec(fields)?.[1];
    if (architecture === undefined) throw new Error(`${path} names no architecture`);
    const entry = `${fields.trimEnd()}\nFilename: ${pool}\nSize: ${statSync(path).size}\nSHA256: ${sha256(path)}\n`;
    byArchitecture.set(architecture, [...(byArchitecture.get(architecture) ?? []), entry]);
  }
  const suite = join(directory, "dists", SUITE);
  const indexes = [...byArchitecture].flatMap(([name, entries]) => writeIndex(suite, name, entries));
  writeFileSync(
    join(suite, "Release"),
    releaseText({ suite, indexes, architectures: [...byArchitecture.keys()], time }),
  );
  await signer.clear(join(suite, "Release"), join(suite, "InRelease"));
  await signer.detached(join(suite, "Release"), join(suite, "Release.gpg"));
  await signer.publicKey(join(directory, "floodwall.asc"));
}

/** @returns the paths of the index, relative to the suite */
function writeIndex(suite: string, architecture: string, entries: readonly string[]): string[] {
  const path = `${COMPONENT}/binary-${architecture}/Packages`;
  mkdirSync(join(suite, path, ".."), { recursive: true });
  const text = entries.toSorted().join("\n");
  writeFileSync(join(suite, path), text);
  writeFileSync(join(suite, `${path}.gz`), Bun.gzipSync(new TextEncoder().encode(text), { level: 9 }));
  return [path, `${path}.gz`];
}

interface Index {
  readonly suite: string;
  readonly indexes: readonly string[];
  readonly architectures: readonly string[];
  readonly time: number;
}

function releaseText({ suite, indexes, architectures, time }: Index): string {
  const fields = [
    ["Origin", "Floodwall"],
    ["Label", "Floodwall"],
    ["Suite", SUITE],
    ["Codename", SUITE],
    ["Date", new Date(time * 1000).toUTCString().replace("GMT", "UTC")],
    ["Architectures", architectures.toSorted().join(" ")],
    ["Components", COMPONENT],
    ["Description", "Floodwall detects volumetric DDoS attacks and mitigates them"],
  ];
  const sums = indexes.map((path) => ` ${sha256(join(suite, path))} ${statSync(join(suite, path)).size} ${path}`);
  return `${fields.map(([name, value]) => `${name}: ${value}`).join("\n")}\nSHA256:\n${sums.join("\n")}\n`;
}

export function sha256(path: string): string {
  return new Bun.CryptoHasher("sha256").update(readFileSync(path)).digest("hex");
}
