/** The section `api`: where the interface listens and who may call it (docs/interface.md#authentication). */
import { type Static, Type } from "@sinclair/typebox";
import { TOKENS_MAX } from "../../limits.ts";
import type { IpAddress } from "../../net/address.ts";
import { closed, list, oneOf, text, withDefaults } from "../load/schema-forms.ts";
import { parseListen } from "../load/text-forms.ts";

const Token = Type.Object(
  {
    name: text("tokenName"),
    token_env: text("variableName"),
    role: oneOf("viewer", "operator", "agent"),
    tenant: Type.Optional(text("tenantName")),
    node: Type.Optional(text("nodeName")),
  },
  closed,
);

export const ApiSection = Type.Object(
  {
    listen: text("listen", { default: "127.0.0.1:8080" }),
    token_env: Type.Optional(text("variableName")),
    tokens: list(Token, TOKENS_MAX),
    env_file: Type.Optional(text("absolutePath")),
    dashboard: Type.Boolean({ default: true }),
  },
  withDefaults,
);

export interface ApiConfig {
  readonly host: IpAddress;
  readonly port: number;
  /** Empty: the API is open. `token_env` is one operator token of the name `api`. */
  readonly tokens: readonly TokenConfig[];
  /** Whether the file says it by `token_env`. */
  readonly isShorthand: boolean;
  /** Watched for variables; null: none. */
  readonly envFile: string | null;
  /** Whether the web page is served. */
  readonly dashboard: boolean;
}

export interface TokenConfig {
  /** Recorded as the operator. */
  readonly name: string;
  /** Name of the environment variable with the secret. */
  readonly tokenEnv: string;
  readonly role: "viewer" | "operator" | "agent";
  /** null: not bound to a tenant. */
  readonly tenant: string | null;
  /** Of `edge.nodes` or `scrubbing.nodes`; null: not bound to a node. */
  readonly node: string | null;
}

export function buildApi(file: Static<typeof ApiSection>): ApiConfig {
  const listen = parseListen(file.listen);
  if (listen === null) throw new Error(`bug: ${file.listen} was taken for valid`);
  return {
    ...listen,
    tokens: file.token_env === undefined ? file.tokens.map(buildToken) : [operatorToken(file.token_env)],
    isShorthand: file.token_env !== undefined,
    envFile: file.env_file ?? null,
    dashboard: file.dashboard,
  };
}

function buildToken({ name, token_env: tokenEnv, role, tenant, node }: Static<typeof Token>): TokenConfig {
  return { name, tokenEnv, role, tenant: tenant ?? null, node: node ?? null };
}

function operatorToken(tokenEnv: string): TokenConfig {
  return { name: "api", tokenEnv, role: "operator", tenant: null, node: null };
}
