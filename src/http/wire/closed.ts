/** For objects on the wire without fields beyond the schema. */
export const closed = { additionalProperties: false } as const;
