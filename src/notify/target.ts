/** The channel of a target, by its settings. */
import { alertmanagerChannel, opsgenieChannel, pagerdutyChannel } from "./alerts.ts";
import type { Channel, ChannelContext } from "./channel.ts";
import { emailChannel } from "./email.ts";
import { execChannel } from "./exec.ts";
import type { TargetSettings } from "./notify-config.ts";
import { slackChannel } from "./slack.ts";
import { syslogChannel } from "./syslog.ts";
import { teamsChannel } from "./teams.ts";
import { telegramChannel } from "./telegram.ts";
import { webhookChannel } from "./webhook.ts";

export function channelOf(settings: TargetSettings, context: ChannelContext): Channel {
  switch (settings.kind) {
    case "webhook":
      return webhookChannel(settings, context);
    case "slack":
      return slackChannel(settings, context);
    case "teams":
      return teamsChannel(settings, context);
    case "telegram":
      return telegramChannel(settings, context);
    case "email":
      return emailChannel(settings, context);
    case "exec":
      return execChannel(settings, context);
    case "pagerduty":
      return pagerdutyChannel(settings, context);
    case "opsgenie":
      return opsgenieChannel(settings, context);
    case "alertmanager":
      return alertmanagerChannel(settings, context);
    case "syslog":
      return syslogChannel(settings, context);
    default:
      return settings satisfies never;
  }
}
