/** Secrets of channels, read from the environment at each delivery, so that a rotated one is used at once. */
import type { Environment } from "../system/environment.ts";
import { DeliveryFault } from "./delivery-fault.ts";

export function secretOf(environment: Environment, name: string): string {
  const secret = environment.read(name);
  if (secret === null || secret === "") throw new DeliveryFault(`the variable ${name} is not set`);
  return secret;
}

/** Bun's fetch would also accept file and data URLs. */
export function urlOf(environment: Environment, name: string): URL {
  const text = secretOf(environment, name);
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw new DeliveryFault(`the variable ${name} holds no http or https URL`);
}
