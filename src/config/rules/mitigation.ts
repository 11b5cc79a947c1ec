/** Rules between the keys of `mitigation`, `escalation`, `flowspec`, `ban` and the routes of each method. */
import { isLessSevere } from "../../mitigation/escalation.ts";
import { PROFILES } from "../../mitigation/scrub/scrub-filter.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import type { ConfigFile } from "../sections/schema.ts";

type File = Pruned<ConfigFile>;
export type Level = Pick<File, "mitigation" | "escalation" | "flowspec" | "scrub"> & {
  readonly ban?: Pick<NonNullable<File["ban"]>, "fallback" | "repeat_hold_seconds" | "repeat_hold_max_seconds">;
};
interface PlacedLevel {
  readonly level: Level;
  readonly path: ConfigPath;
}

/** The top level of the file, and each hostgroup. */
export function* levels(file: File): Generator<PlacedLevel> {
  yield { level: file as Level, path: [] };
  for (const [i, group] of (file.hostgroups ?? []).entries()) {
    if (group !== undefined) yield { level: group as Level, path: ["hostgroups", i] };
  }
}

/** docs/configuration.md: the first rung starts at 0, times strictly increase, and severity never decreases. */
export function* laddersClimb(file: File): Generator<Finding> {
  for (const { level, path } of levels(file)) {
    const { escalation = [] } = level;
    for (const [i, rung] of escalation.entries()) {
      const { after_seconds: after, action } = rung ?? {};
      const { after_seconds: before } = (i > 0 ? escalation[i - 1] : undefined) ?? {};
      const milder = escalation.slice(0, i).findLast((one) => one?.action !== "none")?.action;
      const at = (key: string) => [...path, "escalation", i, key];
      if (i === 0 && after !== undefined && after !== 0) {
        yield { path: at("after_seconds"), rule: `must be 0 for the first rung, not ${after}` };
      }
      if (before !== undefined && after !== undefined && after <= before) {
        yield { path: at("after_seconds"), rule: `must be more than the ${before} of the rung before, not ${after}` };
      }
      if (milder !== undefined && action !== undefined && action !== "none" && isLessSevere(action, milder)) {
        yield { path: at("action"), rule: `${action} is milder than ${milder} before it: severity never falls` };
      }
    }
  }
}

/** With no other method this machine knows how much gets through. */
export function* unheldFollowsScrub(file: File): Generator<Finding> {
  for (const { level, path } of levels(file)) {
    const rungs = level.escalation ?? [];
    for (const [i, rung] of rungs.entries()) {
      if (rung?.unless_held !== true) continue;
      const before = rungs.slice(0, i).findLast((one) => one === undefined || one.action !== "none");
      const isKnown = before === undefined || before.action === "scrub" || before.unless_held === true;
      if (i > 0 && isKnown && before?.action !== "divert") continue;
      const rule = "goes after a rung of scrub, of which this machine knows what gets through";
      yield { path: [...path, "escalation", i, "unless_held"], rule };
    }
  }
}

export function* laddersAct(file: File): Generator<Finding> {
  for (const { level, path } of levels(file)) {
    const rungs = level.escalation ?? [];
    if (rungs.length === 0 || rungs.some((rung) => rung?.action !== "none")) continue;
    const at = [...path, "escalation", rungs.length - 1, "action"];
    yield { path: at, rule: "must not be none for all rungs: use dry_run_directions to watch only" };
  }
}

/** The keys of each action; if there are several, exactly one of them. */
const ACTION_KEYS = {
  discard: [],
  rate_limit: ["rate_mbps", "rate_pps"],
  redirect: ["redirect"],
  mark: ["dscp"],
} as const;
const ALL_ACTION_KEYS = Object.values(ACTION_KEYS).flat();
const NEEDED = {
  discard: "",
  rate_limit: "is required with action rate_limit, or rate_pps: what may pass each rule, in megabits per second",
  redirect: "is required with action redirect: where packets go",
  mark: "is required with action mark: the DSCP that packets get",
} as const;

export function* actionsAreWhole(file: File): Generator<Finding> {
  const global = file.flowspec ?? {};
  for (const { level, path } of levels(file)) {
    // A key whose value is at fault is there without one.
    const own = level.flowspec ?? {};
    const { action = global.action } = own;
    if (action === undefined) continue;
    const keys: readonly (typeof ALL_ACTION_KEYS)[number][] = ACTION_KEYS[action];
    const at = (key: string) => [...path, "flowspec", key];
    for (const key of ALL_ACTION_KEYS) {
      if (own[key] === undefined || keys.includes(key)) continue;
      const [home] = Object.entries(ACTION_KEYS).find(([, theirs]) => theirs.some((each) => each === key)) ?? [];
      yield { path: at(key), rule: `goes with action ${home} only: remove it, or set the action` };
    }
    const set = keys.filter((key) => key in own || (action === global.action && key in global));
    const isOwn = keys.filter((key) => own[key] !== undefined).length;
    const [first = ""] = keys;
    if (keys.length > 0 && set.length === 0) yield { path: at(first), rule: NEEDED[action] };
    if (isOwn > 1) yield { path: at("rate_pps"), rule: "takes the place of rate_mbps: remove one of them" };
  }
}

/** Their size is at most that of the prefixes whose sums are judged. */
export function* carpetsWiden({ carpet }: File): Generator<Finding> {
  for (const family of ["v4", "v6"] as const) {
    const [widest, size] = [carpet?.[`widest_${family}`], carpet?.[`prefix_${family}`]];
    if (widest === undefined || size === undefined || widest <= size) continue;
    yield {
      path: ["carpet", `widest_${family}`],
      rule: `must be at most prefix_${family}, ${size}, not ${widest}: the shorter, the wider`,
    };
  }
}

export function* groupsRefineWhatIsThere(file: File): Generator<Finding> {
  if (file.bgp !== undefined) return;
  for (const [i, group] of (file.hostgroups ?? []).entries()) {
    if (Object.keys(group?.bgp ?? {}).length === 0) continue;
    yield { path: ["hostgroups", i, "bgp"], rule: "refines the section bgp, which is absent: add it, or remove this" };
  }
}

export function* holdsAreBounded(file: File): Generator<Finding> {
  const global = file.ban ?? {};
  for (const { level, path } of levels(file)) {
    const own = level.ban ?? {};
    const { repeat_hold_seconds: hold = global.repeat_hold_seconds } = own;
    const { repeat_hold_max_seconds: most = global.repeat_hold_max_seconds } = own;
    if (hold === undefined || most === undefined || hold <= most) continue;
    if (path.length > 0 && !("repeat_hold_seconds" in own) && !("repeat_hold_max_seconds" in own)) continue;
    const rule = `must be at least repeat_hold_seconds, ${hold}, not ${most}`;
    yield { path: [...path, "ban", "repeat_hold_max_seconds"], rule };
  }
}

/** Names of profiles: those of the file differ from each other and from the built-in ones, and there are all that are used. */
export function* profilesExist(file: File): Generator<Finding> {
  const own = new Map<string, number>();
  for (const [i, { name } = {}] of (file.scrub_profiles ?? []).entries()) {
    if (name === undefined) continue;
    const path = ["scrub_profiles", i, "name"];
    const other = own.get(name);
    if (Object.hasOwn(PROFILES, name)) yield { path, rule: `${name} is built in: choose another name` };
    else if (other !== undefined) yield { path, rule: `${name} is there already, as scrub_profiles[${other}]` };
    else own.set(name, i);
  }
  for (const { level, path } of levels(file)) {
    const { profile, selectable_profiles: selectable = [] } = level.scrub ?? {};
    const named = [
      { name: profile, at: ["profile"] },
      ...selectable.map((name, i) => ({ name, at: ["selectable_profiles", i] })),
    ];
    for (const { name, at } of named) {
      if (name === undefined || own.has(name) || Object.hasOwn(PROFILES, name)) continue;
      const names = [...Object.keys(PROFILES), ...own.keys()].join(", ");
      yield { path: [...path, "scrub", ...at], rule: `there is no profile ${name}: there are ${names}` };
    }
  }
}

export function* portsGoWithTheirProtocols(file: File): Generator<Finding> {
  const scrubs = [
    ...[...levels(file)].map(({ level, path }) => ({ scrub: level.scrub, path: [...path, "scrub"] })),
    ...(file.scrub_profiles ?? []).map((scrub, i) => ({ scrub, path: ["scrub_profiles", i] })),
  ];
  for (const { scrub, path } of scrubs) {
    for (const [i, service] of (scrub?.services ?? []).entries()) {
      const { protocol = "tcp", ports = [], source_ports: sourcePorts = [] } = service ?? {};
      if (["tcp", "udp", "sctp"].includes(protocol) || ports.length + sourcePorts.length === 0) continue;
      const key = ports.length > 0 ? "ports" : "source_ports";
      yield { path: [...path, "services", i, key], rule: `${protocol} has no ports: remove them` };
    }
  }
}
