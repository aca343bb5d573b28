import type { OpenAnswer, OpenRequest, Refusal } from '../requests.js';
import { openingOf, OWED, PLACES, tableOf } from '../records/fields.js';
import { readSchedule, SCHEDULES } from './schedules.lua.js';
import { codes, namesOf, replyEach, type Fields, type RedisVerb } from '../script.js';

const KNOWN = {
  generation: 'generation',
  born: 'born',
  due: ({ due }) => Math.ceil(due),
  ...OWED,
  ...PLACES,
} satisfies Fields<NonNullable<OpenRequest['known']>>;

const FIELDS: Fields<OpenRequest> = {
  opening: ({ opening }) => openingOf(opening),
  due: ({ due }) => Math.ceil(due),
  announced: 'announced',
  known: ({ known }) => known !== undefined && tableOf(KNOWN, known),
};

/** `first`: nothing is in its way, and its generation is the server's time in this reply, as in nearly all calls. */
const KINDS = ['refused', 'opened', 'first'] as const;

/** Opens generations. Replies for each with the kind; the reason, if refused; the generation, if opened; the current schedule. */
const SCRIPT = `${SCHEDULES}
${codes(KINDS)}
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
  if not record then return REFUSED, 'unknown', '' end
  local present = scheduleOf(record)
  local why = refusal(record, opening)
  if why then return REFUSED, why, valuesOf(present) end
  local generation = max(record.committed + 1, record.opened + 1, record.floor + 1, now)
  if record.first < 0 and record.opened >= 0 then record.first = record.opened end
  record.opened = generation
  -- The run is alive. Nobody else may run the job while its process stores the new copies.
  if by == 'again' then record.leaseEnd = now + LEASE end
  if known and known.generation == record.committed then owe(record, known.due, known.mask, known.unknown) end
  count(record, generation, due, announced)
  local live = isLive(record)
  writeRecord(key, record)
  if generation == now and not live then return FIRST end
  return OPENED, generation, valuesOf(live and present)
end
${replyEach(FIELDS, 'open')}
writeAll()
return reply
`;

export const open: RedisVerb<OpenRequest, OpenAnswer> = {
  fields: FIELDS,
  script: SCRIPT,
  read(from) {
    const kind = from.entry(KINDS);
    switch (kind) {
      case 'first':
        return { kind: 'opened', generation: Math.floor(from.time / 1_000), present: undefined };
      case 'opened':
        return { kind, generation: from.number(), present: readSchedule(from) };
      case 'refused':
        return { kind, why: from.text() as Refusal, present: readSchedule(from) };
    }
  },
};
