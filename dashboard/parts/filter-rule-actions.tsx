/** The buttons to order a rule for the data plane and to remove it, with their dialogs. Hidden from callers who may not use them. */
import { useRef, useState } from "preact/hooks";
import { FILTER_RULE_REASON_MAX, FILTER_RULE_SECONDS_MAX } from "../../src/limits.ts";
import { type Answer, command, read } from "../api/client.ts";
import { ifStill } from "../api/if-still.ts";
import { lookAt } from "../api/look.ts";
import { t } from "../language.ts";
import { type FieldFault, fieldFault } from "../text/failure.ts";
import {
  actionText,
  EMPTY_RULE,
  FILTER_RULES_PATH,
  type FilterRulesWire,
  type FilterRuleWire,
  filterRulePath,
  HANDSHAKE_CHOICES,
  moreFault,
  PROTOCOL_CHOICES,
  RULE_WHENS,
  type RuleForm,
  ruleOrder,
  ruleWhenText,
} from "../text/filter-rules.ts";
import { momentText } from "../text/format/times.ts";
import { nameAgainText, needsName } from "../text/order-effect.ts";
import { CommandButton, DialogButton } from "./command-button.tsx";
import { Confirm } from "./dialog.tsx";
import { ChoiceField, TextField, type TextFieldProps } from "./field.tsx";
import { RuleEffect, useRulePreview, useTypedFor } from "./order-effect.tsx";
import { showOutcome, type Undo } from "./outcome.tsx";

interface OrderRuleProps {
  /** Names of the prefix sets. */
  readonly sets: readonly string[];
  readonly onChanged: () => void;
}

export function OrderRuleButton(props: OrderRuleProps) {
  return (
    <DialogButton
      label={t`Add rule to the filter rules`}
      text={t`Add rule …`}
      dialog={(onClose) => <OrderRuleDialog {...props} onClose={onClose} />}
    />
  );
}

const ACTIONS = [
  ["drop", t`Drop`],
  ["limit", t`Limit`],
  ["pass", t`Pass`],
] as const;
const PERS = [
  ["source", t`Each source`],
  ["all", t`All together`],
] as const;
const EFFECTS = [
  ["acts", t`Acts`],
  ["counts", t`Only counts`],
] as const;

const named = <Value extends string>(values: readonly Value[]) =>
  values.map((value) => [value, value === "" ? t`any` : value] as const);
const PROTOCOLS = named(PROTOCOL_CHOICES);
const HANDSHAKES = named(HANDSHAKE_CHOICES);

/** The field at which a refusal of a key of the order is shown. */
const FIELD_OF_KEY: Readonly<Record<string, keyof RuleForm>> = {
  name: "name",
  packets_per_second: "packets",
  mbps: "mbps",
  destinations: "destinations",
  source: "source",
  source_sets: "sets",
  ports: "ports",
  source_ports: "sourcePorts",
  payload: "payload",
  ttl_seconds: "seconds",
  reason: "reason",
};

type TextKey = "name" | "packets" | "mbps" | "destinations" | "source" | "sets" | "ports" | "sourcePorts" | "payload";

/** The order of a rule, whose name must be typed once more where it would drop traffic that is in no attack. */
function useConfirmedOrder(form: RuleForm) {
  const { again, setAgain } = useTypedFor(JSON.stringify({ ...form, reason: "" }));
  const name = form.name.trim();
  const { shown, ask } = useRulePreview(form);
  const isRequested = name !== "" && needsName(form, shown?.kind === "answer" ? shown.data : null);
  const order = async (): Promise<Answer<FilterRuleWire>> => {
    // The shown effect may be of other fields, or still on its way.
    const now = await ask();
    const isNeeded = needsName(form, now.kind === "answer" ? now.data : null);
    if (isNeeded && again.trim() !== name) return { kind: "refused", status: 0, text: nameAgainText(name), body: null };
    return command(FILTER_RULES_PATH, ruleOrder(form));
  };
  const field = isRequested && (
    <TextField
      label={t`Confirmation`}
      value={again}
      onInput={setAgain}
      hint={nameAgainText(name)}
      fault={again.trim() === "" || again.trim() === name ? null : t`This is another name.`}
      isRequired
    />
  );
  return { shown, order, field };
}

// A key that has no field of its own is one of the others.
function fieldOf({ field }: FieldFault, form: RuleForm): keyof RuleForm | null {
  return FIELD_OF_KEY[field] ?? (form.more.trim() === "" ? null : "more");
}

function OrderRuleDialog({ sets, onChanged, onClose }: OrderRuleProps & { readonly onClose: () => void }) {
  const [form, setForm] = useState<RuleForm>(EMPTY_RULE);
  const [fault, setFault] = useState<FieldFault | null>(null);
  const { shown, order, field } = useConfirmedOrder(form);
  /** null: not known. */
  const wasThere = useRef<boolean | null>(null);
  return (
    <Confirm<FilterRuleWire>
      title={t`Add a filter rule`}
      verb={t`Add rule`}
      isDangerous
      act={async () => {
        const before = await read<FilterRulesWire>(FILTER_RULES_PATH);
        const name = form.name.trim();
        wasThere.current = before.kind === "answer" ? before.data.rules.some((rule) => rule.name === name) : null;
        return order();
      }}
      look={ruleLook(form.name.trim(), (rule) => rule !== undefined)}
      onFound={onChanged}
      onRefused={(failure) => {
        const found = fieldFault(failure);
        setFault(found);
        return found !== null && fieldOf(found, form) !== null;
      }}
      onDone={(rule) => {
        onChanged();
        // One that replaced another has no inverse: what that matched is not known here.
        showOutcome(orderedText(rule), wasThere.current === false ? undoOf(rule, onChanged) : null);
      }}
      onClose={onClose}
    >
      <RuleFields
        form={form}
        fault={fault}
        sets={sets}
        onChange={(changes) => setForm((before) => ({ ...before, ...changes }))}
      />
      <p>{t`It is tried before all other rules. All that is filled in must match.`}</p>
      <RuleEffect shown={shown} />
      {field}
    </Confirm>
  );
}

function undoOf({ name, created_at: at }: FilterRuleWire, onDone: () => void): Undo {
  return {
    label: t`Undo the rule ${name}`,
    act: () =>
      ifStill<FilterRulesWire, unknown>(
        FILTER_RULES_PATH,
        ({ rules }) => rules.some((rule) => rule.name === name && rule.created_at === at),
        () => command(filterRulePath(name), { reason: "undo of the order" }, "DELETE"),
      ),
    onDone,
  };
}

interface RuleFieldsProps {
  readonly form: RuleForm;
  readonly fault: FieldFault | null;
  readonly sets: OrderRuleProps["sets"];
  readonly onChange: (changes: Partial<RuleForm>) => void;
}

function RuleFields({ form, fault, sets, onChange: change }: RuleFieldsProps) {
  const faultOf = (key: keyof RuleForm) => {
    if (fault === null || fieldOf(fault, form) !== key) return null;
    return key === "more" ? `${fault.field}: ${fault.rule}` : fault.rule;
  };
  const text = (key: TextKey, label: string, rest: Partial<TextFieldProps> = {}) => (
    <TextField
      label={label}
      value={form[key]}
      onInput={(value) => change({ [key]: value })}
      fault={faultOf(key)}
      {...rest}
    />
  );
  return (
    <>
      <div class="filters">
        {text("name", t`Name`, { placeholder: "no-chargen", isRequired: true })}
        <ChoiceField
          label={t`Action`}
          value={form.action}
          options={ACTIONS}
          onChange={(action) => change({ action })}
        />
        <ChoiceField label={t`When`} value={form.when} options={RULE_WHENS} onChange={(when) => change({ when })} />
        <ChoiceField
          label={t`Effect`}
          value={form.effect}
          options={EFFECTS}
          onChange={(effect) => change({ effect })}
        />
      </div>
      {form.action === "limit" && (
        <div class="filters">
          {text("packets", t`Packets per second`, { placeholder: "20" })}
          {text("mbps", t`Mbit/s`)}
          <ChoiceField label={t`Of`} value={form.per} options={PERS} onChange={(per) => change({ per })} />
        </div>
      )}
      {text("destinations", t`Destinations`, {
        placeholder: "203.0.113.7, 203.0.113.16/28",
        hint: t`Empty: all networks.`,
      })}
      <div class="filters">
        {text("source", t`Source`, { placeholder: "198.51.100.0/24" })}
        {text("sets", t`Source in prefix sets`, { offered: sets })}
      </div>
      <div class="filters">
        <ChoiceField
          label={t`Protocol`}
          value={form.protocol}
          options={PROTOCOLS}
          onChange={(protocol) => change({ protocol })}
        />
        {text("ports", t`Ports`, { placeholder: "443, 27000-27050" })}
        {text("sourcePorts", t`Source ports`, { placeholder: "19" })}
        <ChoiceField
          label={t`Handshake`}
          value={form.handshake}
          options={HANDSHAKES}
          onChange={(handshake) => change({ handshake })}
        />
      </div>
      {text("payload", t`Payload`, { placeholder: t`ffffffff 54`, hint: t`Hexadecimal; with an offset as 4: 54.` })}
      <TextField
        label={t`Other keys of filter_rules, as JSON`}
        value={form.more}
        onInput={(more) => change({ more })}
        placeholder='{"ttl": "1-5"}'
        fault={moreFault(form) ?? faultOf("more")}
      />
      <div class="filters">
        <TextField
          label={t`Seconds`}
          type="number"
          value={form.seconds}
          onInput={(seconds) => change({ seconds })}
          placeholder={t`1 to ${FILTER_RULE_SECONDS_MAX}`}
          fault={faultOf("seconds")}
          isRequired
        />
        <TextField
          label={t`Reason`}
          value={form.reason}
          onInput={(reason) => change({ reason })}
          maxLength={FILTER_RULE_REASON_MAX}
          fault={faultOf("reason")}
        />
      </div>
    </>
  );
}

interface RemoveRuleProps {
  readonly name: string;
  readonly onChanged: () => void;
}

export function RemoveRuleButton({ name, onChanged }: RemoveRuleProps) {
  return (
    <CommandButton<FilterRuleWire>
      label={t`Remove the rule ${name}`}
      text={t`Remove …`}
      title={t`Remove the rule ${name}?`}
      verb={t`Remove`}
      isDangerous
      asksReason
      act={(given) => command(filterRulePath(name), given, "DELETE")}
      look={ruleLook(name, (rule) => rule === undefined)}
      onFound={onChanged}
      onDone={() => {
        onChanged();
        showOutcome(t`The rule ${name} is removed.`);
      }}
    >
      <p>{t`What it matched is judged by the rules that follow.`}</p>
    </CommandButton>
  );
}

function ruleLook(name: string, isSo: (rule: FilterRuleWire | undefined) => boolean) {
  return lookAt<FilterRulesWire>(FILTER_RULES_PATH, ({ rules }) => isSo(rules.find((rule) => rule.name === name)));
}

function orderedText(rule: FilterRuleWire): string {
  const { name, expires_at: at } = rule;
  const until = at === undefined ? "" : t` until ${momentText(Date.parse(at), Date.now())}`;
  return `${name}: ${actionText(rule)} ${ruleWhenText(rule)}${until}${rule.dry_run ? t`, only counted: nothing is dropped` : ""}.`;
}
