/** The buttons that set thresholds, method and never-banned addresses of a hostgroup over the configuration, and take that back. */
import { useState } from "preact/hooks";
import type { ConfiguredWire, HostgroupConfigWire } from "../../../src/http/wire/configured.ts";
import type { SettingsAnswerWire } from "../../../src/http/wire/group-settings.ts";
import { command } from "../../api/client.ts";
import { lookAt } from "../../api/look.ts";
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
import { CommandButton, DialogButton } from "../../parts/command-button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { showOutcome } from "../../parts/outcome.tsx";
import {
  isSet,
  SETTINGS_METHODS,
  type SettingsForm,
  settingsForm,
  settingsOrder,
  thresholdLabel,
} from "../../text/group-settings.ts";
import { settingsText } from "../../text/settings.ts";

interface GroupProps {
  readonly group: HostgroupConfigWire;
  readonly onChanged: () => void;
}

export function GroupSettingsButtons({ group, onChanged }: GroupProps) {
  if (!isUnscoped()) return null;
  return (
    <div class="panel-actions">
      <DialogButton
        label={t`Change the settings of ${group.name}`}
        text={t`Change …`}
        dialog={(onClose) => <SetDialog {...{ group, onChanged, onClose }} />}
      />
      {group.settings !== undefined && <ResetButton group={group} settings={group.settings} onChanged={onChanged} />}
    </div>
  );
}

function SetDialog({ group, onChanged, onClose }: GroupProps & { readonly onClose: () => void }) {
  const { name } = group;
  const [form, setForm] = useState(() => settingsForm(group));
  const order = settingsOrder(form);
  return (
    <Confirm<SettingsAnswerWire>
      title={t`Change the settings of ${name}`}
      verb={t`Change`}
      isDangerous
      asksReason
      act={(given) =>
        Object.keys(order).length === 0 && group.settings !== undefined
          ? command(pathOf(name), given, "DELETE")
          : command(pathOf(name), { ...order, ...given }, "PUT")
      }
      look={lookAt<ConfiguredWire>("/api/v1/config", (configured) => isSet(name, order, configured))}
      onFound={onChanged}
      onDone={(answer) => changed(answer, onChanged)}
      onClose={onClose}
    >
      <Fields group={group} form={form} onChange={(changes) => setForm((was) => ({ ...was, ...changes }))} />
    </Confirm>
  );
}

interface FieldsProps {
  readonly group: HostgroupConfigWire;
  readonly form: SettingsForm;
  readonly onChange: (changes: Partial<SettingsForm>) => void;
}

function Fields({ group, form, onChange }: FieldsProps) {
  const inForce: Readonly<Record<string, number>> = group.thresholds;
  return (
    <>
      <p>{t`An empty field stays as the configuration says. It takes effect at once.`}</p>
      <div class="filters">
        {Object.entries(form.thresholds).map(([metric, value]) => (
          <TextField
            key={metric}
            label={thresholdLabel(metric)}
            value={value}
            onInput={(text) => onChange({ thresholds: { ...form.thresholds, [metric]: text } })}
            placeholder={String(inForce[metric] ?? "")}
          />
        ))}
      </div>
      <ChoiceField
        label={t`Method`}
        value={form.mitigation}
        options={SETTINGS_METHODS}
        onChange={(mitigation) => onChange({ mitigation })}
      />
      <TextField
        label={t`Never banned`}
        value={form.spared}
        onInput={(spared) => onChange({ spared })}
        placeholder="203.0.113.7, 203.0.113.16/28"
      />
    </>
  );
}

interface ResetProps extends GroupProps {
  readonly settings: NonNullable<HostgroupConfigWire["settings"]>;
}

function ResetButton({ group: { name }, settings, onChanged }: ResetProps) {
  return (
    <CommandButton<SettingsAnswerWire>
      label={t`Take back the settings of ${name}`}
      text={t`Take back …`}
      title={t`Take back the settings of ${name}?`}
      verb={t`Take back`}
      isDangerous
      asksReason
      act={(given) => command(pathOf(name), given, "DELETE")}
      look={lookAt<ConfiguredWire>("/api/v1/config", (configured) => isSet(name, {}, configured))}
      onFound={onChanged}
      onDone={(answer) => changed(answer, onChanged)}
    >
      <p>{t`The hostgroup follows the configuration again. Set until now: ${settingsText(settings)}.`}</p>
    </CommandButton>
  );
}

function pathOf(name: string): string {
  return `/api/v1/hostgroups/${encodeURIComponent(name)}/settings`;
}

function changed({ hostgroup, changes }: SettingsAnswerWire, onChanged: () => void): void {
  onChanged();
  showOutcome(changes.length === 0 ? t`Hostgroup ${hostgroup}: nothing changed.` : t`Changed: ${changes.join("; ")}.`);
}
