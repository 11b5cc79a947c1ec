/** An item of the list `prefix_sets`: where the prefixes of a named set come from, and which checks a file must pass. */

/** Sets that need no file. */
export const BUILT_IN_SETS = ["bogons"] as const;

type BuiltInSet = (typeof BUILT_IN_SETS)[number];

export interface PrefixSetConfig {
  readonly name: string;
  readonly source: PrefixSetSource;
  readonly checks: SetChecks;
}

export type PrefixSetSource =
  | { readonly kind: "list"; readonly path: string }
  | {
      readonly kind: "mmdb";
      readonly path: string;
      readonly countries: readonly string[];
      readonly autonomousSystems: readonly number[];
    }
  | { readonly kind: "builtin"; readonly set: BuiltInSet };

/** The checks that a file must pass to be used. */
interface SetChecks {
  /** The shortest length of a prefix, by family. */
  readonly shortest: { readonly ipv4: number; readonly ipv6: number };
  /** 100: any. */
  readonly changePercentMax: number;
  /** 100: any. */
  readonly usersPercentMax: number;
  /** SHA-256 of a file to which the two before do not apply, in hexadecimal; null: none. */
  readonly accepted: string | null;
}
