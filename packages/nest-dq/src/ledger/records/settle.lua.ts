import type { SettledCopies } from '../requests.js';
import { RECORD, RECORDS_ONCE } from './record.lua.js';
import { localsOf, namesOf, type Fields, type RedisVerb } from '../script.js';

export const SETTLED: Fields<SettledCopies> = {
  generation: 'generation',
  mask: 'mask',
  unknown: ({ unknown }) => Number(unknown),
};

/**
 * Lua: settles the copies of the records whose keys start at this index of KEYS. A call of `claim` also settles copies, after its
 * requests.
 */
export function settleFrom(firstKey: string): string {
  return `${RECORDS_ONCE}
for i = ${firstKey}, #KEYS do
  local key = KEYS[i]${localsOf(SETTLED)}
  local record = readRecord(key)
  if record and settle(record, ${namesOf(SETTLED)}) then writeRecord(key, record) end
end
writeAll()
`;
}

/** Settles copies; has no answer. */
export const settle: RedisVerb<SettledCopies, void> = {
  fields: SETTLED,
  script: `${RECORD}
local at = 2
${settleFrom('HEAD + 1')}
return { 1, us }
`,
  read: () => undefined,
};
