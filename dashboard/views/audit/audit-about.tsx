/** The subjects of a row of the audit trail, as links: the ban, the attack, the source blocks, the zone. */
import type { AuditEventWire } from "../../../src/http/wire/audit.ts";
import { serviceNow } from "../../api/contact.ts";
import { attacks, bans } from "../../api/live.ts";
import { t } from "../../language.ts";
import { linkTo } from "../../router.ts";
import { attackOfEvent, attacksAfter, banOfEvent, downloadedAttack } from "../../text/audit-links.ts";

export function AuditAbout({ event }: { readonly event: AuditEventWire }) {
  const { action, target } = event;
  if (target === "") return <>–</>;
  switch (action) {
    case "ban":
    case "unban":
      return <BanAndAttack event={event} />;
    case "source_block":
    case "source_unblock": {
      const query = { kind: "block", q: target.replace("->", " ") };
      return (
        <a
          href={linkTo(["mitigation"], query)}
          aria-label={t`Source blocks of ${target.replace("->", " → ")}`}
        >{t`source blocks`}</a>
      );
    }
    case "edge_challenge":
      return <a href={linkTo(["edge", "zones", target])} aria-label={t`Zone ${target}`}>{t`zone`}</a>;
    case "protection":
      return <a href={linkTo(["mitigation"], { which: "protection" })}>{t`protection`}</a>;
    case "packet_download": {
      const id = downloadedAttack(event);
      return id === null ? <>–</> : <a href={linkTo(["attacks", id])}>{t`attack`}</a>;
    }
    case "filter_rule":
      return (
        <a
          href={linkTo(["mitigation"], { which: "rules", q: target })}
          aria-label={t`The filter rule ${target}`}
        >{t`rule`}</a>
      );
    case "incident":
      return <a href={linkTo(["incidents", target])}>{t`incident`}</a>;
    case "maintenance":
      return <a href={linkTo(["mitigation"], { which: "maintenance" })}>{t`windows`}</a>;
    case "hostgroup_settings":
      return <a href={linkTo(["settings", target])}>{t`hostgroup`}</a>;
    case "notify_test":
    case "notify_target":
    case "config_reload":
    case "shared_link":
    case "sign_in":
      return <>–</>;
    default:
      return action satisfies never;
  }
}

/** Neither may be in the lists any more: then the attacks of that time are read from the history. */
function BanAndAttack({ event }: { readonly event: AuditEventWire }) {
  const { target, target_type: type } = event;
  const ban = bans.value.kind === "ready" ? banOfEvent(event, bans.value.data) : undefined;
  const { active, recent } = attacks.value.kind === "ready" ? attacks.value.data : { active: [], recent: [] };
  const attack = attackOfEvent(event, active) ?? attackOfEvent(event, recent);
  return (
    <>
      {ban !== undefined && (
        <a href={linkTo(["mitigation", ban.prefix, ban.started_at])} aria-label={t`The ban of ${target}`}>{t`ban`}</a>
      )}
      {ban !== undefined && (attack !== undefined || type === "host") && ", "}
      {attack !== undefined ? (
        <a href={linkTo(["attacks", attack.id])} aria-label={t`The attack on ${target}`}>{t`attack`}</a>
      ) : (
        type === "host" && (
          <a
            href={linkTo(["attacks"], attacksAfter(event, serviceNow()))}
            aria-label={t`Attacks on ${target} that ended after it`}
          >{t`attacks`}</a>
        )
      )}
      {ban === undefined && attack === undefined && type !== "host" && "–"}
    </>
  );
}
