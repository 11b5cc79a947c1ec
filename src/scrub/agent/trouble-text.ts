/** Texts and remedies for failures between this node and its controller. Pure. */
import type { PollTrouble } from "./poller.ts";

interface TroubleNames {
  readonly url: string;
  readonly node: string;
  /** The variable that holds the token; null: there is none. */
  readonly tokenEnv: string | null;
  readonly hasToken: boolean;
}

export function troubleText(trouble: PollTrouble, names: TroubleNames): string {
  switch (trouble.kind) {
    case "unreachable":
      return `${names.url} cannot be reached: ${trouble.reason}${unreachableRemedy(trouble.reason)}`;
    case "unusable":
    case "bad_document":
      return `the rule document is unusable, the last good one stays: ${trouble.reason}`;
    case "out_of_bounds":
      return `the rule document is beyond the bounds of this node, the last good one stays: ${trouble.reason}: look whether the service is in wrong hands, or widen bounds`;
    case "refused":
      return refusedText(trouble, names);
    default:
      return trouble satisfies never;
  }
}

/** Error codes of the TLS library name the fault of a certificate. */
function unreachableRemedy(reason: string): string {
  return /CERT|TLS|SELF_SIGNED|UNABLE_TO/.test(reason)
    ? ": its certificate must be valid for this name; controller.ca_file names an authority of your own"
    : "";
}

function refusedText({ status, detail }: Extract<PollTrouble, { kind: "refused" }>, names: TroubleNames): string {
  const { node, tokenEnv, hasToken } = names;
  const answer = `answered ${status}${detail === "" ? "" : ` (${detail})`}`;
  switch (status) {
    case 401:
      if (tokenEnv === null)
        return `${answer}: the service requires a token: name its variable in controller.token_env`;
      return hasToken
        ? `${answer}: the secret in ${tokenEnv} matches no token of the service`
        : `${answer}: the environment variable ${tokenEnv} is not set`;
    case 403:
      return `${answer}: the token must have the role agent, and be bound to ${node} or to no node`;
    case 404:
      return `${answer}: ${node} must be a name in scrubbing.nodes of the service, and controller.url the service's`;
    case 429:
      return `${answer}: too many polls with this token, give each node one of its own`;
    default:
      if (status >= 300 && status < 400)
        return `${answer}: redirects are not followed, controller.url must be the service's`;
      return answer;
  }
}
