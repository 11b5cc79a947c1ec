/** The protection of a prefix, in words. Pure. */
import type { ProtectionsWire, ProtectionWire } from "../../src/http/wire/protection.ts";
import { t } from "../language.ts";
import { percent } from "./format/numbers.ts";
import { said } from "./service-words.ts";

type Setting = NonNullable<ProtectionWire["setting"]>;
type FilterWire = Setting["filter"];
type Choice = NonNullable<ProtectionWire["choice"]>;

export const PROTECTION_PATH = "/api/v1/protection";

/** @param prefix an address, or a prefix. */
export function protectionPath(prefix: string): string {
  return `${PROTECTION_PATH}/${encodeURIComponent(prefix)}`;
}

export function profileText({ profile }: Pick<Setting, "profile">): string {
  return profile ?? t`no profile`;
}

/** The origin of the decision. */
export function sourceText({ source, choice }: Pick<ProtectionWire, "source" | "choice">): string {
  return source === undefined || source === "configuration" || choice === undefined
    ? t`the configuration`
    : chooserText(choice);
}

/** `noc`, `acme's web`, `an operator`. */
export function chooserText({ chosen_by: by, operator, tenant }: Choice): string {
  if (by === "operator") return operator ?? t`an operator`;
  return operator === undefined ? t`tenant ${tenant ?? ""}` : t`${operator} of ${tenant ?? ""}`;
}

export function whenText({ when, cause }: Pick<ProtectionWire, "when" | "cause">): string {
  switch (when) {
    case "always":
      return t`at all times`;
    case "attack":
      return t`while attacked`;
    case "never":
      return t`never: ${said(cause ?? "")}`;
    case undefined:
      return "–";
    default:
      return when satisfies never;
  }
}

/** Name and text of each part. */
export function filterFacts(filter: FilterWire): (readonly [string, string])[] {
  const { allowed, validators, limits, counts_only: countsOnly } = filter;
  return [
    [t`Passes`, passesText(allowed)],
    [t`Proof`, validators.length === 0 ? t`none` : validators.map(said).join(" · ")],
    [t`Limits`, limits.length === 0 ? t`none` : limits.map(said).join(" · ")],
    ...(countsOnly === true ? [[t`Dry run`, t`nothing is dropped, only counted`] as const] : []),
  ];
}

function passesText(allowed: FilterWire["allowed"]): string {
  if (allowed === undefined) return t`any traffic`;
  return allowed.length === 0 ? t`nothing` : allowed.map(serviceText).join(" · ");
}

/** `udp/443 from 53 at 100 packets/s`, as the service writes it. */
const SERVICE = /^(\S+?)(?:[/ ]from (\S+))?(?: at (\d+) packets\/s)?$/;

function serviceText(service: string): string {
  const [, to = service, from, rate] = SERVICE.exec(service) ?? [];
  const text = from === undefined ? to : `${to}${t` from port ${from}`}`;
  return rate === undefined ? text : t`${text} at ${rate} packets/s`;
}

/** `tcp/443 61 % · udp/53 20 %`, of the packets of the last minute. */
export function receivesText({ pps, services }: NonNullable<ProtectionWire["receives"]>): string {
  return services.map(({ service, pps: own }) => `${service} ${percent(pps > 0 ? own / pps : 0)}`).join(" · ");
}

/** In the order of the form: as it is, always, while attacked. */
export const WHENS = [
  ["configured", t`Inherit`],
  ["always", t`At all times`],
  ["attack", t`While attacked`],
] as const;
export type When = (typeof WHENS)[number][0];

export function whenOf(choice: Pick<Choice, "always"> | undefined): When {
  return choice?.always === undefined ? "configured" : choice.always ? "always" : "attack";
}

/** The fields of an order. */
export function protectionOrder(order: { readonly profile: string; readonly when: When; readonly note: string }) {
  const { profile, when, note } = order;
  return { profile, note, ...(when === "configured" ? {} : { always: when === "always" }) };
}

/** Whether the caller may say when a profile applies, somewhere. */
export function maySayWhen({ hostgroups }: Pick<ProtectionsWire, "hostgroups">): boolean {
  return hostgroups.some(({ selectable }) => selectable.always);
}

/** For finding a choice. */
export function choiceText({ prefix, hostgroup = "", choice }: ProtectionWire): string {
  return [prefix, hostgroup, choice?.profile, choice?.note, choice?.operator, choice?.tenant].join(" ");
}
