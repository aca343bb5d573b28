import { formatPlaces } from '../../copies/location.js';
import type { RevokeAnswer, RevokeRequest } from '../requests.js';
import { OWED } from '../records/fields.js';
import { readSchedule, SCHEDULES } from './schedules.lua.js';
import { RELISTING } from '../waiting/waiting.lua.js';
import { codes, namesOf, replyEach, type Fields, type RedisVerb } from '../script.js';

const FIELDS: Fields<RevokeRequest> = {
  born: ({ born = false }: { readonly born?: number | false }) => born,
  due: ({ due }) => Math.ceil(due),
  ...OWED,
  places: ({ places }) => formatPlaces(places ?? []),
  abort: 'abort',
};

/** `first`: a plain job unknown to the ledger, which waits as the request says, and is revoked. */
const RESULTS = ['unknown', 'revoked', 'running', 'done', 'dead', 'first', 'expired'] as const;

/**
 * Forbids further runs. Replies for each with the result; and, unless it is `first`, 1 if a run was started, else 0; the revoked
 * schedule, if it has no run.
 */
const SCRIPT = `${SCHEDULES}${RELISTING}
${codes(RESULTS)}

-- Revokes a plain job that has no record, the case of nearly all calls. Returns false if it has one. Reads no record.
local function revokeFirst(key, due, mask, unknown, places)
  local record = { state = 'v', due = due, floor = 0, owed = { due, mask, unknown }, places = places ~= '' and places or nil }
  if not call('SET', key, cmsgpack.pack(record), 'NX', 'PX', max(now, due) - now + KEPT_AFTER) then return false end
  relist(key, record)
  return true
end

local function revoke(key, ${namesOf(FIELDS)})
  local owes = mask ~= 0 or unknown ~= 0
  -- An earlier request of this call may have changed a record that is not written yet.
  if born == 0 and owes and due + DONE_TTL > now and not records[key] and revokeFirst(key, due, mask, unknown, places) then return FIRST end
  local known = readRecord(key)
  local record = known or born and newRecord(born, born, due) or emptyRecord()
  local begun = record.fence > 0 and 1 or 0
  if born and record.born ~= born then return UNKNOWN, begun, '' end
  local state, committed, opened = record.state, record.committed, record.opened
  local isPending = not born and opened > committed and not voided(record, opened)
  -- A revoke by key voids every add that was opened before now. A revoke by reference voids only its own add; no other opening
  -- of that add can be committed once the job is revoked. The floor does not stop a run in progress.
  record.floor = born and max(record.floor, committed) or max(committed, opened, record.floor, now)
  if state == 'd' or state == 'x' or record.expired then
    writeRecord(key, record)
    return isPending and REVOKED or state == 'd' and DONE or state == 'x' and DEAD or EXPIRED, begun, ''
  end
  -- The record of an ended job stays for at least DONE_TTL. So a job without a record was never claimed, unless it was due
  -- earlier than that: then it is done and forgotten, or waits in a backlog. Either way it does not run from now on.
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
    -- They stay, so that a repeated revoke can delete what the first could not.
    if record.places == '' and places ~= '' and committed == born then record.places = places end
    revoked = scheduleOf(record)
    endRun(record, ended)
  end
  record.abort = (running or held) and (wasAsked or abort) or nil
  if committed == born then owe(record, due, mask, unknown) end
  writeRecord(key, record)
  if running or held then return RUNNING, begun, valuesOf(revoked) end
  return ended == 'u' and UNKNOWN or REVOKED, begun, valuesOf(revoked)
end
${replyEach(FIELDS, 'revoke')}
writeAll()
writeIndex()
return reply
`;

export const revoke: RedisVerb<RevokeRequest, RevokeAnswer> = {
  fields: FIELDS,
  script: SCRIPT,
  read(from, { due: asked }) {
    const result = from.entry(RESULTS);
    if (result === 'first') {
      const revoked = {
        state: 'waiting',
        born: 0,
        generation: 0,
        due: Math.ceil(asked),
        attempt: 0,
        places: [],
      } as const;
      return { result: 'revoked', begun: false, revoked };
    }
    const begun = from.number() === 1;
    return { result, begun, revoked: readSchedule(from) };
  },
};
