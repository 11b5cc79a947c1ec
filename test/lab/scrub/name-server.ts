/** A real name server of the scrubbing lab, and the command that asks it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../../fixtures/service.ts";
import type { Undo } from "../../fixtures/undo.ts";
import type { Namespace } from "../namespaces.ts";

/** Of every name in its zone. */
export const ANSWER = "192.0.2.53";

/** Resolves when it answers: without a systemd that is notified, it takes seconds to start. */
export async function nameServer(at: Namespace, address: string, undo: Undo): Promise<void> {
  const directory = undo.folder("knot");
  const zone = "@ 60 SOA ns admin 1 60 60 600 60\n@ 60 NS ns\nns 60 A 192.0.2.1\n* 60 A 192.0.2.53\n";
  writeFileSync(join(directory, "example.zone"), zone);
  const config = `
server:
    listen: ${address}@53
    rundir: ${directory}
database:
    storage: ${directory}
zone:
  - domain: example
    file: ${directory}/example.zone
`;
  const path = join(directory, "knot.conf");
  writeFileSync(path, config);
  const child = Bun.spawn(at.command(["knotd", "-c", path]), { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  undo.add(async () => {
    child.kill();
    await child.exited;
  });
  const asking = at.command(dig(address));
  const answers = async () => (await new Response(Bun.spawn(asking, { stderr: "ignore" }).stdout).text()).trim();
  await eventually(
    async () => (await answers()) === ANSWER,
    () => `knotd does not answer at ${address}`,
  );
}

/** @param seconds how long it waits for an answer */
export function dig(server: string, seconds = 2): string[] {
  return ["kdig", "+short", `+time=${seconds}`, "+retry=0", `@${server}`, "www.example", "A"];
}
