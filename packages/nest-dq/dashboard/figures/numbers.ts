import { language } from '../words/language.js';

/** A whole number with separators. */
export function count(value: number): string {
  return new Intl.NumberFormat(language.value).format(value);
}
