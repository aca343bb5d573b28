import { parsePlaces } from '../../copies/location.js';
import type { Schedule } from '../requests.js';
import { nonsense, type ScriptReply } from '../script.js';
import { GENERATIONS } from './generations.lua.js';
import { RECORDS_ONCE } from '../records/record.lua.js';

/** For scripts that report the state of a job, or refuse a generation. */
export const SCHEDULES: string = `${GENERATIONS}${RECORDS_ONCE}
-- The committed generation as callers see it now; nil if there is none.
local function scheduleOf(record)
  if not record or record.committed == -1 then return nil end
  local state = record.state
  if isRunning(record) and record.leaseEnd <= now then
    state = state == 'l' and 'v' or 'w'
  elseif state == 'l' then
    state = 'r'
  elseif state == 'u' then
    state = 'v'
  end
  if record.expired then state = 'e' end
  return {
    state = state, born = record.born, committed = record.committed, due = record.due, attempt = record.attempt,
    places = record.places,
  }
end

-- A schedule in a reply: state (w r d v x e), born, generation, due, attempt, places; or an empty string if there is none.
local function valuesOf(schedule)
  if not schedule then return '' end
  return schedule.state, schedule.born, schedule.committed, schedule.due, schedule.attempt, schedule.places
end

-- Why the record in its current state refuses a generation; nil if it does not.
local function refusal(record, opening)
  local by = opening.by
  if by == 'add' and opening.after and record.committed ~= -1 and record.born > opening.after then return 'taken' end
  if by == 'add' then return opening.onDuplicate ~= 'replace' and isLive(record) and 'taken' or nil end
  if by == 'again' then
    if record.fence ~= opening.fence or not isRunning(record) then return 'lost' end
    if record.committed ~= opening.generation then return 'changed' end
    return record.state == 'l' and 'revoked' or nil
  end
  local present = scheduleOf(record)
  if not present then return 'unknown' end
  if present.committed ~= opening.expected then return 'changed' end
  local state = present.state
  if state == (by == 'move' and 'w' or 'x') then return nil end
  return ({ w = 'changed', r = 'running', d = 'done', v = 'revoked', x = 'dead', e = 'expired' })[state]
end
`;

const STATES: Readonly<Record<string, Schedule['state']>> = {
  w: 'waiting',
  r: 'running',
  d: 'done',
  v: 'revoked',
  x: 'dead',
  e: 'expired',
};

/** Parses the values of `valuesOf`. */
export function readSchedule(from: ScriptReply): Schedule | undefined {
  const text = from.text();
  if (text === '') return undefined;
  const state = Object.hasOwn(STATES, text) ? STATES[text] : undefined;
  if (state === undefined) throw nonsense(text, 'a state');
  const [born, generation, due, attempt] = [from.number(), from.number(), from.number(), from.number()];
  return { state, born, generation, due, attempt, places: parsePlaces(from.text()) };
}
