// Loaded with the first list of series: the library is too large for what a browser loads at once.
import cronstrue from 'cronstrue';
import 'cronstrue/locales/zh_CN.js';

const LOCALES = { en: 'en', zh: 'zh_CN' } as const;
/** Minutes or hours that are an interval: what comes every hour also comes every day, and nobody needs to read that. */
const INTERVAL = /[*/]/;

/**
 * Puts the plan of a series into words, as in `At 03:00, every day (Europe/Berlin)`. Undefined for a calendar, and for an expression
 * that can't be put into words.
 */
export function cronInWords(plan: string, language: 'en' | 'zh'): string | undefined {
  const fields = plan.trim().split(/\s+/);
  const zone = fields.pop();
  // A calendar may have a name of any form, after this word.
  if (fields[0] === 'calendar' || (fields.length !== 5 && fields.length !== 6)) return undefined;
  const verbose = !fields.slice(0, -3).some((field) => INTERVAL.test(field));
  try {
    const options = { locale: LOCALES[language], use24HourTimeFormat: true, verbose };
    const words = cronstrue.toString(fields.join(' '), options);
    return language === 'zh' ? `${inChinese(words)}（${zone}）` : `${words} (${zone})`;
  } catch {
    return undefined; // it throws strings, one for each thing it doesn't know
  }
}

/** Without the commas and spaces of English. */
function inChinese(words: string): string {
  return words
    .replace(/,\s*/g, '，')
    .replace(/\s+/g, ' ')
    .replace(/(?<=\p{Script=Han}) (?=\p{Script=Han})/gu, '');
}
