// Fields shared by the requests of several verbs.
import { formatPlaces } from '../../copies/location.js';
import type { AnnouncedGeneration, Opening, OwedCopies, RunRef } from '../requests.js';
import { valueOf, type Fields } from '../script.js';

/** A run. If Redis lost its record, the script rebuilds it from these. Due times are rounded up: no job may run early. */
export const RUN = {
  generation: 'generation',
  born: 'born',
  due: ({ due }) => Math.ceil(due),
  fence: 'fence',
  attempt: 'attempt',
  lastOk: ({ lastOk }) => Math.floor(lastOk),
} satisfies Fields<RunRef>;

/** For calls that hold or return the permit of a run. */
export const COUNTED_RUN = {
  ...RUN,
  permit: 'permit',
} satisfies Fields<RunRef>;

export const OWED = {
  mask: ({ owed }) => owed.mask,
  unknown: ({ owed }) => Number(owed.unknown),
} satisfies Fields<{ readonly owed: OwedCopies }>;

/** An opened generation, and which of its copies may exist. */
export const ANNOUNCED = {
  generation: 'generation',
  due: ({ due }) => Math.ceil(due),
  announced: 'announced',
  ...OWED,
} satisfies Fields<Omit<AnnouncedGeneration, 'places'>>;

export const PLACES = { places: ({ places }) => formatPlaces(places) } satisfies Fields<
  Pick<AnnouncedGeneration, 'places'>
>;

/** Returns one value that is a table in Lua, for fields that only some requests have. */
export function tableOf<Request>(
  fields: Readonly<Record<string, keyof Request | ((request: Request) => unknown)>>,
  request: Request,
): object {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, valueOf(field, request)]));
}

/** Returns a table in Lua for `refusal` in schedules.ts: `by`, and the fields of such an opening. */
export function openingOf(opening: Opening): object {
  return opening.by === 'again' ? { by: opening.by, ...tableOf(RUN, opening.run) } : opening;
}
