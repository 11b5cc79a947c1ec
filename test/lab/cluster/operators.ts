/** Operators who order one ban after the other at a brain, and note what it answers. */
import type { Brain, ClusterWorld } from "./cluster-world.ts";

export interface Ordered {
  /** Prefixes. */
  readonly acknowledged: readonly string[];
  readonly unshared: number;
  readonly failed: number;
  readonly slowestMs: number;
}

export interface OrderedBan {
  readonly prefix: string;
  readonly status: number;
  readonly isShared: boolean;
}

export interface Operators {
  stop(): Promise<Ordered>;
}

/** In the longest fault fewer than `ban.max_active_bans` allows. */
const ORDER_MS = 700;
const TTL_SECONDS = 600;

let orders = 0;

/** @param isPlain without what versions before clusters do not take */
export async function order(world: ClusterWorld, brain: Brain, isPlain = false): Promise<OrderedBan> {
  const ip = `203.0.113.${100 + (orders++ % 150)}`;
  const prefix = `${ip}/32`;
  const terms = { prefix, method: "blackhole", ttl_seconds: TTL_SECONDS, reason: `lab ${orders}` };
  const body = isPlain ? { ip } : terms;
  const answer = await world.post<Record<string, unknown>>(brain, "ban", body).catch(() => null);
  return { prefix, status: answer?.status ?? 0, isShared: answer?.body["shared"] !== false };
}

export function operate(world: ClusterWorld, brain: Brain): Operators {
  const acknowledged: string[] = [];
  let [unshared, failed, slowestMs, isOver] = [0, 0, 0, false];
  const run = async () => {
    while (!isOver) {
      const startedMs = performance.now();
      const { prefix, status, isShared } = await order(world, brain);
      slowestMs = Math.max(slowestMs, performance.now() - startedMs);
      if (status === 200) acknowledged.push(prefix);
      else failed++;
      if (!isShared) unshared++;
      await Bun.sleep(ORDER_MS);
    }
  };
  const running = run();
  return {
    async stop() {
      isOver = true;
      await running;
      return { acknowledged, unshared, failed, slowestMs: Math.round(slowestMs) };
    },
  };
}
