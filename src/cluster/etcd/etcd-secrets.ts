/**
 * Certificates and the password for etcd, read from their files and the environment again every minute, so that renewed
 * ones are used without a reload.
 */
import { readFileSync } from "node:fs";
import type { Clock } from "../../system/clock.ts";
import type { Environment } from "../../system/environment.ts";
import { messageOf } from "../../system/error-message.ts";
import type { EtcdConfig } from "../etcd-config.ts";
import { EtcdFault } from "./etcd-fault.ts";

const READ_AGAIN_MS = 60_000;

interface EtcdTls {
  readonly rejectUnauthorized: true;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export class EtcdSecrets {
  readonly #config: EtcdConfig;
  readonly #environment: Environment;
  readonly #clock: Pick<Clock, "monotonicMs">;
  #tls: { readonly value: EtcdTls; readonly readMs: number } | null = null;

  constructor(config: EtcdConfig, environment: Environment, clock: Pick<Clock, "monotonicMs">) {
    this.#config = config;
    this.#environment = environment;
    this.#clock = clock;
  }

  /** Throws an EtcdFault: a file cannot be read, and it never could. */
  tls(): EtcdTls {
    const nowMs = this.#clock.monotonicMs();
    if (this.#tls !== null && nowMs - this.#tls.readMs < READ_AGAIN_MS) return this.#tls.value;
    try {
      const { authorityPath, certificatePath, keyPath } = this.#config;
      const value: EtcdTls = {
        rejectUnauthorized: true,
        ...(authorityPath !== null && { ca: pemIn(authorityPath) }),
        ...(certificatePath !== null && { cert: pemIn(certificatePath) }),
        ...(keyPath !== null && { key: pemIn(keyPath) }),
      };
      this.#tls = { value, readMs: nowMs };
    } catch (cause) {
      // While files are being replaced, those read before go on.
      if (this.#tls === null) throw cause;
      this.#tls = { value: this.#tls.value, readMs: nowMs };
    }
    return this.#tls.value;
  }

  /** null: none is configured. Throws an EtcdFault: it is not set. */
  login(): { readonly name: string; readonly password: string } | null {
    const { login } = this.#config;
    if (login === null) return null;
    const { password } = login;
    const text =
      password.kind === "environment" ? this.#environment.read(password.variable) : firstLineIn(password.path);
    if ((text ?? "") !== "") return { name: login.user, password: text as string };
    const where = password.kind === "environment" ? `environment variable ${password.variable}` : password.path;
    throw new EtcdFault("sign_in", `the password of the etcd user ${login.user} is not set: ${where} is empty`);
  }
}

function pemIn(path: string): string {
  const text = textIn(path);
  if (text.includes("-----BEGIN ")) return text;
  throw new EtcdFault("unreachable", `${path} is not a PEM file`);
}

function firstLineIn(path: string): string {
  return textIn(path).split(/\r?\n/)[0] ?? "";
}

function textIn(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new EtcdFault("unreachable", `${path} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
