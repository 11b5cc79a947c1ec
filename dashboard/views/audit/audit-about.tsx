/** The subjects of a row of the audit trail, as links: the ban, the attack, the source blocks, the zone. */
import type { AuditEventWire } from "../../../src/http/wire/audit.ts";
import { serviceNow } from "../../api/contact.ts";
import { attacks, bans } from "../../api/live.ts";
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
        <a href={linkTo(["mitigation"], query)} aria-label={`Source blocks of ${target.replace("->", " to ")}`}>
          source blocks
        </a>
      );
    }
    case "edge_challenge":
      return (
        <a href={linkTo(["edge", "zones", target])} aria-label={`Zone ${target}`}>
          zone
        </a>
      );
    case "protection":
      return <a href={linkTo(["mitigation"], { which: "protection" })}>protection</a>;
    case "packet_download": {
      const id = downloadedAttack(event);
      return id === null ? <>–</> : <a href={linkTo(["attacks", id])}>attack</a>;
    }
    case "filter_rule":
      return (
        <a href={linkTo(["mitigation"], { which: "rules", q: target })} aria-label={`The filter rule ${target}`}>
          rule
        </a>
      );
    case "incident":
      return <a href={linkTo(["incidents", target])}>incident</a>;
    case "maintenance":
      return <a href={linkTo(["mitigation"], { which: "maintenance" })}>windows</a>;
    case "config_reload":
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
        <a href={linkTo(["mitigation", ban.prefix, ban.started_at])} aria-label={`The ban of ${target}`}>
          ban
        </a>
      )}
      {ban !== undefined && (attack !== undefined || type === "host") && ", "}
      {attack !== undefined ? (
        <a href={linkTo(["attacks", attack.id])} aria-label={`The attack on ${target}`}>
          attack
        </a>
      ) : (
        type === "host" && (
          <a
            href={linkTo(["attacks"], attacksAfter(event, serviceNow()))}
            aria-label={`Attacks on ${target} that ended after it`}
          >
            attacks
          </a>
        )
      )}
      {ban === undefined && attack === undefined && type !== "host" && "–"}
    </>
  );
}
