import { effect, signal } from '@preact/signals';
import { chooseLanguage, en, fill, zh, type WordKey } from './words.js';

/** The language of the page; the viewer's choice is kept by the browser. */
export const language = signal(
  chooseLanguage([localStorage.getItem('nest-dq.language') ?? '', ...navigator.languages]),
);

effect(() => {
  document.documentElement.lang = language.value;
});

export function speak(chosen: 'en' | 'zh'): void {
  localStorage.setItem('nest-dq.language', chosen);
  language.value = chosen;
}

/** A text of the catalogue in the language of the page. */
export function t(key: WordKey, values?: Readonly<Record<string, string | number>>): string {
  return fill((language.value === 'zh' ? zh : en)[key], values);
}
