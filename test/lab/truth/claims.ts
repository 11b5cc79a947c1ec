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

/** Read at about the same time. `routed` are the addresses that BIRD has a route or a rule for. */
export interface Observation {
  readonly screen: Screen;
  readonly api: ApiState;
  readonly routed: ReadonlySet<string>;
}

/** `null`: the words say neither that a neighbor has the route nor that none has it. */
export function saysAnnounced(state: string): boolean | null {
  if (/not announced|^No mitigation$|^Not banned$|^Ban ended$/.test(state)) return false;
  return / announced( to \d+ of \d+ neighbors)?$/.test(state) ? true : null;
}

/** One line each; the same contradiction has the same line at each observation. */
export function contradictions({ screen, api, routed }: Observation): string[] {
  const found: string[] = [];
  const shown = new Set(screen.attacks.map(({ victim }) => victim));
  for (const { victim, state } of screen.attacks) {
    const claim = saysAnnounced(state);
    if (claim !== null && claim !== routed.has(victim)) {
      found.push(`${victim}: the screen says "${state}", BIRD has ${claim ? "no route" : "a route"}`);
    }
    if (!api.victims.includes(victim)) found.push(`${victim}: on the screen, and not an attack of the API`);
  }
  for (const victim of api.victims) if (!shown.has(victim)) found.push(`${victim}: an attack, and not on the screen`);
  for (const [target, isAnnounced] of api.announced) {
    if (isAnnounced !== routed.has(target)) {
      found.push(`${target}: the API says announced: ${isAnnounced}, BIRD has ${isAnnounced ? "no" : "a"} route`);
    }
  }
  const notHeld = notHeldIn(screen.situation);
  const missing = api.victims.filter((victim) => !routed.has(victim)).length;
  if (notHeld !== missing) {
    found.push(`the first line says "${screen.situation}", and BIRD has no route for ${missing}`);
  }
  return found;
}

function notHeldIn(situation: string): number {
  return Number(/(\d+) not held/.exec(situation)?.[1] ?? 0);
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
