// Formats of Intl. To make one takes longer than to use it a hundred times, and a list tells all its times each second.

const dates = new Map<string, Intl.DateTimeFormat>();
const numbers = new Map<string, Intl.NumberFormat>();

export function dateFormat(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return made(dates, language, options, () => new Intl.DateTimeFormat(language, options));
}

export function numberFormat(language: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  return made(numbers, language, options, () => new Intl.NumberFormat(language, options));
}

function made<F>(formats: Map<string, F>, language: string, options: object, make: () => F): F {
  const name = `${language} ${JSON.stringify(options)}`;
  let format = formats.get(name);
  if (!format) formats.set(name, (format = make()));
  return format;
}
