#!/usr/bin/env bun
/** The command line of the executable for scrub nodes: the same agent as `floodwall scrub`. */
import { parseArgs } from "node:util";
import { messageOf } from "../system/error-message.ts";
import { VERSION } from "../version.ts";
import { scrub } from "./scrub.ts";

const DEFAULT_CONFIG = "/etc/floodwall/scrub.yaml";
const USAGE = `usage: floodwall-scrub [--config FILE | --version | --help]
  runs the agent of a scrub node (default ${DEFAULT_CONFIG}); \`floodwall check FILE\` checks its configuration
exit codes: 0 stopped; 1 it could not start, the reason is on standard error; 2 wrong usage`;

// Exits explicitly: a timer that is still set must not keep a stopped agent alive.
process.exit(await main(Bun.argv.slice(2)));

async function main(argv: readonly string[]): Promise<number> {
  const invocation = parse(argv);
  switch (invocation.kind) {
    case "run":
      return scrub(invocation.config);
    case "print":
      console.log(invocation.text);
      return 0;
    case "wrong":
      console.error(`floodwall-scrub: ${invocation.why}\n${USAGE}`);
      return 2;
  }
}

type Invocation =
  | { readonly kind: "run"; readonly config: string }
  | { readonly kind: "print"; readonly text: string }
  | { readonly kind: "wrong"; readonly why: string };

function parse(argv: readonly string[]): Invocation {
  try {
    const options = {
      config: { type: "string", default: DEFAULT_CONFIG },
      version: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    } as const;
    const { values } = parseArgs({ args: [...argv], options });
    if (values.help) return { kind: "print", text: USAGE };
    if (values.version) return { kind: "print", text: `floodwall-scrub ${VERSION}` };
    return { kind: "run", config: values.config };
  } catch (cause) {
    return { kind: "wrong", why: messageOf(cause) };
  }
}
