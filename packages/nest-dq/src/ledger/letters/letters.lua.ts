import { formatPlaces, parsePlaces } from '../../copies/location.js';
import { readShaped, type Shape } from '../foreign-json.js';
import type {
  BuriedAnswer,
  BuriedRequest,
  DeathsRequest,
  DiscardRequest,
  Letter,
  LetterList,
  LetterPage,
  LetterRef,
  SurplusRequest,
} from '../requests.js';
import { readFailures } from '../records/failures.js';
import { letterName } from '../records/records.js';
import { GENERATIONS } from '../schedules/generations.lua.js';
import { RANKS } from '../waiting/ranks.lua.js';
import { RECORD } from '../records/record.lua.js';
import {
  codes,
  namesOf,
  nonsense,
  readCodes,
  replyCodes,
  replyEach,
  type Fields,
  type RedisVerb,
  type ScriptReply,
} from '../script.js';

const READ = `
needLetters()

-- Whether addLetter wrote it.
local function isLetter(text)
  if #text > 1048576 then return false end
  local read, letter = pcall(cjson.decode, text)
  if not read or type(letter) ~= 'table' then return false end
  for _, field in ipairs({ 'generation', 'due', 'attempt', 'died' }) do
    local number = letter[field]
    if type(number) ~= 'number' or not (math.abs(number) <= 8.64e15) then return false end -- the last time a Date can hold
  end
  local err = letter.error
  return type(letter.why) == 'string' and
    (err == nil or type(err) == 'table' and type(err.name) == 'string' and type(err.message) == 'string')
end

-- Replaces a letter written by another program, so that it is visible and can be discarded.
local function unreadable(name)
  local died = max(0, math.min(now, tonumber(call('ZSCORE', DEAD, name) or 0)))
  return '{"why":"invalid","generation":0,"due":0,"attempt":0,"died":' .. string.format('%d', died) ..
    ',"error":{"name":"DqError","message":"DQ_BAD_PAYLOAD: what Redis has of this dead letter is not what nest-dq writes"}}'
end

-- A letter in a reply: its JSON, its name, its places; or an empty string if there is none.
local function valuesOf(name)
  local found = name and call('HMGET', LETTERS, name, name .. ':l') or {}
  local letter = found[1]
  if not letter then return '' end
  return isLetter(letter) and letter or unreadable(name), short(name), short(found[2] or '')
end
`;

/** As written by `addLetter` in record.lua.ts. */
const LETTER: Shape = {
  fields: { why: 'text', generation: 'number', due: 'number', attempt: 'number', died: 'number' },
};

/** Parses the values of `valuesOf`. */
function readLetter(from: ScriptReply): Letter | undefined {
  const json = from.text();
  if (json === '') return undefined;
  const [name, places] = [from.text(), from.text()];
  const colon = name.lastIndexOf(':');
  const found = readShaped<Omit<Letter, 'id' | 'born' | 'places'>>(json, LETTER);
  if (!found) throw nonsense(json, 'a dead letter');
  const { failures, ...letter } = found;
  return {
    ...letter,
    ...(failures && readFailures(JSON.stringify(failures))),
    id: name.slice(0, colon),
    born: Number(name.slice(colon + 1)),
    places: parsePlaces(places),
  };
}

/** Parses the list for the only request of a call. */
function readList(from: ScriptReply): LetterList {
  const more = from.number() === 1;
  const found: Letter[] = [];
  while (!from.ended) {
    const letter = readLetter(from);
    if (letter) found.push(letter);
  }
  return { letters: found, more };
}

const PAGE: Fields<LetterPage> = {
  limit: 'limit',
  died: ({ after }) => after !== undefined && String(after.died),
  name: ({ after }) => after !== undefined && letterName(after.id, after.born),
};

/** A page of dead letters, newest first. */
export const letters: RedisVerb<LetterPage, LetterList> = {
  fields: PAGE,
  about: 'dead',
  script: `${RECORD}${READ}${RANKS}
-- Number of letters before the page. Many jobs may have died in the same millisecond. Their letters are in descending order
-- of their names, so a binary search finds the position.
local function ranksBefore(died, name)
  local low, high = call('ZCOUNT', DEAD, '(' .. died, '+inf'), call('ZCOUNT', DEAD, died, '+inf')
  while low < high do
    local middle = math.floor((low + high) / 2)
    if isLess(call('ZREVRANGE', DEAD, middle, middle)[1], name) then high = middle else low = middle + 1 end
  end
  return low
end

local function letters(key, ${namesOf(PAGE)})
  local first = died and ranksBefore(died, name) or 0
  local names = call('ZREVRANGE', DEAD, first, first + limit)
  push(#names > limit and 1 or 0)
  for n = 1, math.min(limit, #names) do push(valuesOf(names[n])) end
end
${replyEach(PAGE, 'letters')}
return reply
`,
  read: readList,
};

const SURPLUS: Fields<SurplusRequest> = {
  maxAge: 'maxAge',
  maxCount: 'maxCount',
  limit: 'limit',
};

/** Dead letters beyond their retention, oldest first. */
export const surplus: RedisVerb<SurplusRequest, LetterList> = {
  fields: SURPLUS,
  about: 'dead',
  script: `${RECORD}${READ}
local function surplus(key, ${namesOf(SURPLUS)})
  local all = call('ZCOUNT', DEAD, '-inf', '+inf')
  local old = call('ZCOUNT', DEAD, '-inf', '(' .. now - maxAge)
  local count = max(old, all - maxCount)
  local names = call('ZREVRANGE', DEAD, all - math.min(count, limit), all)
  push(count > limit and 1 or 0)
  for n = #names, 1, -1 do push(valuesOf(names[n])) end
end
${replyEach(SURPLUS, 'surplus')}
return reply
`,
  read: readList,
};

const DEATHS: Fields<DeathsRequest> = { since: 'since' };

/** The number of dead letters since a time. */
export const deaths: RedisVerb<DeathsRequest, number> = {
  fields: DEATHS,
  about: 'dead',
  script: `${RECORD}
needLetters()

local function deaths(key, since)
  return call('ZCOUNT', DEAD, since, '+inf')
end
${replyEach(DEATHS, 'deaths')}
return reply
`,
  read: (from) => from.number(),
};

const REF: Fields<LetterRef> = { born: 'born' };

const NAMED = `${READ}
-- The name of this generation's letter, or without born, of the current one; nil if the current one is not dead.
local function nameOf(key, born)
  if not born then
    local record = readRecord(key)
    if not record or record.state ~= 'x' then return nil end
    born = record.born
  end
  return letterName(key, born)
end
`;

/** Finds dead letters. */
export const letter: RedisVerb<LetterRef, Letter | undefined> = {
  fields: REF,
  script: `${RECORD}${NAMED}
local function letter(key, born)
  return valuesOf(nameOf(key, born))
end
${replyEach(REF, 'letter')}
return reply
`,
  read: readLetter,
};

const DISCARD: Fields<DiscardRequest> = { ...REF, died: 'died' };

/** Removes dead letters. */
export const discard: RedisVerb<DiscardRequest, Letter | undefined> = {
  fields: DISCARD,
  script: `${GENERATIONS}${NAMED}
local function oweAll(record, places)
  local mask, unknown = 0, 0
  for index, location in string.gmatch(places, ' (%d+)=(%S+)') do
    mask = bit.bor(mask, bit.lshift(1, index))
    if string.sub(location, -2) == ':?' then unknown = 1 end
  end
  owe(record, record.due, mask, unknown)
end

local function discard(key, ${namesOf(DISCARD)})
  local letter, name, places = valuesOf(nameOf(key, born))
  if letter == '' or died and cjson.decode(letter).died ~= died then return '' end
  dropLetter(name)
  local record = readRecord(key)
  if record and record.state == 'x' and letterName(key, record.born) == name then
    endRun(record, 'v')
    oweAll(record, places)
    writeRecord(key, record)
  end
  return letter, name, places
end
${replyEach(DISCARD, 'discard')}
return reply
`,
  read: readLetter,
};

const BURIED: Fields<BuriedRequest> = {
  born: 'born',
  generation: 'generation',
  places: ({ places }) => formatPlaces(places),
};

/** In Lua, `dead` has another name, because DEAD is a key. */
const ANSWERS: readonly BuriedAnswer[] = ['gone', 'dead', 'unknown'];

/** Records where the copies of dead jobs are. */
export const buried: RedisVerb<BuriedRequest, BuriedAnswer> = {
  fields: BURIED,
  script: `${RECORD}${READ}
${codes(['gone', 'has_letter', 'unknown'])}

local function buried(key, ${namesOf(BURIED)})
  local letter, name, known = valuesOf(letterName(key, born))
  if letter ~= '' and cjson.decode(letter).generation == generation then
    local all = known
    for place, location in string.gmatch(places, '( %d+=(%S+))') do
      if not string.find(all .. ' ', '=' .. location .. ' ', 1, true) then all = all .. place end
    end
    if all ~= known then call('HSET', LETTERS, name .. ':l', all) end
    return HAS_LETTER
  end
  local record = readRecord(key)
  return record and isOver(record, generation) and GONE or UNKNOWN
end
${replyCodes(BURIED, 'buried')}
`,
  ...readCodes(ANSWERS),
};
