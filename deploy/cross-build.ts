/** Builds what the executables of a processor need: the packet counter, and Bun where it is not this machine's. */
import { join } from "node:path";
import { type Architecture, isNative } from "./architecture.ts";
import { buildFolder, ROOT } from "./compile.ts";

/** `make` has built this machine's before. @param sysroot a folder with the processor's libraries */
export async function crossBuild(architecture: Architecture, sysroot: string): Promise<void> {
  if (isNative(architecture)) return;
  const { machine, triplet } = architecture;
  const folder = buildFolder(architecture);
  const out = join(folder, "addon");
  const tools = [`MACHINE=${machine}`, `CXX=${triplet}-g++`, `SYSROOT=${sysroot}`, `OUT=${out}`];
  const jobs = `-j${navigator.hardwareConcurrency}`;
  await Bun.$`make -C ${join(ROOT, "addon")} --no-print-directory ${jobs} ${tools} ${join(out, "floodwall.node")}`;
  await Bun.$`${join(ROOT, "setup/first-bun.sh")} ${join(ROOT, "bun.lock")} ${join(folder, "bun")} ${machine}`;
}
