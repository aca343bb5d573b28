/** Control characters, and those that turn or break a line: a log or a terminal would obey them. */
// oxlint-disable-next-line no-control-regex
const OBEYED = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A text of anybody in one line, in which a log or a terminal obeys nothing. */
export function escaped(text: string): string {
  return text.replace(OBEYED, code);
}

/** The same with its lines. In JSON it changes only how texts are written. */
export function escapedLines(text: string): string {
  return text.replace(OBEYED, (char) => (char === '\n' ? char : code(char)));
}

function code(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
