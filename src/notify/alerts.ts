/**
 * Services for people on call, which keep an alert open until its end is reported: PagerDuty (Events API v2), Opsgenie
 * (Alert API v2) and Alertmanager (API v2). Events of one problem have one key there. Moments without an end, such as a
 * cap that is reached, open an alert that a person closes; bans are left to the alert of their attack.
 */
import { createHash } from "node:crypto";
import { shown } from "../audit/shown-text.ts";
import { timestamp } from "../schema/timestamp.ts";
import type { Channel, ChannelContext } from "./channel.ts";
import { conditionOf } from "./condition.ts";
import type { NotifyEvent } from "./event.ts";
import { describeEvent, hintsOf } from "./event-text.ts";
import { eventToWire } from "./event-wire.ts";
import { type Post, post } from "./http-post.ts";
import { ALERT_LASTS_MS, type AlertmanagerConfig } from "./notify-config.ts";
import { isForAlerts, problemOf } from "./problem.ts";
import { secretOf } from "./secret.ts";
import { severityOf } from "./severity.ts";

const DEADLINE_MS = 10_000;
/** Documented limits of the receivers, characters. */
const PAGERDUTY_SUMMARY_MAX = 1024;
const OPSGENIE_MESSAGE_MAX = 130;
const OPSGENIE_DESCRIPTION_MAX = 15_000;
/** An end in the future of its clock would not end an alert that has a later one: this clock may be ahead. */
const CLOCK_AHEAD_MS = 300_000;

interface Service {
  readonly keyEnv: string;
  readonly url: string;
}

/** One alert to open, to change or to close. */
interface Alert {
  readonly event: NotifyEvent;
  /** The machine or brain that has the problem. */
  readonly source: string;
  readonly key: string;
  readonly isOver: boolean;
  readonly headline: string;
  readonly details: string;
}

type Request = Pick<Post, "url" | "headers" | "body">;

function alertChannel(context: ChannelContext, requestOf: (alert: Alert) => Request): Channel {
  return {
    audience: "programs",
    deadlineMs: DEADLINE_MS,
    async deliver(events, signal) {
      for (const event of events) {
        // One that an earlier build put into the queue.
        if (!isForAlerts(event)) continue;
        const described = describeEvent(event);
        const headline = shown(described.headline);
        const details = [...described.details, ...hintsOf(event, context.pageUrl)].map(shown);
        const problem = problemOf(event) ?? { key: `event ${event.id}`, isOver: event.kind === "test" };
        const source = context.sourceOf?.(event) ?? context.instance;
        const key = keyOf(source, problem.key);
        const request = requestOf({ event, ...problem, source, key, headline, details: details.join("\n") });
        await post({ ...request, signal, authority: context.authority, reach: context.reach });
      }
    },
  };
}

/** Between characters: half of one is no Unicode. */
function cut(text: string, most: number): string {
  return text.slice(0, most).toWellFormed();
}

/** A key of the same length whatever the problem is called. */
function keyOf(source: string, key: string): string {
  return `floodwall-${createHash("sha256").update(`${source} ${key}`).digest("hex").slice(0, 32)}`;
}

export function pagerdutyChannel({ keyEnv, url }: Service, context: ChannelContext): Channel {
  return alertChannel(context, ({ event, key, isOver, headline, details }) => {
    const link = eventToWire(event, context).link;
    const payload = {
      summary: cut(headline, PAGERDUTY_SUMMARY_MAX),
      source: context.instance,
      severity: severityOf(event),
      timestamp: timestamp(event.atMs),
      class: event.kind,
      custom_details: { details, dry_run: event.dryRun },
    };
    const body = {
      routing_key: secretOf(context.environment, keyEnv),
      event_action: isOver ? "resolve" : "trigger",
      dedup_key: key,
      ...(isOver ? {} : { payload, ...(link === undefined ? {} : { links: [{ href: link, text: "Floodwall" }] }) }),
    };
    return { url: new URL("/v2/enqueue", url), headers: JSON_TYPE, body: JSON.stringify(body) };
  });
}

const PRIORITIES = { critical: "P1", warning: "P3", info: "P5" } as const;

export function opsgenieChannel({ keyEnv, url }: Service, context: ChannelContext): Channel {
  return alertChannel(context, ({ event, key, isOver, headline, details }) => {
    const headers = { ...JSON_TYPE, authorization: `GenieKey ${secretOf(context.environment, keyEnv)}` };
    const source = context.instance;
    if (isOver) {
      const path = `/v2/alerts/${encodeURIComponent(key)}/close?identifierType=alias`;
      return { url: new URL(path, url), headers, body: JSON.stringify({ source, note: headline }) };
    }
    const alert = {
      message: cut(headline, OPSGENIE_MESSAGE_MAX),
      alias: key,
      description: cut(`${headline}\n${details}`, OPSGENIE_DESCRIPTION_MAX),
      priority: PRIORITIES[severityOf(event)],
      source,
      tags: [event.kind, ...(event.dryRun ? ["dry_run"] : [])],
    };
    return { url: new URL("/v2/alerts", url), headers, body: JSON.stringify(alert) };
  });
}

export function alertmanagerChannel(config: AlertmanagerConfig, context: ChannelContext): Channel {
  return alertChannel(context, ({ event, source, key, isOver, headline, details }) => {
    const { link, hostgroup, tenant } = eventToWire(event, context);
    // Alerts of one problem have the same labels from begin to end: of what a reload may change, nothing is one.
    const labels = { alertname: `Floodwall_${problemName(event)}`, instance: source, problem: key };
    const scope = { ...(hostgroup === undefined ? {} : { hostgroup }), ...(tenant === undefined ? {} : { tenant }) };
    // From now on, as what began in a quiet time, or is sent again, may be older.
    const endsMs = isOver ? event.atMs - CLOCK_AHEAD_MS : context.wallMs() + ALERT_LASTS_MS;
    const beganMs = "attack" in event ? event.attack.startedAt : event.atMs;
    const alert = {
      labels,
      annotations: { summary: headline, description: details, severity: severityOf(event), ...scope },
      // Without a begin Alertmanager takes the end for it, and no begin may be after the end.
      startsAt: timestamp(Math.min(beganMs, endsMs)),
      endsAt: timestamp(endsMs),
      ...(link === undefined ? {} : { generatorURL: link }),
    };
    const token = config.tokenEnv === null ? null : secretOf(context.environment, config.tokenEnv);
    const headers = { ...JSON_TYPE, ...(token === null ? {} : { authorization: `Bearer ${token}` }) };
    const base = config.url.endsWith("/") ? config.url : `${config.url}/`;
    return { url: new URL("api/v2/alerts", base), headers, body: JSON.stringify([alert]) };
  });
}

const JSON_TYPE = { "content-type": "application/json" } as const;

/** The same at begin and end. */
function problemName(event: NotifyEvent): string {
  if ("left" in event) return event.left.type;
  if ("condition" in event) return conditionOf(event.kind);
  const isOfAttack = "attack" in event || (event.kind === "rules_not_found" && event.ban.attackId !== null);
  if (isOfAttack) return "attack";
  return event.kind.replace(/_(lost|restored|over|fault|fault_over)$/, "").replace(/_fault$/, "");
}
