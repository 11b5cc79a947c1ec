/** A message to a Slack channel through an incoming webhook, whose URL is the secret. */
import type { Channel, ChannelContext } from "./channel.ts";
import { digest } from "./digest.ts";
import { post } from "./http-post.ts";
import { urlOf } from "./secret.ts";

const DEADLINE_MS = 10_000;

export function slackChannel(config: { readonly urlEnv: string }, context: ChannelContext): Channel {
  const { environment, authority, reach } = context;
  return {
    audience: "people",
    deadlineMs: DEADLINE_MS,
    deliver: async (events, signal) =>
      post({
        url: urlOf(environment, config.urlEnv),
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ text: escaped(digest(events, context).text) }),
        signal,
        authority,
        reach,
      }),
  };
}

/** The three characters with a meaning in Slack, which start links and mentions. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
