import { isThenable } from '../structures/thenable.js';

/** By their tags, which objects of other realms have, too. */
const LOST = new Set(['Error', 'Map', 'Promise', 'RegExp', 'Set', 'WeakMap', 'WeakSet']);

/**
 * What of a value JSON drops without a word: where it is, below `path`, and what it is. Undefined: nothing of the kind.
 * What turns itself into JSON is not looked into. Only for what JSON.stringify has taken: it would not end on a cycle.
 */
export function findLoss(value: unknown, path: string): string | undefined {
  const loss = lossIn(value);
  return loss && `${path}${loss.at} is ${loss.what === 'Error' ? 'an' : 'a'} ${loss.what}`;
}

interface Loss {
  readonly what: string;
  readonly at: string;
}

/** Each payload passes here: the place is put together only where something is found. */
function lossIn(value: unknown): Loss | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const loss = lossIn(value[i]);
      if (loss) return { ...loss, at: `[${i}]${loss.at}` };
    }
    return undefined;
  }
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return undefined;
  const what = lostKind(value);
  if (what !== undefined) return { what, at: '' };
  for (const name in value) {
    const part = (value as Record<string, unknown>)[name];
    if (typeof part !== 'object' || part === null || !Object.hasOwn(value, name)) continue;
    const loss = lossIn(part);
    if (loss) return { ...loss, at: `.${name}${loss.at}` };
  }
  return undefined;
}

function lostKind(value: object): string | undefined {
  if (isThenable(value)) return 'Promise';
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return undefined;
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  return LOST.has(tag) ? tag : undefined;
}
