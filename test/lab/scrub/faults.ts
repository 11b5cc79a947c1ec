/** What goes wrong with the box amid a flood, or is done to it. Each resolves when it is over. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../../fixtures/run-command.ts";
import type { Undo } from "../../fixtures/undo.ts";
import type { BoxLab } from "./box-lab.ts";

export type Fault = (lab: BoxLab, undo: Undo) => Promise<void>;

const ROTATE = join(import.meta.dir, "../../../build/addon/rotate_cookie_key");
/** Without a service. */
const AWAY_MS = 2000;
const RELOADS = 4;
const SETS = 4;
const PREFIXES = 5000;

export const killed: Fault = async ({ service }) => {
  await service.stop("SIGKILL");
};

export const killedAndStarted: Fault = async (lab) => {
  await lab.service.stop("SIGKILL");
  await Bun.sleep(AWAY_MS);
  await lab.startAgain();
};

/** As an upgrade does it. */
export const restarted: Fault = async (lab) => {
  const code = await lab.service.stop("SIGTERM");
  if (code !== 0) throw new Error(`the service ended with ${code}:\n${lab.service.output.slice(-2000)}`);
  await lab.startAgain();
};

/** New keys for cookies, so often that hardly an answer comes back to the key that it was made with. */
export function rotations({ times, everyMs }: { readonly times: number; readonly everyMs: number }): Fault {
  return async ({ pinPath }) => {
    for (let i = 0; i < times; i++) {
      runCommand([ROTATE, pinPath]);
      await Bun.sleep(everyMs);
    }
  };
}

/** Each time with other sets, other prefixes in all of them, and other rules. */
export const reloads: Fault = async (lab, undo) => {
  const directory = undo.folder("sets");
  for (let round = 0; round < RELOADS; round++) {
    const sets = Array.from({ length: SETS }, (_, i) => `set-${i + round}`);
    for (const [i, name] of sets.entries()) writeFileSync(join(directory, name), prefixes(round * SETS + i));
    const entry = (name: string) => `  - { name: ${name}, file: ${join(directory, name)} }\n`;
    const rule = (name: string) => `  - { name: of-${name}, action: drop, source_sets: [${name}] }\n`;
    await lab.reload(`prefix_sets:\n${sets.map(entry).join("")}filter_rules:\n${sets.map(rule).join("")}`);
    await Bun.sleep(500);
  }
};

/** Of a network that neither users nor attackers are in. */
function prefixes(which: number): string {
  return Array.from({ length: PREFIXES }, (_, i) => `10.${which}.${i >> 8}.${i & 255}\n`).join("");
}
