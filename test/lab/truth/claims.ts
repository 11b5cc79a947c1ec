/**
 * What the screen, the API and BIRD say at one time, and where the screen or the API contradicts what BIRD holds or each
 * other.
 */

/** What the overview shows. */
export interface Screen {
  /** The first line's part about attacks: `2 attacks, 1 not held`. */
  readonly situation: string;
  readonly attacks: readonly ShownAttack[];
}

export interface ShownAttack {
  readonly victim: string;
  /** `Blackhole announced`. */
  readonly state: string;
}

export interface ApiState {
  /** Victims of the attacks in progress. */
  readonly victims: readonly string[];
  /** Of the bans in force: by target, whether they say that they are announced. */
  readonly announced: ReadonlyMap<string, boolean>;
}

/** Read at about the same time. `routed`: by neighbor, the addresses that its BIRD has a route or a rule for. */
export interface Observation {
  readonly screen: Screen;
  readonly api: ApiState;
  readonly routed: readonly ReadonlySet<string>[];
}

/** At how many of the neighbors the words say that the route is; `null`: they do not say. `of`: all neighbors. */
export function saidReach(state: string, of: number): number | null {
  if (/not announced|: waiting for rules$|^No mitigation$|^Not banned$|^Ban ended$/.test(state)) return 0;
  const part = / at (\d+) of (\d+) routers?\b/.exec(state);
  if (part !== null) return Number(part[1]);
  return state.endsWith(" announced") ? of : null;
}

/** One line each; the same contradiction has the same line at each observation. */
export function contradictions({ screen, api, routed }: Observation): string[] {
  const found: string[] = [];
  const neighbors = routed.length;
  const reachOf = (address: string) => routed.filter((addresses) => addresses.has(address)).length;
  const shown = new Set(screen.attacks.map(({ victim }) => victim));
  for (const { victim, state } of screen.attacks) {
    const [claim, reach] = [saidReach(state, neighbors), reachOf(victim)];
    if (claim !== null && claim !== reach) {
      found.push(`${victim}: the screen says "${state}", ${reach} of ${neighbors} have a route`);
    }
    if (!api.victims.includes(victim)) found.push(`${victim}: on the screen, and not an attack of the API`);
  }
  for (const victim of api.victims) if (!shown.has(victim)) found.push(`${victim}: an attack, and not on the screen`);
  for (const [target, isAnnounced] of api.announced) {
    if (isAnnounced !== reachOf(target) > 0) {
      found.push(`${target}: the API says announced: ${isAnnounced}, ${reachOf(target)} of ${neighbors} have a route`);
    }
  }
  const least = Math.min(...api.victims.map(reachOf));
  const said = saidLeast(screen.situation);
  if (api.victims.length > 0 && said !== null && said !== least) {
    found.push(`the first line says "${screen.situation}", the worst has a route at ${least} of ${neighbors}`);
  }
  return found;
}
/** By the first line: at how many neighbors the attack has its route that has it at the fewest; null: it does not say. */
function saidLeast(situation: string): number | null {
  if (/no router has the route|No ban\b|Ban refused|Ban has ended|Nothing announces|Waiting for rules/i.test(situation))
    return 0;
  const part = /route at (\d+) of (\d+) routers?/i.exec(situation);
  return part === null ? null : Number(part[1]);
}

/** How long each contradiction lasted without a break, from the first observation that has it to the last. */
export class ContradictionTimes {
  readonly #open = new Map<string, { readonly sinceMs: number; lastMs: number }>();
  readonly #longest = new Map<string, number>();
  /** Of all that are over. */
  readonly lengthsMs: number[] = [];

  add(found: readonly string[], atMs: number): void {
    for (const [line, { sinceMs, lastMs }] of this.#open) {
      if (found.includes(line)) continue;
      this.#open.delete(line);
      this.#end(line, lastMs - sinceMs);
    }
    for (const line of found) {
      const open = this.#open.get(line);
      if (open === undefined) this.#open.set(line, { sinceMs: atMs, lastMs: atMs });
      else open.lastMs = atMs;
    }
  }

  /** Those that lasted longer than `maxMs`, also those that still do: line and ms. */
  longerThan(maxMs: number): [line: string, ms: number][] {
    const all = new Map(this.#longest);
    for (const [line, { sinceMs, lastMs }] of this.#open) {
      all.set(line, Math.max(all.get(line) ?? 0, lastMs - sinceMs));
    }
    return [...all].filter(([, ms]) => ms > maxMs);
  }

  #end(line: string, ms: number): void {
    this.lengthsMs.push(ms);
    this.#longest.set(line, Math.max(this.#longest.get(line) ?? 0, ms));
  }
}
