/** The scrub nodes as the service runs them: what they report is told to log and metrics. */
import type { Config } from "./config/config.ts";
import type { Log } from "./observability/log.ts";
import type { ScrubMetrics } from "./observability/scrub-metrics.ts";
import { ScrubNodes } from "./scrub/scrub-nodes.ts";
import type { Clock } from "./system/clock.ts";

export interface ScrubbingOptions {
  readonly config: Config;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics: ScrubMetrics;
}

export function openScrubNodes({ config, log, clock, metrics }: ScrubbingOptions): ScrubNodes {
  return new ScrubNodes({
    config: config.scrubbing,
    now: () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }),
    observer: {
      reported: () => metrics.reported(),
      understands(node, missing) {
        if (missing.length === 0) log.info({ node }, "a scrub node understands all rules");
        else
          log.warn({ node, missing }, "a scrub node gets no rules with match fields that it does not report to know");
      },
    },
  });
}
