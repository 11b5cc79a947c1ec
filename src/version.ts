/** The running build, as status, metrics and `floodwall version` show it. */
import manifest from "../package.json";

export const VERSION: string = manifest.version;
