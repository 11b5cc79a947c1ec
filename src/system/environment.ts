/** Variables of the process environment. Read at each call, so that a rotated secret is used at once. */

export interface Environment {
  /** null: not set. An empty variable is the empty string. */
  read(name: string): string | null;
}

export const processEnvironment: Environment = {
  read: (name) => process.env[name] ?? null,
};

/** All present variables: a thread without given variables has those of the process start. */
export function environmentNow(): Record<string, string> {
  const entries = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(entries);
}
