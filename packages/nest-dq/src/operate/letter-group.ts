import type { Letter } from '../ledger/requests.js';

/** Characters of a message that are looked at, and of a pattern. */
const LONGEST_MESSAGE = 500;
const LONGEST_PATTERN = 200;
/** Stands for a part that differs between errors of one kind. */
const PART = '…';

/**
 * The group of a dead letter: name and message of its error, with `…` for what differs between errors of one kind, such as
 * `Error: connect ECONNREFUSED …`; without an error, its cause of death, which never has a colon.
 */
export function groupOf({ why, error }: Pick<Letter, 'why' | 'error'>): string {
  return error ? `${error.name}: ${messagePattern(error.message)}` : why;
}

/** The first line of a message, with `…` for numbers, ids, addresses and quoted strings. A status such as `HTTP 503` stays. */
export function messagePattern(message: string): string {
  const [line = ''] = message.trimStart().slice(0, LONGEST_MESSAGE).split('\n');
  const pattern = line
    .replace(/(["`])(?:(?!\1).)*\1/g, `$1${PART}$1`)
    .replace(/(?<!\w)'[^']*'(?!\w)/g, `'${PART}'`)
    .replace(/\b[a-z][a-z\d+.-]*:\/\/\S+/gi, PART)
    .replace(/[^\s@<>()"'`,;:=]+@[^\s@<>()"'`,;]+/g, PART) // mail addresses
    .replace(/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi, PART) // UUIDs
    .replace(/\b(?=[a-z]*\d)[a-z\d]{16,}\b/gi, PART) // ULIDs and other ids
    .replace(/\b(?=\d*[a-f])(?=[a-f]*\d)[\da-f]{7,}\b/gi, PART) // hashes
    .replace(/\d+/g, (digits, at: number, whole: string) =>
      isStatus(digits, whole.slice(0, at)) ? digits : PART,
    )
    .replace(/…(?:[.,:/_-]?…)+/g, PART) // fractions, dates, network addresses
    .replace(/\s+/g, ' ')
    .trim();
  return pattern.length > LONGEST_PATTERN ? pattern.slice(0, LONGEST_PATTERN) : pattern;
}

/** Whether the number is a status of HTTP or SMTP: at the start of the message, or after a word that says so. */
function isStatus(digits: string, before: string): boolean {
  return /^[1-5]\d\d$/.test(digits) && (before === '' || /\b(?:status|code|http)\w*\W{0,2}$/i.test(before));
}
