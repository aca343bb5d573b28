import { parsePlaces } from '../../copies/location.js';
import type { CommitAnswer, CommitRequest, Refusal } from '../requests.js';
import { ANNOUNCED, openingOf, PLACES } from '../records/fields.js';
import { readSchedule, SCHEDULES } from './schedules.lua.js';
import { RELISTING } from '../waiting/waiting.lua.js';
import { namesOf, replyEach, type Fields, type RedisVerb } from '../script.js';

const FIELDS: Fields<CommitRequest> = {
  opening: ({ opening }) => openingOf(opening),
  born: 'born',
  undecidedUntil: 'undecidedUntil',
  ...ANNOUNCED,
  ...PLACES,
};

/**
 * Makes opened generations the current jobs. Replies for each with the reason of a refusal and the current schedule; or an empty
 * string and the replaced schedule; or 'already' and no schedule; or 'revived', no schedule, and the places of the letter. If all
 * are empty strings without a schedule, as in nearly all calls, the reply has no answers.
 */
const SCRIPT = `${SCHEDULES}${RELISTING}
local function commit(key, ${namesOf(FIELDS)})
  local record = readRecord(key) or emptyRecord()
  if record.committed == generation then
    -- An earlier call or a claim has committed it.
    confirm(record, due, mask, unknown, places)
    writeRecord(key, record)
    return 'already', ''
  end
  local present = scheduleOf(record)
  local lost = record.committed == -1 -- Redis has lost the record, so there is nothing to replace
  local forgotten = now >= undecidedUntil and not wasOpened(record, generation)
  local why = voided(record, generation) or forgotten and 'forgotten' or not lost and refusal(record, opening) or nil
  if why then
    if why == 'changed' and mayHaveCounted(record, generation) then why = 'overtaken' end
    giveUp(record, generation, due, announced, mask, unknown)
    writeRecord(key, record)
    return why, valuesOf(present)
  end
  local replaced = isLive(record) and present or nil
  if isRunning(record) and record.leaseEnd > now then record.holdEnd = max(record.holdEnd, record.leaseEnd) end
  local left = opening.by == 'revive' and dropLetter(letterName(key, record.born))
  local abort = record.abort
  take(record, born, generation, due, announced, mask, unknown, places)
  record.abort = record.holdEnd > now and abort or nil
  writeRecord(key, record)
  if left then return 'revived', '', left end
  return '', valuesOf(replaced)
end
${replyEach(FIELDS, 'commit')}
writeAll()
writeIndex()
for i = 3, #reply do
  if reply[i] ~= '' then return reply end
end
return { 1, us }
`;

export const commit: RedisVerb<CommitRequest, CommitAnswer> = {
  fields: FIELDS,
  script: SCRIPT,
  read(from) {
    const why = from.text();
    const schedule = readSchedule(from);
    if (why === 'forgotten') return { kind: 'forgotten' };
    if (why === 'already') return { kind: 'committed', already: true };
    if (why === 'revived') return { kind: 'committed', left: parsePlaces(from.text()) };
    return why === ''
      ? { kind: 'committed', replaced: schedule }
      : { kind: 'refused', why: why as Refusal | 'overtaken', present: schedule };
  },
  usual: { kind: 'committed' },
};
