/**
 * How a node gets a certificate by HTTP-01 when the authority may ask any node of the zone
 * (docs/interface.md#acme-command): it requests the zone's slot, orders, publishes its challenge to all nodes, and
 * returns the slot. Without the slot it waits a quarter of an hour and then orders anyway.
 */
import type { Clock } from "../../src/system/clock.ts";
import type { EdgeChannel, Failure } from "./edge-channel.ts";

export interface Certificate {
  /** Wall clock, ms. */
  readonly notAfterMs: number;
  readonly issuer: string;
}

export interface Order {
  readonly token: string;
  readonly keyAuthorization: string;
  /** Asks the authority to validate, and waits for the certificate. Rejects if the authority refuses. */
  complete(): Promise<Certificate>;
}

export interface Authority {
  order(zone: string): Promise<Order>;
}

export type OrderEnd =
  | { readonly kind: "issued"; readonly certificate: Certificate; readonly hadSlot: boolean }
  | { readonly kind: "failed"; readonly reason: string };

export interface OrderOptions {
  readonly channel: Pick<EdgeChannel, "slot" | "release" | "publish">;
  readonly authority: Authority;
  /** From now on this node answers the challenge. */
  readonly answer: (order: Order) => void;
  /** Whether this node's document gets the challenge before the time is over. */
  readonly isFannedOut: (token: string, withinMs: number) => Promise<boolean>;
  /** Another node had the slot. */
  readonly onWait: () => void;
  /**
   * Resolves when this node's document shows that the slot is free, or when the time is over; rejects as `pause` does.
   */
  readonly slotFreed: (withinMs: number) => Promise<void>;
  /** Rejects when the node stops. */
  readonly pause: (ms: number) => Promise<void>;
  readonly clock: Pick<Clock, "monotonicMs">;
}

const SLOT_WAIT_MS = 15 * 60_000;
/** Pause between two attempts of a failed call. */
const AGAIN_MS = 5000;
const FAN_OUT_MS = 30_000;
/** Time for the other nodes, after this node has the challenge. */
const SETTLE_MS = 500;

/** Never rejects. */
export async function orderCertificate(zone: string, options: OrderOptions): Promise<OrderEnd> {
  let hasSlot = false;
  try {
    hasSlot = await waitForSlot(zone, options);
    return await obtain(zone, hasSlot, options);
  } catch (cause) {
    return { kind: "failed", reason: cause instanceof Error ? cause.message : String(cause) };
  } finally {
    if (hasSlot) await options.channel.release(zone);
  }
}

/** Returns whether it has the slot. */
async function waitForSlot(zone: string, { channel, onWait, slotFreed, pause, clock }: OrderOptions): Promise<boolean> {
  const untilMs = clock.monotonicMs() + SLOT_WAIT_MS;
  for (;;) {
    const answer = await channel.slot(zone);
    if (answer.kind === "granted") return true;
    if (answer.kind === "refused" && answer.status === 404) throw new Error(`slot: ${failureText(answer)}`);
    const leftMs = untilMs - clock.monotonicMs();
    if (leftMs <= 0) return false;
    if (answer.kind === "held") {
      onWait();
      await slotFreed(Math.min(leftMs, answer.retryAfterSeconds * 1000));
    } else await pause(Math.min(leftMs, AGAIN_MS));
  }
}

async function obtain(zone: string, hasSlot: boolean, options: OrderOptions): Promise<OrderEnd> {
  const { channel, authority, answer, isFannedOut, pause } = options;
  const order = await authority.order(zone);
  answer(order);
  if (hasSlot) {
    const published = await channel.publish({ zone, token: order.token, keyAuthorization: order.keyAuthorization });
    if (published.kind !== "done") return { kind: "failed", reason: `publication: ${failureText(published)}` };
    if (!(await isFannedOut(order.token, FAN_OUT_MS))) return { kind: "failed", reason: "it was not fanned out" };
    await pause(SETTLE_MS);
  }
  return { kind: "issued", certificate: await order.complete(), hadSlot: hasSlot };
}

function failureText(failure: Failure): string {
  return failure.kind === "refused" ? `${failure.status} ${failure.error}` : failure.reason;
}
