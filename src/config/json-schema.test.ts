import { expect, test } from "bun:test";
import { jsonSchema } from "./json-schema.ts";

interface Schema {
  readonly required?: readonly string[];
  readonly properties: Readonly<Record<string, Schema>>;
  readonly items: Schema;
  readonly description?: string;
}

test("the schema for editors has what a file must have, the meaning of keys, and no words of ours", () => {
  const schema = JSON.parse(JSON.stringify(jsonSchema("configuration"))) as Schema;
  expect(schema.required).toEqual(["networks", "thresholds"]);
  expect(schema.properties["include"]?.description).toContain("customers/*.yaml");
  const customer = JSON.parse(JSON.stringify(jsonSchema("customer"))) as Schema;
  const { $schema: _, title: _title, ...group } = customer as Schema & Record<string, unknown>;
  expect(schema.properties["hostgroups"]?.items).toEqual(group as never);
  expect(group).toMatchObject({
    required: ["name"],
    anyOf: [{ required: ["networks"] }, { required: ["networks_file"] }],
  });
  expect(JSON.stringify(schema)).not.toMatch(/"config\/|ifAbsent|valueIfAbsent/);
});
