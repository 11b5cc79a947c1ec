/** Writes docs/configuration.md from the schema of the configuration: `make docs`. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { configurationPage } from "./configuration-page.ts";

writeFileSync(join(import.meta.dir, "configuration.md"), configurationPage());
