/** The filters of the audit trail: time range, action and address. Kept in the page's address. */

import { t } from "../../language.ts";
import { ChoiceField } from "../../parts/field.tsx";
import { AddressFilter, SpanFields, spanOf } from "../../parts/span-fields.tsx";
import { setQuery } from "../../router.ts";
import { AUDIT_ACTIONS, type AuditFilters, actionOf } from "../../text/audit.ts";

export function filtersOf(query: URLSearchParams): AuditFilters {
  const target = query.get("target") ?? "";
  return { action: actionOf(query.get("action")), target: target === "" ? null : target, span: spanOf(query) };
}

interface AuditFilterFieldsProps {
  readonly filters: AuditFilters;
  /** Called for each field that may be wrong, when that changes. */
  readonly onWrong: (field: "span" | "target", isWrong: boolean) => void;
}

export function AuditFilterFields({ filters: { action, span, target }, onWrong }: AuditFilterFieldsProps) {
  return (
    <div class="filters">
      <SpanFields span={span} onWrong={(isWrong) => onWrong("span", isWrong)}>
        <ChoiceField
          label={t`Action`}
          value={action ?? ""}
          options={[["", t`All`], ...Object.entries(AUDIT_ACTIONS)]}
          onChange={(chosen) => setQuery({ action: chosen })}
        />
        <AddressFilter target={target ?? ""} onWrong={(isWrong) => onWrong("target", isWrong)} />
      </SpanFields>
    </div>
  );
}
