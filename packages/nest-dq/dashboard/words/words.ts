import { enActs } from './en-acts.js';
import { enStatus } from './en-status.js';
import { enPages } from './en.js';

/** Texts of the dashboard, in English. */
export const en = { ...enPages, ...enActs, ...enStatus };

/** The name of a text of the catalogue. */
export type WordKey = keyof typeof en;

/** Puts the values in the places of a text. A place without a value stays as it is, so that it is seen. */
export function fill(text: string, values: Readonly<Record<string, string | number>> = {}): string {
  return text.replace(/\{(\w+)\}/g, (place, name: string) => isolated(String(values[name] ?? place)));
}

/** Letters of scripts that are read from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Keeps a key or a name in such a script from turning around the text next to it. */
function isolated(value: string): string {
  return RIGHT_TO_LEFT.test(value) ? `\u2068${value}\u2069` : value;
}

/** The first of the languages that the catalogue has. */
export function chooseLanguage(wanted: readonly string[]): 'en' | 'zh' {
  for (const each of wanted) {
    const [language] = each.toLowerCase().split('-');
    if (language === 'en' || language === 'zh') return language;
  }
  return 'en';
}
