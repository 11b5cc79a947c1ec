/** Of an object on the wire: it has no field that its schema does not name. */
export const closed = { additionalProperties: false } as const;
