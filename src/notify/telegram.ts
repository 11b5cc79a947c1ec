/** A message to a Telegram chat by a bot whose token is part of the URL. Sent as plain text, without markup. */
import type { Channel, ChannelContext } from "./channel.ts";
import { DeliveryFault } from "./delivery-fault.ts";
import { digest } from "./digest.ts";
import { post } from "./http-post.ts";
import type { TelegramConfig } from "./notify-config.ts";
import { secretOf } from "./secret.ts";

export const TELEGRAM_API = "https://api.telegram.org";
const DEADLINE_MS = 10_000;

export function telegramChannel(config: TelegramConfig, context: ChannelContext): Channel {
  const { environment, telegramApi, authority, reach } = context;
  return {
    audience: "people",
    deadlineMs: DEADLINE_MS,
    async deliver(events, signal) {
      const token = secretOf(environment, config.tokenEnv);
      // Any other character could change the path.
      if (!/^[A-Za-z0-9:_-]+$/.test(token))
        throw new DeliveryFault(`the variable ${config.tokenEnv} holds no bot token`);
      await post({
        url: new URL(`${telegramApi}/bot${token}/sendMessage`),
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          chat_id: config.chatId,
          text: digest(events, context).text,
          link_preview_options: { is_disabled: true },
        }),
        signal,
        authority,
        reach,
      });
    },
  };
}
