/** Rules between the keys of `dataplane`, and with those of `ban` and `capture`. */
import { SLOTS_PER_BAN } from "../../limits.ts";
import { slotsPerBan } from "../../mitigation/scrub/ban-slots.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import type { Config } from "../config.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { levels } from "./mitigation.ts";
import { repeated } from "./repeated.ts";

type File = Pruned<ConfigFile>;

export function* dataplaneInterfacesAreUnique({ dataplane }: Pick<File, "dataplane">): Generator<Finding> {
  for (const [name, i, other] of repeated(dataplane?.interfaces)) {
    const rule = `${name} is there already, as dataplane.interfaces[${other}]: remove one of them`;
    yield { path: ["dataplane", "interfaces", i], rule };
  }
}

/** docs/interface.md#limit-dynamic-rules: these slots are reserved for bans, independent of source blocks. */
export function* slotsHoldTheBans({ dataplane, ban, mitigations, carpet }: Config): Generator<Finding> {
  if (dataplane === null) return;
  const { maxDynamicRules: slots } = dataplane;
  const each = slotsPerBan({ mitigations, carpet });
  const wanted = each * ban.maxActiveBans;
  if (slots >= wanted) return;
  const filter = each - SLOTS_PER_BAN;
  const why = filter === 0 ? "" : ` (${SLOTS_PER_BAN} for the attack, ${filter} for scrub)`;
  const rule = `must be at least ${each} for each of ban.max_active_bans${why}, ${wanted}, not ${slots}`;
  yield { path: ["dataplane", "limits", "max_dynamic_rules"], rule };
}

/** Only the data plane of this machine scrubs. */
export function* scrubbingNeedsTheDataplane(file: File): Generator<Finding> {
  if (file.dataplane !== undefined && file.dataplane.enabled !== false) return;
  const rule = "scrub filters on this machine, which needs the section dataplane: add it, or choose another";
  if (file.carpet?.mitigation === "scrub") yield { path: ["carpet", "mitigation"], rule };
  for (const { level, path } of levels(file)) {
    if (level.mitigation === "scrub") yield { path: [...path, "mitigation"], rule };
    for (const [i, rung] of (level.escalation ?? []).entries()) {
      if (rung?.action === "scrub") yield { path: [...path, "escalation", i, "action"], rule };
    }
    if (level.ban?.fallback === "scrub") yield { path: [...path, "ban", "fallback"], rule };
    if (level.scrub?.always === true) {
      const remedy = "filters on this machine, which needs the section dataplane: add it, or remove this";
      yield { path: [...path, "scrub", "always"], rule: remedy };
    }
  }
}

/** An interface has one XDP program, which counts and drops, so it is attached in one mode. */
export function* xdpModesAgree({ dataplane, capture }: File): Generator<Finding> {
  const mode = dataplane?.xdp_mode;
  for (const [i, captured] of (capture?.interfaces ?? []).entries()) {
    const { name, xdp_mode: other } = captured ?? {};
    if (mode === undefined || name === undefined || other === undefined) continue;
    if (other === mode || other === "auto" || mode === "auto" || dataplane?.interfaces?.includes(name) !== true)
      continue;
    const path = ["capture", "interfaces", i, "xdp_mode"];
    yield { path, rule: `${other} goes against dataplane.xdp_mode, ${mode}: ${name} has one XDP program for both` };
  }
}

/** In mirror mode AF_XDP takes every frame of the port, and its program occupies the interface. */
export function* mirrorsAreNotFiltered({ dataplane, capture }: File): Generator<Finding> {
  if (dataplane?.enabled === false) return;
  for (const [i, captured] of (capture?.interfaces ?? []).entries()) {
    const { name, mode, backend } = captured ?? {};
    if (name === undefined || mode !== "mirror" || backend === "pcap") continue;
    if (dataplane?.interfaces?.includes(name) !== true) continue;
    const rule = `mirror takes every frame of ${name}, so that nothing is left to drop there: make it inline, or remove ${name} from dataplane.interfaces`;
    yield { path: ["capture", "interfaces", i, "mode"], rule };
  }
}
