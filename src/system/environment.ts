/** Variables of the process environment. Read at each call, so that a rotated secret is seen at once. */

export interface Environment {
  /** null: not set. An empty variable is the empty string. */
  read(name: string): string | null;
}

export const processEnvironment: Environment = {
  read: (name) => process.env[name] ?? null,
};
