// What the scripts of several verbs are told alike.
import { formatPlaces } from '../../../copies/location.js';
import type { AnnouncedGeneration, Opening, OwedCopies, RunRef } from '../../requests.js';
import type { Fields } from '../script.js';

/** What a record that was lost is made anew from. Nothing is due before its time, so times are rounded up. */
export const RUN = {
  generation: ({ generation }) => generation,
  born: ({ born }) => born,
  due: ({ due }) => Math.ceil(due),
  fence: ({ fence }) => fence,
  attempt: ({ attempt }) => attempt,
  lastOk: ({ lastOk }) => Math.floor(lastOk),
} satisfies Fields<RunRef>;

export const OWED = {
  mask: ({ owed }) => owed.mask,
  unknown: ({ owed }) => Number(owed.unknown),
} satisfies Fields<{ readonly owed: OwedCopies }>;

/** An opened generation, and which of its copies may exist. */
export const ANNOUNCED = {
  generation: ({ generation }) => generation,
  due: ({ due }) => Math.ceil(due),
  announced: ({ announced }) => announced,
  ...OWED,
} satisfies Fields<Omit<AnnouncedGeneration, 'places'>>;

export const PLACES = { places: ({ places }) => formatPlaces(places) } satisfies Fields<
  Pick<AnnouncedGeneration, 'places'>
>;

/** One value, a table in Lua: what only some requests have is no field of its own. */
export function tableOf<Request>(fields: Fields<Request>, request: Request): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value(request)]));
}

/** A table in Lua for `refusal`, in schedules.ts: `by`, and what that needs. */
export function openingOf(opening: Opening): object {
  return opening.by === 'again' ? { by: opening.by, ...tableOf(RUN, opening.run) } : opening;
}
