/** Signatures of a release by GnuPG, with a key of the caller's keyring, at the time of the commit: so they repeat. */
import { writeFileSync } from "node:fs";

export interface Signer {
  /** Signs nothing, for a remedy before the build. Throws where the key cannot sign at the time, as all signatures would. */
  check(): Promise<void>;
  /** The file with its signature around it. */
  clear(path: string, to: string): Promise<void>;
  /** The signature alone, as text. */
  detached(path: string, to: string): Promise<void>;
  publicKey(to: string): Promise<void>;
  /** Puts the signature of an RPM package into it. */
  rpm(path: string): Promise<void>;
}

export interface SignerOptions {
  /** Fingerprint or address of the key. */
  readonly key: string;
  /** Unix seconds. The key must be older. */
  readonly time: number;
  /** Default: of the environment. */
  readonly home?: string;
}

/** Its functions throw with the words of GnuPG where there is no such key. */
export function signer({ key, time, home }: SignerOptions): Signer {
  const where = home === undefined ? [] : ["--homedir", home];
  const moment = new Date(time * 1000).toISOString().replaceAll(/[-:]|\..*/g, "");
  const options = [...where, "--batch", "--yes", "--local-user", key, "--digest-algo", "SHA512"];
  const clock = ["--faked-system-time", `${moment}!`];
  const sign = [...options, ...clock, "--armor"];
  const rpmMacros = {
    __gpg: "/usr/bin/gpg",
    _gpg_name: key,
    _gpg_digest_algo: "sha512",
    _gpg_sign_cmd_extra_args: clock.join(" "),
    ...(home === undefined ? {} : { _gpg_path: home }),
  };
  const defines = Object.entries(rpmMacros).flatMap(([name, value]) => ["--define", `${name} ${value}`]);
  return {
    check: async () => {
      const failed = ({ message }: Error) => {
        const remedy = "a release is signed at the time of its commit, with a key that was made before it";
        throw new Error(`the key ${key} cannot sign at ${moment}: ${message}\n${remedy}`);
      };
      await gpg([...sign, "--output", "-", "--detach-sign", "/dev/null"]).catch(failed);
    },
    clear: async (path, to) => void (await gpg([...sign, "--output", to, "--clear-sign", path])),
    detached: async (path, to) => void (await gpg([...sign, "--output", to, "--detach-sign", path])),
    rpm: async (path) => void (await Bun.$`rpmsign ${defines} --addsign ${path}`.quiet()),
    publicKey: async (to) => writeFileSync(to, await gpg([...where, "--batch", "--armor", "--export", key])),
  };
}

async function gpg(options: readonly string[]): Promise<string> {
  const child = Bun.spawn(["gpg", ...options], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [output, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(`gpg failed: ${errors.trim()}`);
  if (options.includes("--export") && output === "") throw new Error(`gpg has no such key: ${options.at(-1)}`);
  return output;
}
