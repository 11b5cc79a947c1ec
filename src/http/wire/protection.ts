/** The protection of a prefix, and the request to choose a profile for it (docs/interface.md#protection). */

import { type Static, Type } from "@sinclair/typebox";
import type { Principal } from "../../access/principal.ts";
import { PROTECTION_NOTE_MAX } from "../../limits.ts";
import type { InactiveCause, JudgedChoice } from "../../mitigation/protection/choice.ts";
import type { ProtectionOrder, ProtectionView } from "../../mitigation/protection/protections.ts";
import type { ReceivedServices } from "../../mitigation/protection/received-services.ts";
import { filterWords } from "../../mitigation/scrub/filter-words.ts";
import type { ScrubConfig, Selectable } from "../../mitigation/scrub/scrub-config.ts";
import type { ScrubFilter } from "../../mitigation/scrub/scrub-filter.ts";
import { closedObject, oneOf } from "../../schema/schema-forms.ts";
import { Timestamp, timestamp } from "../../schema/timestamp.ts";
import { round } from "../../traffic/rates.ts";
import type { Configured } from "../backend.ts";
import { type FieldCheck, fieldCheck } from "../server/fields.ts";
import { omitNulls } from "./omit-nulls.ts";
import { plainTextFault } from "./plain-text.ts";
import { KEPT_FIELDS, SETTLED, savedToWire } from "./saved.ts";

export type ProtectionRequest = Pick<ProtectionOrder, "profile" | "always" | "note">;

const ProtectionFields = closedObject({
  profile: Type.String({ minLength: 1 }),
  /** Absent: as a choice with a shorter prefix around it says, else the configuration. */
  always: Type.Optional(Type.Boolean()),
  note: Type.Optional(Type.String({ maxLength: PROTECTION_NOTE_MAX })),
});
const fields = fieldCheck(
  closedObject({ profile: Type.String(), always: Type.Optional(Type.Boolean()), note: Type.Optional(Type.String()) }),
);

export const protectionCheck: FieldCheck<ProtectionRequest> = {
  schema: ProtectionFields,
  check(value) {
    const checked = fields.check(value);
    if (checked.kind !== "fields") return checked;
    const { profile, always = null, note: words = "" } = checked.fields;
    // Half of a surrogate pair would be stored as another character by the databases.
    const note = words.toWellFormed();
    const fault = plainTextFault("note", note, PROTECTION_NOTE_MAX);
    if (fault !== null) return { kind: "invalid_body", detail: fault };
    return { kind: "fields", fields: { profile, always, note } };
  },
};

const FilterWire = closedObject({
  /** Services; all else is dropped. Absent: any traffic. */
  allowed: Type.Optional(Type.Array(Type.String())),
  validators: Type.Array(Type.String()),
  limits: Type.Array(Type.String()),
  /** Nothing is dropped or answered, and counted what would be. */
  counts_only: Type.Optional(Type.Literal(true)),
});

const SettingWire = closedObject({
  /** Absent: none, only keys of the configuration. */
  profile: Type.Optional(Type.String()),
  always: Type.Boolean(),
  filter: FilterWire,
});

const SelectableWire = closedObject({ profiles: Type.Array(Type.String()), always: Type.Boolean() });

const ChoiceWire = closedObject({
  prefix: Type.String(),
  profile: Type.String(),
  /** Absent: not said, as in the request. */
  always: Type.Optional(Type.Boolean()),
  /** Absent for tenants where an operator chose. */
  note: Type.Optional(Type.String()),
  chosen_by: oneOf("operator", "tenant"),
  tenant: Type.Optional(Type.String()),
  /** Name of the token; absent on an open API, and for tenants where an operator chose. */
  operator: Type.Optional(Type.String()),
  chosen_at: Timestamp,
  active: Type.Boolean(),
  /** Why it is without effect. */
  cause: Type.Optional(Type.String()),
});

const RATES = { pps: Type.Number(), mbps: Type.Number() };
/** Traffic that its hosts received in the last minute. */
const ReceivesWire = closedObject({
  headers: Type.Integer(),
  seconds: Type.Number(),
  ...RATES,
  attacked_share: Type.Number({ minimum: 0, maximum: 1 }),
  services: Type.Array(closedObject({ service: Type.String(), ...RATES })),
});

export const ProtectionWire = closedObject({
  prefix: Type.String(),
  /** Absent where the addresses are in no or several hostgroups any more. */
  hostgroup: Type.Optional(Type.String()),
  /** The origin of `setting`. */
  source: Type.Optional(oneOf("configuration", "operator", "tenant")),
  setting: Type.Optional(SettingWire),
  when: Type.Optional(oneOf("always", "attack", "never")),
  /** Why never. */
  cause: Type.Optional(Type.String()),
  configured: Type.Optional(SettingWire),
  /** The choice that decides, or, of one that is without effect, that one. */
  choice: Type.Optional(ChoiceWire),
  /** The profiles that the caller may choose. */
  selectable: Type.Optional(SelectableWire),
  receives: Type.Optional(ReceivesWire),
  ...KEPT_FIELDS,
});
export type ProtectionWire = Static<typeof ProtectionWire>;

export const ProtectionsWire = closedObject({
  protections: Type.Array(ProtectionWire),
  hostgroups: Type.Array(closedObject({ name: Type.String(), setting: SettingWire, selectable: SelectableWire })),
  profiles: Type.Array(closedObject({ name: Type.String(), built_in: Type.Boolean(), filter: FilterWire })),
});
export type ProtectionsWire = Static<typeof ProtectionsWire>;

type Setup = Pick<Configured, "hostgroups" | "mitigations" | "scrubProfiles">;

/** Texts of choices without effect. */
const CAUSES: Readonly<Record<InactiveCause, string>> = {
  not_one_hostgroup: "the prefix is not within one of networks and one hostgroup any more",
  unknown_profile: "the configuration has no such profile any more",
  other_tenant: "the addresses are not of this tenant any more",
  not_selectable: "tenants may not choose this profile any more",
  always_not_selectable: "tenants may not choose any more when a profile applies",
};

export function protectionsToWire(
  views: readonly ProtectionView[],
  setup: Setup,
  principal: Principal,
): ProtectionsWire {
  const { hostgroups, mitigations, scrubProfiles } = setup;
  const { tenant } = principal;
  const own = hostgroups.flatMap(({ name, tenant: owner }, i) => {
    const mitigation = mitigations[i];
    if (mitigation === undefined || (tenant !== null && owner !== tenant)) return [];
    const selectable = selectableOf(mitigation.selectable, setup, principal);
    return [{ name, setting: settingToWire(mitigation.scrub), selectable }];
  });
  const selectable = new Set(own.flatMap((group) => group.selectable.profiles));
  return {
    protections: views.map((view) => protectionToWire(view, setup, principal)),
    hostgroups: own,
    profiles: scrubProfiles
      .filter(({ name }) => selectable.has(name))
      .map(({ name, isBuiltIn, filter }) => ({ name, built_in: isBuiltIn, filter: filterToWire(filter) })),
  };
}

export function protectionToWire(
  { prefix, group, scrub, judged, application }: ProtectionView,
  setup: Setup,
  principal: Principal,
  settled = SETTLED,
): ProtectionWire {
  const mitigation = setup.mitigations[group];
  return omitNulls({
    prefix: prefix.text,
    hostgroup: setup.hostgroups[group]?.name ?? null,
    source: scrub === null ? null : sourceOf(judged),
    setting: scrub === null ? null : settingToWire(scrub),
    when: application?.when ?? null,
    cause: application?.cause ?? null,
    configured: mitigation === undefined ? null : settingToWire(mitigation.scrub),
    choice: judged === null ? null : choiceToWire(judged, principal),
    selectable: mitigation === undefined ? null : selectableOf(mitigation.selectable, setup, principal),
    ...savedToWire(settled),
  });
}

/** null: too little is known. */
export function receivesToWire(received: ReceivedServices | null): Static<typeof ReceivesWire> | null {
  if (received === null) return null;
  const { headers, seconds, total, attackedShare, services } = received;
  const rates = ({ pps, mbps }: { readonly pps: number; readonly mbps: number }) => ({
    pps: round(pps),
    mbps: round(mbps),
  });
  const each = services.map((service) => ({ service: service.service, ...rates(service) }));
  return { headers, seconds: round(seconds), ...rates(total), attacked_share: round(attackedShare), services: each };
}

function sourceOf(judged: JudgedChoice | null): "configuration" | "operator" | "tenant" {
  return judged === null || judged.kind === "inactive" ? "configuration" : chooserOf(judged);
}

function chooserOf({ choice }: JudgedChoice): "operator" | "tenant" {
  return choice.tenant === null ? "operator" : "tenant";
}

/** An operator without a tenant may choose all. */
function selectableOf(selectable: Selectable, { scrubProfiles }: Setup, { tenant }: Principal) {
  if (tenant === null) return { profiles: scrubProfiles.map(({ name }) => name), always: true };
  return { profiles: [...selectable.profiles], always: selectable.isAlways };
}

/** Words and names of the operator are not for tenants. */
function choiceToWire(judged: JudgedChoice, principal: Principal) {
  const { prefix, profile, always, note, operator, tenant, chosenAt } = judged.choice;
  const isOwn = principal.tenant === null || principal.tenant === tenant;
  return omitNulls({
    prefix,
    profile,
    always,
    note: isOwn ? note : null,
    chosen_by: chooserOf(judged),
    tenant,
    operator: isOwn && operator !== "" ? operator : null,
    chosen_at: timestamp(chosenAt),
    active: judged.kind === "active",
    cause: judged.kind === "inactive" ? CAUSES[judged.cause] : null,
  });
}

function settingToWire(scrub: ScrubConfig) {
  return omitNulls({ profile: scrub.profile, always: scrub.isAlways, filter: filterToWire(scrub) });
}

function filterToWire(filter: ScrubFilter): Static<typeof FilterWire> {
  const { allowed, validators, limits } = filterWords(filter);
  return omitNulls({
    allowed: allowed === null ? null : [...allowed],
    validators: [...validators],
    limits: [...limits],
    counts_only: filter.countsOnly ? (true as const) : null,
  });
}
