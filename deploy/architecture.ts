/** The processors that packages are built for, and the name of each in the formats and tools that the build uses. */

export interface Architecture {
  /** Name in Debian and in OCI images. */
  readonly name: "amd64" | "arm64";
  /** Name in `uname -m` and in RPM. */
  readonly machine: string;
  /** The prefix of the compiler's tools, and the folder of libraries. */
  readonly triplet: string;
  /** The npm package with its Bun. */
  readonly bunPackage: string;
  readonly compileTarget: Bun.Build.CompileTarget;
  /** Name in `process.arch`. */
  readonly processArch: string;
}

export const ARCHITECTURES: readonly Architecture[] = [
  {
    name: "amd64",
    machine: "x86_64",
    triplet: "x86_64-linux-gnu",
    bunPackage: "@oven/bun-linux-x64",
    compileTarget: "bun-linux-x64",
    processArch: "x64",
  },
  {
    name: "arm64",
    machine: "aarch64",
    triplet: "aarch64-linux-gnu",
    bunPackage: "@oven/bun-linux-aarch64",
    compileTarget: "bun-linux-arm64",
    processArch: "arm64",
  },
];

/** The architecture of this machine. */
export const NATIVE: Architecture = nativeArchitecture();

export function isNative({ name }: Architecture): boolean {
  return name === NATIVE.name;
}

function nativeArchitecture(): Architecture {
  const found = ARCHITECTURES.find(({ processArch }) => processArch === process.arch);
  if (found === undefined) throw new Error(`there are packages for amd64 and arm64 only, not for ${process.arch}`);
  return found;
}
