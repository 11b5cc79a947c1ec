/** Source blocks as the service runs them: logs and counts their changes. */
import type { Config } from "../config/config.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { SourceBlockMetrics } from "../observability/source-block-metrics.ts";
import { BLOCK_REFUSALS } from "../sourceblock/admission.ts";
import { KERNEL_OPERATIONS } from "../sourceblock/kernel-pairs.ts";
import { sourceBlockPolicy } from "../sourceblock/policy.ts";
import { pairName, type SourceBlock } from "../sourceblock/source-block.ts";
import {
  BLOCK_ENDS,
  type BlockEnd,
  type SourceBlockObserver,
  SourceBlocks,
  type SourceBlocksOptions,
} from "../sourceblock/source-blocks.ts";
import { blockSubject, noticed, type OnOrders } from "./order-changes.ts";

interface SourceBlockingOptions extends Omit<SourceBlocksOptions, "policy" | "observer"> {
  readonly config: Config;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: SourceBlockMetrics;
  readonly onEnded: SourceBlockObserver["ended"];
  readonly onOrders: OnOrders;
}

/** Pairs that one log line lists; it counts the rest. */
const PAIRS_LOGGED = 20;

export function openSourceBlocks({ config, ...options }: SourceBlockingOptions): SourceBlocks {
  const { log: _log, limiter: _limiter, onEnded: _onEnded, onOrders, metrics, ...parts } = options;
  metrics.declare({ refusals: [...BLOCK_REFUSALS, "not_blocked"], ends: BLOCK_ENDS, operations: KERNEL_OPERATIONS });
  const policy = sourceBlockPolicy(config);
  const blocks: SourceBlocks = new SourceBlocks({
    ...{ policy, ...parts },
    observer: noticed(
      observerOf(options, () => blocks.isDryRun),
      blockSubject,
      onOrders,
    ),
  });
  return blocks;
}

function observerOf(options: Omit<SourceBlockingOptions, "config">, isDryRun: () => boolean): SourceBlockObserver {
  const { log, limiter, metrics, onEnded } = options;
  return {
    began({ source, victim, createdAt, expiresAt }) {
      metrics.ordered();
      log.info({ source, victim, created_at: createdAt, expires_at: expiresAt, dry_run: isDryRun() }, "source blocked");
    },
    refused: (refusal) => metrics.refused(refusal),
    ended(end, blocks) {
      metrics.ended(end, blocks.length);
      logEnd(log, end, blocks);
      if (blocks.length > 0) onEnded(end, blocks);
    },
    kernelFault(operation, cause) {
      metrics.kernelFailed(operation);
      limiter.pass(`pairs ${operation}`, (suppressed) =>
        log.error({ cause, operation, suppressed }, "the kernel refuses source blocks"),
      );
    },
  };
}

function logEnd(log: Log, end: BlockEnd, blocks: readonly SourceBlock[]): void {
  const pairs = blocks.slice(0, PAIRS_LOGGED).map(pairName);
  const fields = { reason: end, count: blocks.length, pairs };
  if (end === "install_failed") log.error(fields, "source blocks removed");
  else if (end === "expired" || end === "unblocked") log.info(fields, "source blocks ended");
  else log.warn(fields, "source blocks removed: the configuration does not allow them any more");
}
