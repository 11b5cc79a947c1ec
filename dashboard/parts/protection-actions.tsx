/**
 * The buttons to choose the protection of a prefix and to remove the choice, with their dialogs. Hidden from callers who
 * may not use them.
 */
import { useState } from "preact/hooks";
import type { ProtectionsWire, ProtectionWire } from "../../src/http/wire/protection.ts";
import { PROTECTION_NOTE_MAX } from "../../src/limits.ts";
import { command } from "../api/client.ts";
import { lookAt } from "../api/look.ts";
import { useResource } from "../api/resource.ts";
import { t } from "../language.ts";
import { type FieldFault, fieldFault } from "../text/failure.ts";
import { looksLikeAddress } from "../text/format/address.ts";
import { packetRate, percent } from "../text/format/numbers.ts";
import {
  filterFacts,
  maySayWhen,
  PROTECTION_PATH,
  profileText,
  protectionOrder,
  protectionPath,
  receivesText,
  sourceText,
  WHENS,
  type When,
  whenOf,
  whenText,
} from "../text/protection.ts";
import { Button } from "./button.tsx";
import { CommandButton, DialogButton } from "./command-button.tsx";
import { Confirm, Dialog } from "./dialog.tsx";
import { ChoiceField, TextField } from "./field.tsx";
import { showOutcome, type Undo } from "./outcome.tsx";
import { Facts } from "./panel.tsx";
import { Show } from "./show.tsx";

interface ProtectButtonProps {
  /** Absent: the dialog asks for it. */
  readonly prefix?: string;
  /** The choice for exactly this prefix. */
  readonly choice?: ProtectionWire["choice"];
  readonly onChanged: () => void;
}

export function ProtectButton(props: ProtectButtonProps) {
  const { prefix } = props;
  return (
    <DialogButton
      label={prefix === undefined ? t`Set profile of a prefix` : t`Change the protection of ${prefix}`}
      text={prefix === undefined ? t`Set profile …` : t`Change …`}
      dialog={(onClose) => <ProtectDialog {...props} onClose={onClose} />}
    />
  );
}

type DialogProps = ProtectButtonProps & { readonly onClose: () => void };

/** Which profiles there are is read when it opens. */
function ProtectDialog(props: DialogProps) {
  const { value } = useResource<ProtectionsWire>(PROTECTION_PATH, 0).state;
  if (value.kind === "ready" && value.data.profiles.length > 0) return <ProtectForm {...props} known={value.data} />;
  return (
    <Dialog title={t`Set a protection profile`} onClose={props.onClose}>
      <Show loaded={value} what={t`profiles`}>
        {() => <p>{t`Nothing may be chosen here: ask your operator for selectable profiles.`}</p>}
      </Show>
      <div class="dialog-buttons">
        <Button onClick={props.onClose}>{t`Close`}</Button>
      </div>
    </Dialog>
  );
}

function ProtectForm({ known, onChanged, onClose, ...first }: DialogProps & { readonly known: ProtectionsWire }) {
  const { profiles } = known;
  const [prefix, setPrefix] = useState(first.prefix ?? "");
  const [name, setName] = useState(first.choice?.profile ?? "");
  const [when, setWhen] = useState<When>(whenOf(first.choice));
  const [note, setNote] = useState(first.choice?.note ?? "");
  const [fault, setFault] = useState<FieldFault | null>(null);
  const profile = profiles.find((each) => each.name === name) ?? profiles[0];
  if (profile === undefined) return null;
  const order = protectionOrder({ profile: profile.name, when, note });
  return (
    <Confirm<ProtectionWire>
      title={t`Set a protection profile`}
      verb={t`Set profile`}
      act={() => command(protectionPath(prefix.trim()), order, "PUT")}
      look={lookAt<ProtectionWire>(
        () => protectionPath(prefix.trim()),
        ({ choice }) => choice?.profile === profile.name && choice.note === note,
      )}
      onFound={onChanged}
      onRefused={(failure) => {
        const found = fieldFault(failure);
        setFault(found);
        return found !== null && ["prefix", "ip", "note"].includes(found.field);
      }}
      onDone={(done) => {
        onChanged();
        // A choice that replaced another has no inverse: that may have been another operator's, or a tenant's.
        showOutcome(doneText(done), wasChosen(known, done) ? null : undoOf(done, onChanged));
      }}
      onClose={onClose}
    >
      <TextField
        label={t`Address or prefix`}
        value={prefix}
        onInput={setPrefix}
        placeholder="203.0.113.0/28"
        hint={t`Within one hostgroup. The longest prefix decides.`}
        fault={fault?.field === "prefix" || fault?.field === "ip" ? fault.rule : null}
        isRequired
      />
      <div class="filters">
        <ChoiceField
          label={t`Profile`}
          value={profile.name}
          options={profiles.map((each) => [each.name, each.name] as const)}
          onChange={setName}
        />
        {maySayWhen(known) && <ChoiceField label={t`When`} value={when} options={WHENS} onChange={setWhen} />}
      </div>
      <Facts facts={filterFacts(profile.filter)} />
      {isPrefix(prefix) && <Received prefix={prefix.trim()} />}
      <TextField
        label={t`Note`}
        value={note}
        onInput={setNote}
        maxLength={PROTECTION_NOTE_MAX}
        fault={fault?.field === "note" ? fault.rule : null}
      />
    </Confirm>
  );
}

/** An address, or a prefix. */
function isPrefix(text: string): boolean {
  const [address = "", length, ...more] = text.trim().split("/");
  return looksLikeAddress(address) && (length === undefined || /^\d{1,3}$/.test(length)) && more.length === 0;
}

/** The traffic that the choice is for. */
function Received({ prefix }: { readonly prefix: string }) {
  const { value } = useResource<ProtectionWire>(protectionPath(prefix), 0).state;
  if (value.kind !== "ready") return null;
  const { receives } = value.data;
  if (receives === undefined) return <p class="muted">{t`What it receives now is not known.`}</p>;
  const { attacked_share: attacked } = receives;
  return (
    <Facts
      facts={[
        [t`Receives now`, `${packetRate(receives.pps)}: ${receivesText(receives)}`],
        ...(attacked > 0 ? [[t`To attacked hosts`, percent(attacked)] as const] : []),
      ]}
    />
  );
}

function wasChosen({ protections }: ProtectionsWire, { choice }: ProtectionWire): boolean {
  return choice === undefined || protections.some((each) => each.choice?.prefix === choice.prefix);
}

function undoOf({ prefix, choice }: ProtectionWire, onDone: () => void): Undo {
  const chosen = choice?.prefix ?? prefix;
  return {
    label: t`Undo the profile of ${chosen}`,
    act: () => command(protectionPath(chosen), { reason: "undo of the choice" }, "DELETE"),
    onDone,
  };
}

export function UnprotectButton({ prefix, onChanged }: { readonly prefix: string; readonly onChanged: () => void }) {
  return (
    <CommandButton<ProtectionWire>
      label={t`Remove the choice for ${prefix}`}
      text={t`Remove …`}
      title={t`Remove the choice for ${prefix}?`}
      verb={t`Remove`}
      isDangerous
      asksReason
      act={(given) => command(protectionPath(prefix), given, "DELETE")}
      look={lookAt<ProtectionWire>(protectionPath(prefix), ({ choice }) => choice?.prefix !== prefix)}
      onFound={onChanged}
      onDone={(done) => {
        onChanged();
        showOutcome(doneText(done));
      }}
    >
      <p>{t`A choice for a shorter prefix decides then, or the configuration.`}</p>
    </CommandButton>
  );
}

function doneText(done: ProtectionWire): string {
  const { prefix, setting } = done;
  if (setting === undefined) return t`The choice for ${prefix} is removed.`;
  return t`${prefix}: ${profileText(setting)}, by ${sourceText(done)}, ${whenText(done)}.`;
}
