/** The protection of one host on this machine, its origin, and the button to change it. */
import type { ProtectionWire } from "../../../src/http/wire/protection.ts";
import { useResource } from "../../api/resource.ts";
import { t, tx } from "../../language.ts";
import { Facts, Panel } from "../../parts/panel.tsx";
import { ProtectButton } from "../../parts/protection-actions.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { filterFacts, profileText, protectionPath, sourceText, whenText } from "../../text/protection.ts";

const EVERY_MS = 5000;

export function HostProtection({ target }: { readonly target: string }) {
  const read = useResource<ProtectionWire>(protectionPath(target), EVERY_MS);
  const { value } = read.state;
  // Not the caller's, or in no hostgroup: the other panels say so.
  if (value.kind === "failed" && value.failure.kind === "refused") return null;
  const onChanged = () => void read.refresh();
  const own = value.kind === "ready" && isOfHost(value.data) ? value.data.choice : undefined;
  return (
    <Panel
      title={t`Protection`}
      isWide
      actions={
        value.kind === "ready" && <ProtectButton prefix={target} choice={own} onChanged={onChanged} key={target} />
      }
    >
      <Show loaded={value} what={t`the protection of this host`} onRetry={onChanged}>
        {(protection) => <Shown protection={protection} />}
      </Show>
    </Panel>
  );
}

function isOfHost({ prefix, choice }: ProtectionWire): boolean {
  return choice?.prefix === prefix;
}

function Shown({ protection }: { readonly protection: ProtectionWire }) {
  const { setting, choice, configured } = protection;
  if (setting === undefined) return null;
  return (
    <Facts
      facts={[
        [t`Profile`, profileText(setting)],
        [t`Applies`, whenText(protection)],
        [
          t`Decided by`,
          choice === undefined
            ? t`the configuration`
            : tx`${sourceText(protection)}, for ${<a href={linkTo(["mitigation"], { which: "protection", q: choice.prefix })}>{choice.prefix}</a>}`,
        ],
        choice === undefined || configured === undefined ? null : [t`Configured`, profileText(configured)],
        choice?.note === undefined || choice.note === "" ? null : [t`Note`, choice.note],
        ...filterFacts(setting.filter),
      ]}
    />
  );
}
