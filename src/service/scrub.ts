/** The scrub nodes as the service runs them: logs and counts what they report. */
import type { Config } from "../config/config.ts";
import type { ActiveAttacks } from "../detection/attack/active-attacks.ts";
import type { Circumstances } from "../mitigation/circumstances.ts";
import type { Log } from "../observability/log.ts";
import type { ScrubMetrics } from "../observability/scrub-metrics.ts";
import { ScrubNodes } from "../scrub/scrub-nodes.ts";
import type { Clock } from "../system/clock.ts";
import { METRICS } from "../traffic/rates.ts";

export interface ScrubbingOptions {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: ScrubMetrics;
  /** Attacks in progress. */
  readonly attacks: () => Pick<ActiveAttacks, "ofHost" | "carpet">;
}

const MBPS = METRICS.indexOf("mbps");

export function openScrubNodes({ config, log, clock, metrics, attacks }: ScrubbingOptions): ScrubNodes {
  return new ScrubNodes({
    config: config.scrubbing,
    now: () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }),
    mbpsOf({ target, attackId }) {
      const attack = attacks().carpet(attackId ?? "") ?? attacks().ofHost(target, "incoming");
      return attack?.rates[MBPS] ?? null;
    },
    observer: {
      reported: () => metrics.reported(),
      ruleSupportChanged(node, missing) {
        if (missing.length === 0) log.info({ node }, "a scrub node understands all rules");
        else
          log.warn({ node, missing }, "a scrub node gets simpler rules: it does not report to know all match fields");
      },
      liveness(node, liveness) {
        if (liveness === "lost") log.warn({ node }, "a scrub node is lost: what is diverted to it goes elsewhere");
        else log.info({ node }, "a scrub node is alive");
      },
      moved: () => metrics.moved(),
    },
  });
}

/** What bans need to know of the nodes. */
export function scrubCircumstances(scrub: ScrubNodes): Pick<Circumstances, "divertTo" | "nodeRules"> {
  return {
    divertTo: (request) => scrub.divertTo(request),
    nodeRules: (request) => scrub.nodeRules(request),
  };
}
