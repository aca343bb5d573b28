import { formatPlaces } from '../../copies/location.js';
import { MAX_FAILURES } from '../ledger.js';
import type { CompleteAnswer, CompleteRequest, FailedRun } from '../requests.js';
import { ANNOUNCED, COUNTED_RUN, OWED, PLACES, tableOf } from '../records/fields.js';
import { packEntry } from '../finished/entry.js';
import { KEEPING } from '../finished/finished.lua.js';
import { GENERATIONS } from '../schedules/generations.lua.js';
import { LIMITS_OF_RUNS } from '../limits/limits.lua.js';
import { RELISTING } from '../waiting/waiting.lua.js';
import { codes, namesOf, readCodes, replyCodes, type Fields, type RedisVerb } from '../script.js';

const FIELDS: Fields<CompleteRequest> = {
  ...COUNTED_RUN,
  ...OWED,
  where: ({ places }) => places !== undefined && formatPlaces(places),
  /** The kind alone, or a table with the kind and its fields. */
  outcome: ({ outcome }) => {
    const { kind } = outcome;
    switch (kind) {
      case 'done': {
        const { kept } = outcome;
        return kept ? { kind, entry: packEntry(kept.run), period: kept.period, max: kept.max } : kind;
      }
      case 'back':
        return kind;
      case 'retry':
        return { kind, due: Math.ceil(outcome.due), ...failureOf(outcome) };
      case 'dead': {
        const { why, error } = outcome.death;
        const places = formatPlaces(outcome.places);
        return { kind, why, error: error ? JSON.stringify(error) : '', places, ...failureOf(outcome) };
      }
      case 'again':
        return { kind, ...tableOf({ ...ANNOUNCED, ...PLACES }, outcome) };
      case 'later':
        return { kind, startBy: outcome.startBy, ...tableOf({ ...ANNOUNCED, ...PLACES }, outcome) };
    }
  },
};

/** The script stores it as it is. */
function failureOf({ failure }: { readonly failure?: FailedRun | undefined }): { readonly failure?: string } {
  return failure ? { failure: JSON.stringify(failure) } : {};
}

const ANSWERS: readonly CompleteAnswer[] = ['refused', 'ok', 'over'];

/** Records the outcomes of runs. */
const SCRIPT = `${GENERATIONS}${RELISTING}${LIMITS_OF_RUNS}${KEEPING}
${codes(ANSWERS)}
local NOTHING_MORE = {}

-- Keeps a failed run with the record, for people to see.
local function keepFailure(record, failure)
  if not failure then return end
  local failures = record.failures or {}
  failures[#failures + 1] = failure
  if #failures > ${MAX_FAILURES} then table.remove(failures, 1) end
  record.failures = failures
end

-- Commits or aborts the generation with which the job continues, and returns the answer.
local function goOn(key, record, next, answer)
  if answer ~= OK then
    record = record or emptyRecord()
    giveUp(record, next.generation, next.due, next.announced, next.mask, next.unknown)
  elseif record.committed == next.generation then
    confirm(record, next.due, next.mask, next.unknown, next.places)
  else
    take(record, record.born, next.generation, next.due, next.announced, next.mask, next.unknown, next.places)
  end
  writeRecord(key, record)
  return answer
end

local function refuse(key, record, next)
  return next and goOn(key, record, next, REFUSED) or REFUSED
end

local function complete(key, ${namesOf(FIELDS)})
  local more = type(outcome) == 'table' and outcome or NOTHING_MORE
  local kind = more.kind or outcome
  local again, later = kind == 'again', kind == 'later'
  local next = (again or later) and more
  local record = readRecord(key)
  if next and record and record.committed == next.generation then
    -- A claim has committed it, because the lease had expired.
    if later then return REFUSED end
    -- The call is a repeat, even if another process is running the job by now.
    return goOn(key, record, next, OK)
  end
  if not record then
    if now - lastOk >= DONE_TTL then return refuse(key, record, next) end
    record = madeAnew(generation, born, due, fence, attempt)
  elseif record.fence ~= fence then
    return refuse(key, record, next)
  end
  returnPermit(key, permit)
  runs[key] = record.token
  if generation < record.committed then
    -- The job was replaced while running, and this run only delayed the new generation.
    record.holdEnd, record.abort = nil, nil
    if next then return goOn(key, record, next, OVER) end
    writeRecord(key, record)
    return OVER
  elseif not isRunning(record) then
    if record.state == 'v' or record.state == 'u' then return OVER end
    return again and refuse(key, record, next) or OK
  end
  local leaseUntil, surfaces = record.leaseEnd, due
  if kind == 'done' or kind == 'dead' then
    endRun(record, kind == 'done' and 'd' or 'x')
    record.places = nil
    keepFailure(record, more.failure)
  elseif record.state == 'l' then
    endRun(record, 'v')
    record.places = nil
  elseif again then
    if voided(record, next.generation) then return refuse(key, record, next) end
    owe(record, due, mask, unknown)
    return goOn(key, record, next, OK)
  else
    endRun(record, 'w')
    if kind == 'back' then
      -- Its copies may become ready at once, and the job keeps the due time of the run that did not happen.
      surfaces = now
      record.attempt = max(0, record.attempt - 1)
    else
      surfaces = more.due
      record.due = surfaces
    end
    keepFailure(record, more.failure)
    if later then record.attempt = 0 end
    if later then record.failures, record.startBy = nil, more.startBy end
    if where and record.places == '' then record.places = where end
  end
  owe(record, surfaces, mask, unknown)
  if next then
    goOn(key, record, next, OVER)
    return record.state == 'v' and OVER or OK
  end
  if record.state == 'x' then addLetter(key, record, more.why, more.error, more.places) end
  writeRecord(key, record, leaseUntil)
  if more.entry then keepLater(key, more.entry, more.period, more.max) end
  return record.state == 'v' and OVER or OK
end
${replyCodes(FIELDS, 'complete', 'writeIndex()\nkeepFinished()')}
`;

export const complete: RedisVerb<CompleteRequest, CompleteAnswer> = {
  fields: FIELDS,
  script: SCRIPT,
  needsFinished: ({ outcome }) => outcome.kind === 'done' && outcome.kept !== undefined,
  ...readCodes(ANSWERS),
};
