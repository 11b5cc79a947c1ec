/** What a receiver of notifications got of the attacks of a trial. */
import { VICTIMS } from "./cluster-config.ts";

export interface EventCounts {
  /** Of victims whose attack was not notified as begun, or not as ended. */
  readonly lost: readonly string[];
  /** Beginnings beyond one for each victim. */
  readonly repeated: number;
}

/** @param output lines of webhook.ts */
export function eventsIn(output: string): EventCounts {
  const targets = (event: string) =>
    [...output.matchAll(/^(\S+) \S+ \S+ (\S+)$/gm)].flatMap(([, kind, target = ""]) =>
      kind === event ? [target] : [],
    );
  const [begun, ended] = [targets("attack_started"), targets("attack_ended")];
  const isWhole = (victim: string) => begun.includes(victim) && ended.includes(victim);
  return {
    lost: Object.values(VICTIMS).filter((victim) => !isWhole(victim)),
    repeated: begun.length - new Set(begun).size,
  };
}

export function isComplete({ lost }: EventCounts): boolean {
  return lost.length === 0;
}
