/** Rules between the keys of `mitigation`, `escalation`, `flowspec`, `ban` and the routes of each method. */
import { isLessSevere } from "../../mitigation/escalation.ts";
import type { ConfigPath } from "../load/problem.ts";
import type { Finding, Pruned } from "../load/shape.ts";
import type { ConfigFile } from "../sections/schema.ts";

type File = Pruned<ConfigFile>;
export type Level = Pick<File, "mitigation" | "escalation" | "flowspec"> & {
  readonly ban?: Pick<NonNullable<File["ban"]>, "fallback" | "repeat_hold_seconds" | "repeat_hold_max_seconds">;
};
export interface PlacedLevel {
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
      const { after_seconds: before, action: milder } = (i > 0 ? escalation[i - 1] : undefined) ?? {};
      const at = (key: string) => [...path, "escalation", i, key];
      if (i === 0 && after !== undefined && after !== 0) {
        yield { path: at("after_seconds"), rule: `must be 0 for the first rung, not ${after}` };
      }
      if (before !== undefined && after !== undefined && after <= before) {
        yield { path: at("after_seconds"), rule: `must be more than the ${before} of the rung before, not ${after}` };
      }
      if (milder !== undefined && action !== undefined && isLessSevere(action, milder)) {
        yield { path: at("action"), rule: `${action} is milder than ${milder} before it: severity never falls` };
      }
    }
  }
}

export function* laddersAct(file: File): Generator<Finding> {
  for (const { level, path } of levels(file)) {
    const last = level.escalation?.at(-1);
    if (last?.action !== "none") continue;
    const at = [...path, "escalation", (level.escalation?.length ?? 1) - 1, "action"];
    yield { path: at, rule: "must not be none for the last rung: then there would be no ban at all" };
  }
}

export function* rateGoesWithRateLimit(file: File): Generator<Finding> {
  const global = file.flowspec ?? {};
  for (const { level, path } of levels(file)) {
    const { action = global.action, rate_mbps: rate = action === global.action ? global.rate_mbps : undefined } =
      level.flowspec ?? {};
    const at = [...path, "flowspec", "rate_mbps"];
    if (action === "rate_limit" && rate === undefined) {
      yield { path: at, rule: "is required with action rate_limit: what may pass each rule, in megabits per second" };
    }
    if (action === "discard" && rate !== undefined && "rate_mbps" in (level.flowspec ?? {})) {
      yield { path: at, rule: "goes with action rate_limit only: remove it, or set the action" };
    }
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
