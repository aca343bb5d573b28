import { effect, signal } from '@preact/signals';
import { chooseLanguage, en, fill, type WordKey } from './words.js';

/** The language of the page. */
export const language = signal<'en' | 'zh'>('en');

let chinese: typeof import('./chinese.js') | undefined;

effect(() => {
  document.documentElement.lang = language.value;
});

/** Speaks as the viewer chose, or else as the browser prefers. Rejects if the texts can't be loaded; the page is in English then. */
export function speakAsPreferred(): Promise<void> {
  return load(chooseLanguage([localStorage.getItem('nest-dq.language') ?? '', ...navigator.languages]));
}

/** Speaks a language from now on; the browser keeps the choice. Rejects if its texts can't be loaded. */
export async function speak(chosen: 'en' | 'zh'): Promise<void> {
  await load(chosen);
  localStorage.setItem('nest-dq.language', chosen);
}

async function load(chosen: 'en' | 'zh'): Promise<void> {
  if (chosen === 'zh') chinese ??= await import('./chinese.js');
  language.value = chosen;
}

/** A text of the catalogue in the language of the page. */
export function t(key: WordKey, values?: Readonly<Record<string, string | number>>): string {
  return fill((language.value === 'zh' ? chinese!.zh : en)[key], values);
}
