/** Targets that tenants set, as the channels take them. */
import type { TenantTarget } from "../targets/tenant-target.ts";
import { OPSGENIE_URL, PAGERDUTY_URL, type TargetSettings } from "./notify-config.ts";

const [URL_NAME, SECRET_NAME] = ["url", "secret"];

/** As the configuration would have it: its secrets are read by the names of its variables. */
export function settingsOf({ kind, url, secret, chatId = "" }: TenantTarget): TargetSettings {
  switch (kind) {
    case "webhook":
      return { kind, urlEnv: URL_NAME, secretEnv: secret === undefined ? null : SECRET_NAME };
    case "slack":
    case "teams":
      return { kind, urlEnv: URL_NAME };
    case "telegram":
      return { kind, tokenEnv: SECRET_NAME, chatId };
    case "pagerduty":
      return { kind, keyEnv: SECRET_NAME, url: url ?? PAGERDUTY_URL };
    case "opsgenie":
      return { kind, keyEnv: SECRET_NAME, url: url ?? OPSGENIE_URL };
    case "alertmanager":
      return { kind, url: url ?? "", tokenEnv: secret === undefined ? null : SECRET_NAME };
    default:
      return kind satisfies never;
  }
}

export function readSecretOf({ url, secret }: TenantTarget): { read(name: string): string | null } {
  return { read: (name) => (name === URL_NAME ? url : secret) ?? null };
}
