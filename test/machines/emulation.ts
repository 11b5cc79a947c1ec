/**
 * Programs of another processor, run by an emulator wherever they are executed: in a user namespace, whose own table of
 * interpreters (binfmt_misc; one for each user namespace since Linux 6.7) names it. The machine's table is not touched.
 */
import { readlinkSync, writeFileSync } from "node:fs";
import type { Architecture } from "../../deploy/architecture.ts";

/** Of an ELF header for AArch64 and for x86-64: class, byte order, type of file and machine are compared. */
const MACHINES = { arm64: "\\xb7\\x00", amd64: "\\x3e\\x00" } as const;
const MAGIC = "\\x7f\\x45\\x4c\\x46\\x02\\x01\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x02\\x00";
const MASK = "\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x00\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfe\\xff\\xff\\xff";
const TABLE = "/proc/sys/fs/binfmt_misc";
const USERS = "0 0 65536";

/** The command in such a namespace. It waits on its input until `admit` has given it its users. */
export function emulated({ name, machine }: Architecture, command: readonly string[]): readonly string[] {
  // The file is opened now, so that it need not be in the system (F).
  const entry = `:floodwall:M::${MAGIC}${MACHINES[name]}:${MASK}:/usr/bin/qemu-${machine}-static:F`;
  const inside = `mount -t binfmt_misc binfmt_misc ${TABLE}; printf %s "$0" > ${TABLE}/register; exec "$@"`;
  // The rights of the namespace's root are given when the next program is executed.
  const wait = 'read -r go; exec sh -ec "$@"';
  return [
    "unshare",
    "--user",
    "--mount",
    "--propagation",
    "private",
    "sh",
    "-c",
    wait,
    "sh",
    inside,
    entry,
    ...command,
  ];
}

/** Gives the namespace the users of this machine under their own numbers. */
export async function admit(child: Bun.Subprocess<"pipe">): Promise<void> {
  const own = readlinkSync("/proc/self/ns/user");
  while (child.exitCode === null && readlinkSync(`/proc/${child.pid}/ns/user`) === own) await Bun.sleep(5);
  for (const map of ["uid_map", "gid_map"]) writeFileSync(`/proc/${child.pid}/${map}`, USERS);
  void child.stdin.write("go\n");
  await child.stdin.end();
}
