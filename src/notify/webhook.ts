/**
 * Sends events as JSON to a URL. With a secret, each call is signed: `X-Floodwall-Signature: t=<unix
 * seconds>,v1=<hex>`, where v1 is HMAC-SHA-256 over `<t>.<body>`. Receivers refuse an old t, so that a recorded call
 * cannot be replayed.
 */
import { createHmac } from "node:crypto";
import type { Channel, ChannelContext } from "./channel.ts";
import { eventToWire } from "./event-wire.ts";
import { post } from "./http-post.ts";
import type { WebhookConfig } from "./notify-config.ts";
import { secretOf, urlOf } from "./secret.ts";

const DEADLINE_MS = 10_000;

export function webhookChannel(config: WebhookConfig, context: ChannelContext): Channel {
  const { environment, wallMs, authority, reach } = context;
  return {
    audience: "programs",
    deadlineMs: DEADLINE_MS,
    async deliver(events, signal) {
      for (const event of events) {
        const body = JSON.stringify(eventToWire(event, context));
        const headers: Record<string, string> = { "content-type": "application/json", "idempotency-key": event.id };
        if (config.secretEnv !== null) {
          const secret = secretOf(environment, config.secretEnv);
          headers["x-floodwall-signature"] = signature(body, secret, Math.floor(wallMs() / 1000));
        }
        await post({ url: urlOf(environment, config.urlEnv), headers, body, signal, authority, reach });
      }
    },
  };
}

export function signature(body: string, secret: string, unixSeconds: number): string {
  const mac = createHmac("sha256", secret).update(`${unixSeconds}.${body}`).digest("hex");
  return `t=${unixSeconds},v1=${mac}`;
}
