/** The configuration as a JSON Schema for editors, which complete and check keys with it. */
import { ConfigFile, Group } from "./sections/schema.ts";

type Schema = Record<string, unknown>;

/** The schema of the whole file, or of a file of one customer that it includes. */
export function jsonSchema(of: "configuration" | "customer"): Schema {
  const { $schema, ...rest } = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: of === "configuration" ? "Floodwall configuration" : "Floodwall customer",
    ...(plain(of === "configuration" ? ConfigFile : Group) as Schema),
  } as Schema;
  const schema = { $schema, ...rest };
  const groups = of === "configuration" ? (property(schema, "hostgroups")["items"] as Schema) : schema;
  allowListedNetworks(groups);
  return schema;
}

/** Networks may stand in a file of their own. */
function allowListedNetworks(group: Schema): void {
  const required = (group["required"] as string[]).filter((key) => key !== "networks");
  group["required"] = required;
  group["anyOf"] = [{ required: ["networks"] }, { required: ["networks_file"] }];
}

function property(schema: Schema, key: string): Schema {
  return (schema["properties"] as Record<string, Schema>)[key] ?? {};
}

/** Without the words that are ours alone; what has a default may be absent. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const { format: _format, valueIfAbsent: _value, ifAbsent: _words, sameKeysAs: _same, ...rest } = value as Schema;
  const properties = rest["properties"] as Record<string, Schema> | undefined;
  const required = rest["required"];
  const isNeeded = (key: string) => !("default" in (properties?.[key] ?? {}));
  return {
    ...Object.fromEntries(Object.entries(rest).map(([key, own]) => [key, key === "default" ? own : plain(own)])),
    ...(Array.isArray(required) && { required: required.filter(isNeeded) }),
  };
}
