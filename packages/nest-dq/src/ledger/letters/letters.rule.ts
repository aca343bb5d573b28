// Dead letters: the same rules as letters.lua.ts.
import { hasUnknown, maskOf, type Place } from '../../copies/location.js';
import { endRun, isOver } from '../records/job-record.js';
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
import { letterName, type Records, type Moment } from '../records/records.js';
import { newestFirst } from './newest-first.js';
import { owe } from '../records/owed-copies.rule.js';

export function letters(records: Records, { limit, after }: LetterPage): LetterList {
  const behind = (letter: Letter) => !after || newestFirst(after, letter) < 0;
  const found = [...records.letters.values()].filter(behind).sort(newestFirst);
  return { letters: found.slice(0, limit), more: found.length > limit };
}

export function surplus(
  { letters: all }: Records,
  { maxAge, maxCount, limit }: SurplusRequest,
  { now }: Moment,
): LetterList {
  let old = 0;
  for (const { died } of all.values()) if (died < now - maxAge) old++;
  const count = Math.max(old, all.size - maxCount);
  if (count === 0) return { letters: [], more: false };
  const oldestFirst = [...all.values()].sort((a, b) => newestFirst(b, a));
  return { letters: oldestFirst.slice(0, Math.min(count, limit)), more: count > limit };
}

export function deaths({ letters: all }: Records, { since }: DeathsRequest): number {
  let count = 0;
  for (const { died } of all.values()) if (died >= since) count++;
  return count;
}

export function letter(records: Records, ref: LetterRef, time: Moment): Letter | undefined {
  const { id } = ref;
  const record = records.read(id, time);
  const born = ref.born ?? (record?.state === 'dead' ? record.born : undefined);
  return born === undefined ? undefined : records.letters.get(letterName(id, born));
}

export function buried(
  records: Records,
  { id, born, generation, places }: BuriedRequest,
  time: Moment,
): BuriedAnswer {
  const found = records.letters.get(letterName(id, born));
  if (found?.generation === generation) {
    const isNew = ({ location }: Place) => !found.places.some((each) => each.location === location);
    const added = places.filter(isNew);
    if (added.length > 0) records.keepLetter({ ...found, places: [...found.places, ...added] });
    return 'dead';
  }
  const record = records.read(id, time);
  return record && isOver(record, generation) ? 'gone' : 'unknown';
}

export function discard(records: Records, ref: DiscardRequest, time: Moment): Letter | undefined {
  const found = letter(records, ref, time);
  if (!found || (ref.died !== undefined && found.died !== ref.died)) return undefined;
  records.dropLetter(found.id, found.born);
  const record = records.read(found.id, time);
  if (record?.state === 'dead' && record.born === found.born) {
    endRun(record, 'revoked');
    const { due, places } = found;
    owe(record, due, { mask: maskOf(places), unknown: hasUnknown(places) });
    records.write(found.id, record, time);
  }
  return found;
}
