/** `floodwall schema`: prints the JSON Schema of a configuration. */
import { jsonSchema } from "../config/json-schema.ts";

export function schema(of: "configuration" | "customer"): string {
  return JSON.stringify(jsonSchema(of), null, 2);
}
