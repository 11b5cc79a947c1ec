/** Entry point of the page. `views/` has the views, `parts/` the components of views, `api/` the data sources. */
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import "./style/tables.css";
import "./style/figures.css";
import "./style/fleet.css";
import "./style/records.css";
import "./style/views.css";
import { render } from "preact";
import { beginSession } from "./api/session.ts";
import { App } from "./app.tsx";
import { language } from "./language.ts";
import { place } from "./router.ts";
import { applyTheme } from "./theme.ts";

const root = document.getElementById("app");
if (root === null) throw new Error("bug: the page has no element for the app");
applyTheme();
document.documentElement.lang = language;
render(<App />, root);
// A shared link needs no session.
if (place.peek().steps[0] !== "shared") void beginSession();
