import type { OpenAnswer, OpenRequest, Refusal } from '../../requests.js';
import { openingOf, OWED, PLACES, tableOf } from '../parts/fields.js';
import { readSchedule, SCHEDULES } from '../parts/schedules.js';
import { namesOf, replyEach, type Fields, type RedisVerb } from '../script.js';

const KNOWN = {
  generation: ({ generation }) => generation,
  born: ({ born }) => born,
  due: ({ due }) => Math.ceil(due),
  ...OWED,
  ...PLACES,
} satisfies Fields<NonNullable<OpenRequest['known']>>;

const FIELDS: Fields<OpenRequest> = {
  opening: ({ opening }) => openingOf(opening),
  due: ({ due }) => Math.ceil(due),
  announced: ({ announced }) => announced,
  known: ({ known }) => known !== undefined && tableOf(KNOWN, known),
};

/** Opens generations. Replies for each: the reason of a refusal, or an empty text; the generation, or 0; the present schedule. */
const SCRIPT = `${SCHEDULES}
local function open(key, ${namesOf(FIELDS)})
  local by = opening.by
  local record = readRecord(key)
  if not record and by == 'move' and known then
    record = newRecord(known.generation, known.born, known.due)
    record.places = known.places
  end
  if not record and by == 'add' then record = emptyRecord() end
  if not record and by == 'again' and now - opening.lastOk < DONE_TTL then
    record = madeAnew(opening.generation, opening.born, opening.due, opening.fence, opening.attempt)
  end
  if not record then return 'unknown', 0, '' end
  local present = scheduleOf(record)
  local why = refusal(record, opening)
  if why then return why, 0, valuesOf(present) end
  local generation = max(record.committed + 1, record.opened + 1, record.floor + 1, now)
  record.opened = generation
  -- The run is alive. While its process stores the new copies, nobody else may run the job.
  if by == 'again' then record.leaseEnd = now + LEASE end
  if known and known.generation == record.committed then owe(record, known.due, known.mask, known.unknown) end
  count(record, generation, due, announced)
  local live = isLive(record)
  writeRecord(key, record)
  return '', generation, valuesOf(live and present)
end
${replyEach(FIELDS, 'open')}
writeAll()
return reply
`;

export const open: RedisVerb<OpenRequest, OpenAnswer> = {
  fields: FIELDS,
  script: SCRIPT,
  read(from) {
    const why = from.text();
    const generation = from.number();
    const present = readSchedule(from);
    return why === ''
      ? { kind: 'opened', generation, present }
      : { kind: 'refused', why: why as Refusal, present };
  },
};
