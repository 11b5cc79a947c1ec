/** The running build, as status, metrics and `floodwall version` tell it. */
import manifest from "../package.json";

export const VERSION: string = manifest.version;
