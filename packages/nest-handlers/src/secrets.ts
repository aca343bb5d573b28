/** Names of fields that hold secrets. */
const SECRET_NAME = /pass|secret|token|credential|^auth|key|seal|sasl/i;
/** Everything up to the last @, which may be a login. */
const LOGIN = /^((?:[a-z][a-z\d+.-]*:\/\/)?)[^]*@/i;
/** A URL without a login, up to its port. */
const ADDRESS = /^[a-z][a-z\d+.-]*:\/\/(?:\[[\da-f:.]+\]|[\w.-]+)?(?::\d{1,5})?(?![\w:])/i;
const KEY_LIKE = /^[\w+/=-]{32,128}$/;
const DEEPEST = 3;

/**
 * Returns a configuration value for an error or a log without anything that may be a secret, whichever option it belongs to.
 * Removes logins, paths and queries of URLs, strings that look like keys, and fields with secret-like names.
 */
export function withoutSecrets(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return hideIn(value);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
  if (depth > DEEPEST) return '…';
  if (Array.isArray(value)) return value.map((each: unknown) => withoutSecrets(each, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return Object.prototype.toString.call(value);
  const fields = Object.entries(value).map(([name, each]: [string, unknown]) => [
    name,
    SECRET_NAME.test(name) && each !== undefined ? '…' : withoutSecrets(each, depth + 1),
  ]);
  return Object.fromEntries(fields) as unknown;
}

function hideIn(text: string): string {
  if (KEY_LIKE.test(text)) return `… (${text.length} characters)`;
  if (text.includes('@'))
    return text.replace(LOGIN, '$1…@').replace(/[/?#][^/@]*$/, (end) => (end.startsWith('/') ? end : '…'));
  if (!text.includes('://')) return text;
  const [address = `${text.slice(0, text.indexOf('://'))}://`] = ADDRESS.exec(text) ?? [];
  return address === text ? text : `${address}…`;
}
