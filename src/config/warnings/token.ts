/**
 * Tokens that are valid but may be unintended: for the check, and for the log at the start and at reloads
 * (docs/interface.md#node-binding).
 */
import type { TokenConfig } from "../../access/token-config.ts";
import { canBePresented } from "../../access/tokens.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import type { Finding } from "../../schema/shape.ts";
import type { Config } from "../config.ts";
import type { ReadVariable } from "../load/secrets.ts";

export function* tokenWarnings({ api, hostgroups, edge }: Config, read: ReadVariable): Generator<Finding> {
  const owners = new Set([...hostgroups, ...(edge?.zones ?? [])].map(({ tenant }) => tenant));
  const byVariable = new Map<string, TokenConfig>();
  for (const [i, token] of api.tokens.entries()) {
    const path: ConfigPath = api.isShorthand ? ["api"] : ["api", "tokens", i];
    const first = byVariable.get(token.tokenEnv);
    if (first === undefined) byVariable.set(token.tokenEnv, token);
    const secretRule = first === undefined ? secretWarning(token, read) : sharedWarning(token, first);
    if (secretRule !== null) yield { path: [...path, "token_env"], rule: secretRule };
    if (token.tenant !== null && !owners.has(token.tenant)) {
      yield {
        path: [...path, "tenant"],
        rule: `${token.tenant} owns no hostgroup and no zone: ${token.name} sees nothing`,
      };
    }
    if (token.role === "agent" && token.node === null) {
      yield { path, rule: `${token.name} is an agent without node: it may act as every node` };
    }
  }
}

/** Only a warning: without a secret no one can use the token, and it may be set later without a restart. */
function secretWarning({ name, tokenEnv }: TokenConfig, read: ReadVariable): string | null {
  const secret = read(tokenEnv) ?? "";
  if (secret === "") return `the variable ${tokenEnv} is not set here: no one can call as ${name}`;
  if (canBePresented(secret)) return null;
  return `the variable ${tokenEnv} holds more than visible ASCII, or a comma: no request can carry it`;
}

function sharedWarning(token: TokenConfig, first: TokenConfig): string | null {
  const { name, tokenEnv } = first;
  if (token.role === first.role && token.tenant === first.tenant && token.node === first.node) return null;
  return `${tokenEnv} is the variable of ${name} too, which has other rights: one secret for both is refused`;
}
