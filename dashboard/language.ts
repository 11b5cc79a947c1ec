/**
 * The texts of the page in its user's language. A text is written in English where it is used; the catalogues of the other
 * languages have it as their key, and are loaded before the first text is read. Those of the service are beside them.
 */
export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", es: "Español", ru: "Русский" } as const;
type Language = keyof typeof LANGUAGES;

/** Texts by their English; `{0}` is the first value in it. Counted things have their forms for numbers, between `|`. */
export type Catalogue = Readonly<Record<string, string>>;

export const LANGUAGE_KEY = "floodwall.language";

type Loading = readonly Promise<{ readonly default: Catalogue }>[];

/** The texts of the page, and those of the service. */
const CATALOGUES: Readonly<Record<Exclude<Language, "en">, () => Loading>> = {
  de: () => [import("./languages/de.json"), import("./languages/service/de.json")],
  fr: () => [import("./languages/fr.json"), import("./languages/service/fr.json")],
  es: () => [import("./languages/es.json"), import("./languages/service/es.json")],
  ru: () => [import("./languages/ru.json"), import("./languages/service/ru.json")],
};

export const language: Language = chosenLanguage();
/** For the formats of numbers and dates. English dates have the day before the month. */
export const LOCALE = language === "en" ? "en-GB" : language;

const [catalogue = {}, service = {}] = await loadedCatalogues();
/** For `said` of text/service-words.ts alone. */
export const serviceCatalogue: Catalogue = service;
const plurals = new Intl.PluralRules(LOCALE);
/** The order of the forms in a catalogue. A category that a language does not need here is like `other`. */
const FORMS: readonly Intl.LDMLPluralRule[] = language === "ru" ? ["one", "few", "many"] : ["one", "other"];

/** A text with values, as a tagged template. */
export function t(texts: TemplateStringsArray, ...values: readonly (string | number | null | undefined)[]): string {
  return textOf(keyOf(texts)).replace(PLACE, (_, index: string) => String(values[Number(index)]));
}

/** A text with elements in it. */
export function tx<Parts extends readonly unknown[]>(
  texts: TemplateStringsArray,
  ...values: Parts
): (string | Parts[number] | undefined)[] {
  return textOf(keyOf(texts))
    .split(PLACE)
    .map((part, index) => (index % 2 === 0 ? part : values[Number(part)]));
}

/** The form of a counted thing for a number. @param forms in English, as `attack|attacks` */
export function formFor(count: number, forms: string): string {
  const known = textOf(forms).split("|");
  const index = FORMS.indexOf(plurals.select(count));
  return known[index] ?? known.at(-1) ?? forms;
}

const PLACE = /\{(\d+)\}/g;

/** `Unban {0}?` */
function keyOf(texts: TemplateStringsArray): string {
  return texts.reduce((key, text, index) => `${key}{${index - 1}}${text}`);
}

function textOf(key: string): string {
  return catalogue[key] ?? key;
}

/** Without a catalogue, which the network may withhold, the page is in English. */
async function loadedCatalogues(): Promise<readonly Catalogue[]> {
  if (language === "en") return [];
  try {
    return (await Promise.all(CATALOGUES[language]())).map((loaded) => loaded.default);
  } catch {
    return [];
  }
}

/** The part of a browser that tests of texts do not have. */
interface Browser {
  readonly localStorage?: { readonly getItem: (key: string) => string | null };
  readonly navigator: { readonly languages?: readonly string[] };
}

/** The one chosen in this browser, else the first of the browser's own that the page has. */
function chosenLanguage(): Language {
  const { localStorage: storage, navigator } = globalThis as Browser;
  if (storage === undefined) return "en";
  const wanted = [storage.getItem(LANGUAGE_KEY) ?? "", ...(navigator.languages ?? []).map((tag) => tag.slice(0, 2))];
  return wanted.find(isLanguage) ?? "en";
}

function isLanguage(text: string): text is Language {
  return Object.hasOwn(LANGUAGES, text);
}
