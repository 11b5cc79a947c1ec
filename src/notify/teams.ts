/** A message to a Microsoft Teams channel by the webhook of a workflow, as an adaptive card. The URL is the secret. */
import type { Channel, ChannelContext } from "./channel.ts";
import { digest } from "./digest.ts";
import { post } from "./http-post.ts";
import { urlOf } from "./secret.ts";

const DEADLINE_MS = 10_000;

export function teamsChannel({ urlEnv }: { readonly urlEnv: string }, context: ChannelContext): Channel {
  const { environment, authority, reach } = context;
  return {
    audience: "people",
    deadlineMs: DEADLINE_MS,
    deliver: async (events, signal) =>
      post({
        url: urlOf(environment, urlEnv),
        headers: { "content-type": "application/json" },
        body: JSON.stringify(cardOf(digest(events, context).text)),
        signal,
        authority,
        reach,
      }),
  };
}

/** A block for each paragraph: single line breaks would be lost in Markdown, in which the text is escaped. */
function cardOf(text: string): object {
  const blocks = text.split("\n").filter((line) => line !== "");
  const body = blocks.map((line) => ({ type: "TextBlock", text: escaped(line), wrap: true, spacing: "None" }));
  const content = { type: "AdaptiveCard", version: "1.4", body };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return { type: "message", attachments: [attachment] };
}

function escaped(line: string): string {
  return line.replace(/[\\`*_{}[\]()#+!~|<>-]/g, "\\$&");
}
