import type { RevokeAnswer, RevokeRequest } from '../../requests.js';
import { OWED } from '../parts/fields.js';
import { readSchedule, SCHEDULES } from '../parts/schedules.js';
import { codes, idOf, namesOf, replyEach, type Fields, type RedisVerb } from '../script.js';

const FIELDS: Fields<RevokeRequest> = {
  born: ({ born = false }: { readonly born?: number | false }) => born,
  due: ({ due }) => Math.ceil(due),
  ...OWED,
  abort: ({ abort }) => abort,
};

const RESULTS = ['unknown', 'revoked', 'running', 'done', 'dead'] as const;

/** Forbids further starts. Replies for each: the result; 1 if a run was begun, else 0; what was revoked and has no run. */
const SCRIPT = `${SCHEDULES}
${codes(RESULTS)}

local function revoke(key, ${namesOf(FIELDS)})
  local known = readRecord(key)
  local record = known or born and newRecord(born, born, due) or emptyRecord()
  local begun = record.fence > 0 and 1 or 0
  if born and record.born ~= born then return UNKNOWN, begun, '' end
  local state, committed, opened = record.state, record.committed, record.opened
  local isPending = not born and opened > committed and not voided(record, opened)
  -- A revoke by key covers every add that was opened before now; one by a reference none but its own, of which nothing that
  -- is opened comes about once the job is revoked. A run that goes on is not asked for the floor.
  record.floor = born and max(record.floor, committed) or max(committed, opened, record.floor, now)
  keepAbortedAbove(record, record.floor)
  if state == 'd' or state == 'x' then
    writeRecord(key, record)
    return isPending and REVOKED or state == 'd' and DONE or DEAD, begun, ''
  end
  -- An end is remembered for DONE_TTL at least, so without a record this job was never claimed, unless it was due before
  -- that: then it may be done and forgotten, or wait in a backlog. No start from now on, in any case.
  local ended = state == 'u' and 'u' or 'v'
  if isPending then
    ended = 'v'
  elseif committed == -1 and state == 'w' then
    ended = 'u'
  elseif not known and due + DONE_TTL <= now then
    ended = 'u'
  end
  local running, held = isRunning(record) and record.leaseEnd > now, record.holdEnd > now
  local wasAsked, revoked = record.abort, nil
  if running then
    record.state = 'l'
  else
    revoked = scheduleOf(record)
    endRun(record, ended)
    record.places = nil
  end
  record.abort = (running or held) and (wasAsked or abort) or nil
  if committed == born then owe(record, due, mask, unknown) end
  writeRecord(key, record)
  if running or held then return RUNNING, begun, valuesOf(revoked) end
  return ended == 'u' and UNKNOWN or REVOKED, begun, valuesOf(revoked)
end
${replyEach(FIELDS, 'revoke')}
writeAll()
return reply
`;

export const revoke: RedisVerb<RevokeRequest, RevokeAnswer> = {
  fields: FIELDS,
  script: SCRIPT,
  id: idOf,
  read(from) {
    const result = from.entry(RESULTS);
    const begun = from.number() === 1;
    return { result, begun, revoked: readSchedule(from) };
  },
};
