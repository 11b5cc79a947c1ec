/** The processors that packages are built for, and the name of each in the formats and tools that the build uses. */

export interface Architecture {
  /** Of Debian and of OCI images. */
  readonly name: "amd64" | "arm64";
  /** Of `uname -m` and of RPM. */
  readonly machine: string;
  /** The prefix of the compiler's tools, and the folder of libraries. */
  readonly triplet: string;
  /** The npm package with its Bun. */
  readonly bunPackage: string;
  readonly compileTarget: Bun.Build.CompileTarget;
  /** Of `process.arch`. */
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

/** Of this machine. */
export const NATIVE: Architecture = nativeArchitecture();

export function isNative({ name }: Architecture): boolean {
  return name === NATIVE.name;
}

function nativeArchitecture(): Architecture {
  const found = ARCHITECTURES.find(({ processArch }) => processArch === process.arch);
  if (found === undefined) throw new Error(`there are packages for amd64 and arm64 only, not for ${process.arch}`);
  return found;
}
