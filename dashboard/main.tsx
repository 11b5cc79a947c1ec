/** Where the page begins. What it is made of: `views/` what is looked at, `parts/` what views are made of, `api/` where data comes from. */
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
import { applyTheme } from "./theme.ts";

const root = document.getElementById("app");
if (root === null) throw new Error("bug: the page has no place for the app");
applyTheme();
render(<App />, root);
void beginSession();
