/** The buttons to order a rule for the data plane and to remove it, with their dialogs. Hidden from callers who may not use them. */
import { useState } from "preact/hooks";
import { FILTER_RULE_REASON_MAX, FILTER_RULE_SECONDS_MAX } from "../../src/limits.ts";
import { command } from "../api/client.ts";
import { mayAct } from "../api/session.ts";
import {
  actionText,
  EMPTY_RULE,
  FILTER_RULES_PATH,
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
import { Button } from "./button.tsx";
import { CommandButton } from "./command-button.tsx";
import { Confirm } from "./dialog.tsx";
import { ChoiceField, TextField, type TextFieldProps } from "./field.tsx";
import { showOutcome } from "./outcome.tsx";

interface OrderRuleProps {
  /** Names of the prefix sets. */
  readonly sets: readonly string[];
  readonly onChanged: () => void;
}

export function OrderRuleButton(props: OrderRuleProps) {
  const [isOpen, setOpen] = useState(false);
  if (!mayAct()) return null;
  return (
    <>
      <Button label="Order a filter rule" onClick={() => setOpen(true)}>
        Order …
      </Button>
      {isOpen && <OrderRuleDialog {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

const ACTIONS = [
  ["drop", "Drop"],
  ["limit", "Limit"],
  ["pass", "Pass"],
] as const;
const PERS = [
  ["source", "Each source"],
  ["all", "All together"],
] as const;
const EFFECTS = [
  ["acts", "Acts"],
  ["counts", "Only counts"],
] as const;

const named = <Value extends string>(values: readonly Value[]) =>
  values.map((value) => [value, value === "" ? "any" : value] as const);
const PROTOCOLS = named(PROTOCOL_CHOICES);
const HANDSHAKES = named(HANDSHAKE_CHOICES);

type TextKey = "name" | "packets" | "mbps" | "destinations" | "source" | "sets" | "ports" | "sourcePorts" | "payload";

function OrderRuleDialog({ sets, onChanged, onClose }: OrderRuleProps & { readonly onClose: () => void }) {
  const [form, setForm] = useState<RuleForm>(EMPTY_RULE);
  const change = (changes: Partial<RuleForm>) => setForm((before) => ({ ...before, ...changes }));
  const text = (key: TextKey, label: string, rest: Partial<TextFieldProps> = {}) => (
    <TextField label={label} value={form[key]} onInput={(value) => change({ [key]: value })} {...rest} />
  );
  return (
    <Confirm<FilterRuleWire>
      title="Order a filter rule"
      verb="Order"
      isDangerous
      act={() => command(FILTER_RULES_PATH, ruleOrder(form))}
      onDone={(rule) => {
        onChanged();
        showOutcome(orderedText(rule));
      }}
      onClose={onClose}
    >
      <div class="filters">
        {text("name", "Name", { placeholder: "no-chargen", isRequired: true })}
        <ChoiceField label="Action" value={form.action} options={ACTIONS} onChange={(action) => change({ action })} />
        <ChoiceField label="When" value={form.when} options={RULE_WHENS} onChange={(when) => change({ when })} />
        <ChoiceField label="Effect" value={form.effect} options={EFFECTS} onChange={(effect) => change({ effect })} />
      </div>
      {form.action === "limit" && (
        <div class="filters">
          {text("packets", "Packets per second", { placeholder: "20" })}
          {text("mbps", "Mbit/s")}
          <ChoiceField label="Of" value={form.per} options={PERS} onChange={(per) => change({ per })} />
        </div>
      )}
      {text("destinations", "Destinations", {
        placeholder: "203.0.113.7, 203.0.113.16/28",
        hint: "Empty: all networks.",
      })}
      <div class="filters">
        {text("source", "Source", { placeholder: "198.51.100.0/24" })}
        {text("sets", "Source in prefix sets", { offered: sets })}
      </div>
      <div class="filters">
        <ChoiceField
          label="Protocol"
          value={form.protocol}
          options={PROTOCOLS}
          onChange={(protocol) => change({ protocol })}
        />
        {text("ports", "Ports", { placeholder: "443, 27000-27050" })}
        {text("sourcePorts", "Source ports", { placeholder: "19" })}
        <ChoiceField
          label="Handshake"
          value={form.handshake}
          options={HANDSHAKES}
          onChange={(handshake) => change({ handshake })}
        />
      </div>
      {text("payload", "Payload", { placeholder: "ffffffff 54", hint: "Hexadecimal; with an offset as 4: 54." })}
      <TextField
        label="Other keys of filter_rules, as JSON"
        value={form.more}
        onInput={(more) => change({ more })}
        placeholder='{"ttl": "1-5"}'
        fault={moreFault(form)}
      />
      <div class="filters">
        <TextField
          label="Seconds"
          type="number"
          value={form.seconds}
          onInput={(seconds) => change({ seconds })}
          placeholder={`1 to ${FILTER_RULE_SECONDS_MAX}`}
          isRequired
        />
        <TextField
          label="Reason"
          value={form.reason}
          onInput={(reason) => change({ reason })}
          maxLength={FILTER_RULE_REASON_MAX}
        />
      </div>
      <p>It is tried before all other rules. All that is filled in must match.</p>
    </Confirm>
  );
}

interface RemoveRuleProps {
  readonly name: string;
  readonly onChanged: () => void;
}

export function RemoveRuleButton({ name, onChanged }: RemoveRuleProps) {
  return (
    <CommandButton<FilterRuleWire>
      label={`Remove the rule ${name}`}
      text="Remove …"
      title={`Remove the rule ${name}?`}
      verb="Remove"
      isDangerous
      act={() => command(filterRulePath(name), {}, "DELETE")}
      onDone={() => {
        onChanged();
        showOutcome(`The rule ${name} is removed.`);
      }}
    >
      <p>What it matched is judged by the rules that follow.</p>
    </CommandButton>
  );
}

function orderedText(rule: FilterRuleWire): string {
  const { name, expires_at: at } = rule;
  const until = at === undefined ? "" : ` until ${momentText(Date.parse(at), Date.now())}`;
  return `${name}: ${actionText(rule)} ${ruleWhenText(rule)}${until}${rule.dry_run ? ", only counted" : ""}.`;
}
