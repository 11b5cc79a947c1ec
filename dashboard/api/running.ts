/** Data of the page frame and several views: read while a user is signed in, in every view. */
import { effect } from "@preact/signals";
import type { StatusWire, TenantStatusWire } from "../../src/http/wire/status.ts";
import type { HostgroupsRatesWire } from "../../src/http/wire/traffic/hostgroup-rates.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { readNames } from "./known-names.ts";
import { reloads, startLive } from "./live.ts";
import { Resource } from "./resource.ts";
import { clearTrace, traced } from "./traffic-trace.ts";

type Status = StatusWire | TenantStatusWire;

const STATUS_MS = 3000;
const RATES_MS = 2000;

export const status = new Resource<Status>("/api/v1/status", STATUS_MS);
export const groupRates = new Resource<HostgroupsRatesWire>("/api/v1/hostgroups", RATES_MS);

/** null: the caller has a tenant, or nothing was read yet. */
export function wholeStatus(): StatusWire | null {
  const { value } = status.state;
  return value.kind === "ready" && "capture" in value.data ? value.data : null;
}

/** When the service started, seconds since the epoch; absent: not known yet. */
export function startedAt(): { readonly startedAt?: number } {
  const value = status.state.peek();
  return value.kind === "ready" ? { startedAt: value.atMs / 1000 - value.data.uptime_seconds } : {};
}

/** A tenant cannot see this in the status: only a request for source blocks shows it. */
export function hasDataplane(): boolean {
  const whole = wholeStatus();
  return whole === null || (whole.dataplane !== undefined && whole.dataplane.state !== "disabled");
}

/** Returns the function that stops the readings and clears the data. */
export function startRunning(): () => void {
  const stopLive = startLive();
  const stopHeartbeat = startHeartbeat();
  status.start();
  groupRates.start();
  const stopTrace = effect(() => {
    const { value } = groupRates.state;
    if (value.kind === "ready" && value.data.available) traced(value.data, value.atMs);
  });
  const stopNames = effect(() => {
    const whole = wholeStatus();
    if (whole !== null) readNames(whole);
  });
  const stopReloads = effect(() => {
    if (reloads.value > 0) void status.refresh();
  });
  return () => {
    for (const stop of [stopLive, stopHeartbeat, stopTrace, stopNames, stopReloads]) stop();
    for (const resource of [status, groupRates]) {
      resource.stop();
      resource.forget();
    }
    readNames({});
    clearTrace();
  };
}
