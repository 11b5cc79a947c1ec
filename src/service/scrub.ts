/** The scrub nodes as the service runs them: logs and counts what they report. */
import type { Config } from "../config/config.ts";
import type { ActiveAttacks } from "../detection/attack/active-attacks.ts";
import type { Circumstances } from "../mitigation/circumstances.ts";
import type { Log } from "../observability/log.ts";
import type { ScrubMetrics } from "../observability/scrub-metrics.ts";
import { nodeFaultsText } from "../scrub/node-faults.ts";
import { ScrubNodes } from "../scrub/scrub-nodes.ts";
import type { Clock } from "../system/clock.ts";
import { METRICS } from "../traffic/rates.ts";

interface ScrubbingOptions {
  readonly config: Config;
  /** The configuration in force. */
  readonly present: () => Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: { readonly scrub: ScrubMetrics };
  /** Attacks in progress. */
  readonly attacks: () => Pick<ActiveAttacks, "ofHost" | "carpet">;
}

const MBPS = METRICS.indexOf("mbps");

export function openScrubNodes(options: ScrubbingOptions): ScrubNodes {
  const { config, present, log, clock, metrics, attacks } = options;
  return new ScrubNodes({
    config: config.scrubbing,
    now: () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }),
    mbpsOf({ target, attackId }) {
      const attack = attacks().carpet(attackId ?? "") ?? attacks().ofHost(target, "incoming");
      return attack?.rates[MBPS] ?? null;
    },
    groupOf(prefix) {
      const { hostgroups, lookup } = present();
      return (hostgroups[lookup.group(prefix.address)] ?? hostgroups[0])?.name ?? "global";
    },
    observer: {
      reported: () => metrics.scrub.reported(),
      ruleSupportChanged(node, missing) {
        if (missing.length === 0) log.info({ node }, "a scrub node understands all rules");
        else log.warn({ node, missing }, "a scrub node gets simpler rules: it does not support all match fields");
      },
      liveness(node, liveness) {
        if (liveness === "unknown")
          log.warn({ node }, "a scrub node was last seen by a brain that is out of reach: nothing moves");
        else if (liveness === "lost") log.warn({ node }, "a scrub node is lost: what is diverted to it goes elsewhere");
        else log.info({ node }, "a scrub node is alive");
      },
      moved: () => metrics.scrub.moved(),
      enforcementChanged(node, faults) {
        if (faults === null) log.info({ node }, "a scrub node enforces what it gets again");
        else log.warn({ node, found: nodeFaultsText(faults) }, "a scrub node does not enforce what it gets");
      },
    },
  });
}

/** The bans' view of the nodes. */
export function scrubCircumstances(scrub: ScrubNodes): Pick<Circumstances, "divertTo" | "nodeRules"> {
  return {
    divertTo: (request) => scrub.divertTo(request),
    nodeRules: (request) => scrub.nodeRules(request),
  };
}
