/** Compiles Floodwall for the tests that start it: `bun test/compile-program.ts PATH`. */
import { basename, dirname } from "node:path";
import { compile, EXECUTABLES, strippedAddon } from "../deploy/compile.ts";

const [path = ""] = Bun.argv.slice(2);
const executable = EXECUTABLES.find(({ name }) => name === basename(path));
if (executable === undefined) throw new Error(`no executable has the name of ${path}`);
await compile(executable, { addon: await strippedAddon(), directory: dirname(path), isAhead: true });
