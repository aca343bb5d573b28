/** Control characters, and characters that change direction or break a line, which a log or a terminal would interpret. */
// oxlint-disable-next-line no-control-regex
const OBEYED = /[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Escapes an untrusted string to a single line that is safe for logs and terminals. */
export function escaped(text: string): string {
  return text.replace(OBEYED, code);
}

/** Like `escaped`, but keeps line breaks. In JSON it only changes how strings are written. */
export function escapedLines(text: string): string {
  return text.replace(OBEYED, (char) => (char === '\n' ? char : code(char)));
}

function code(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
