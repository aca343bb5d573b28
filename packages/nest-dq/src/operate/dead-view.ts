import type { DeadLetter } from '../api/dead-letter.js';
import { storedTube, type StoredTube, type Tube, withoutPrefix } from '../api/tube.js';
import { makeDeadLetter } from '../copies/make-dead-letter.js';
import { checkBetween, checkObject } from '../producer/call-options.js';
import {
  beforeLettersOf,
  letterCursor,
  type LetterPosition,
  openLetter,
  readLetterCursor,
} from '../producer/letter-pages.js';
import { someAtOnce } from './bulk.js';
import { checkLetterFilter, type DeadLetterFilter } from './letter-filter.js';
import { groupOf } from './letter-group.js';
import { type TubeLetter, walkLetters } from './letters-walk.js';
import { namesOfTubes, type TubeSources } from './tube-view.js';

/** Dead letters whose errors are of one kind. */
export interface DeadGroup {
  /**
   * Name and message of the error, with `…` for what differs between its letters, such as `Error: connect ECONNREFUSED …`; the
   * cause of death of letters without an error. The field `group` of a `DeadLetterFilter` selects exactly these letters.
   */
  readonly group: string;
  /** Number of letters. */
  readonly letters: number;
  /** The tubes they are in, those with the most first. */
  readonly tubes: readonly { readonly tube: string; readonly letters: number }[];
  /** Time of the first death. */
  readonly first: Date;
  /** Time of the last death. */
  readonly last: Date;
  /** Deaths over time: 24 equal parts of the time from `from` to `to` of the result. */
  readonly trend: readonly number[];
  /** The newest letter, without its key and payload: `DqDeadLetters.get` has them. */
  readonly sample: DeadLetter;
}

/** The groups of dead letters. */
export interface DeadGroups {
  /** The largest first; at most 200. */
  readonly groups: readonly DeadGroup[];
  /** Number of further groups. */
  readonly others: number;
  /** Number of letters in all groups. */
  readonly letters: number;
  /** Whether there are older letters, not looked at because of `limit`. */
  readonly more: boolean;
  /** Start of the trends: `diedFrom`, or the first death. */
  readonly from: Date;
  /** End of the trends: `diedTo`, or now. */
  readonly to: Date;
  /** Endpoints of nodes that didn't answer: tubes that only they have are left out. */
  readonly away: readonly string[];
}

/** Selects the dead letters to group. */
export interface DeadGroupsFilter extends Pick<DeadLetterFilter, 'diedFrom' | 'diedTo' | 'why' | 'error'> {
  /** @default all tubes, at most 1,000 */
  tube?: string | Tube;
  /** Max number of letters looked at, the newest: 1 to 100,000. @default 10,000 */
  limit?: number;
}

/** A page of dead letters, newest first. */
export interface DeadPage {
  /** May be fewer than the limit, even none, although more follow. */
  readonly letters: readonly DeadLetter[];
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
  /** Number of letters looked at for this page. */
  readonly looked: number;
  /** Number of all letters that match the filter, if it was asked for with the first page; `more`: at least as many. */
  readonly matching?: { readonly letters: number; readonly more: boolean };
}

/** Query of a page. */
interface DeadPageQuery {
  readonly filter: DeadLetterFilter;
  /** @default all tubes */
  readonly tube?: string | undefined;
  readonly cursor?: string | undefined;
  /** Whether to count the matching letters. */
  readonly count?: boolean | undefined;
  /** Whether to read no copy: letters have no key and payload. */
  readonly brief?: boolean | undefined;
}

const PARTS = 24;
const MAX_GROUPS = 200;
/** Max letters looked at by one call. */
const LOOKED_AT = 10_000;
const MOST_LOOKED_AT = 100_000;
const LARGEST_PAGE = 1_000;
/** Tubes asked concurrently. */
const AT_ONCE = 50;

/** Rejects with `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_TUBE`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`. */
export async function deadGroups(sources: TubeSources, filter?: DeadGroupsFilter): Promise<DeadGroups> {
  const names = ['tube', 'diedFrom', 'diedTo', 'why', 'error', 'limit'] as const;
  const { tube, limit = LOOKED_AT, ...rest } = checkObject('the filter', filter, names);
  checkBetween('limit', limit, 1, MOST_LOOKED_AT);
  const checked = checkLetterFilter(rest);
  const { tubes, away } = await tubesWithLetters(sources, tube, checked);
  const groups = new Map<string, TubeLetter[]>();
  const to = checked.diedTo ?? sources.ledger.now();
  let [looked, letters, oldest, more] = [0, 0, to, false];
  for await (const found of walkLetters(sources.ledger, tubes, startOf(checked), limit)) {
    if (found.letter.died < checked.diedFrom) break;
    more = looked === limit;
    if (more) break;
    looked++;
    if (!checked.matches(found.letter)) continue;
    letters++;
    oldest = Math.min(oldest, found.letter.died);
    const group = groupOf(found.letter);
    const others = groups.get(group);
    if (others) others.push(found);
    else groups.set(group, [found]);
  }
  const from = checked.diedFrom > 0 ? checked.diedFrom : oldest;
  const all = Array.from(groups, ([group, found]) => groupView(sources, group, found, { from, to }));
  all.sort((a, b) => b.letters - a.letters || b.last.getTime() - a.last.getTime());
  return {
    groups: all.slice(0, MAX_GROUPS),
    others: Math.max(0, all.length - MAX_GROUPS),
    letters,
    more,
    from: new Date(from),
    to: new Date(to),
    away,
  };
}

/** @param found Newest first, and at least one. */
function groupView(
  sources: TubeSources,
  group: string,
  found: readonly TubeLetter[],
  { from, to }: { readonly from: number; readonly to: number },
): DeadGroup {
  const byTube = new Map<string, number>();
  const trend = Array.from({ length: PARTS }, () => 0);
  for (const { tube, letter } of found) {
    const name = withoutPrefix(tube, sources.settings.prefix);
    byTube.set(name, (byTube.get(name) ?? 0) + 1);
    const part = Math.floor(((letter.died - from) / Math.max(1, to - from)) * PARTS);
    trend[Math.min(PARTS - 1, Math.max(0, part))]!++;
  }
  const tubes = Array.from(byTube, ([tube, letters]) => ({ tube, letters }));
  const [newest, oldest] = [found[0]!, found.at(-1)!];
  return {
    group,
    letters: found.length,
    tubes: tubes.sort((a, b) => b.letters - a.letters),
    first: new Date(oldest.letter.died),
    last: new Date(newest.letter.died),
    trend,
    sample: unopened(sources, newest),
  };
}

/** Rejects as `deadGroups` does. */
export async function deadPage(sources: TubeSources, query: DeadPageQuery): Promise<DeadPage> {
  const { filter, tube, cursor, count = false, brief = false } = query;
  const { limit = 50, ...rest } = filter;
  checkBetween('limit', limit, 1, LARGEST_PAGE);
  const checked = checkLetterFilter(rest);
  const after = cursor === undefined ? startOf(checked) : readLetterCursor(cursor, 'the previous page');
  const { tubes, letters: counted } = await tubesWithLetters(sources, tube, checked);
  const goesOn = count && !checked.byTime;
  const shown: TubeLetter[] = [];
  let [looked, lookedForPage, matching, more] = [0, 0, 0, false];
  let last: LetterPosition | undefined;
  let next: LetterPosition | undefined;
  for await (const found of walkLetters(sources.ledger, tubes, after, limit)) {
    if (found.letter.died < checked.diedFrom) break;
    more = looked === LOOKED_AT;
    if (shown.length === limit || more) next ??= last;
    if (next && (more || !goesOn)) break;
    looked++;
    if (!next) lookedForPage = looked; // what follows is only counted
    last = found.letter;
    if (!checked.matches(found.letter)) continue;
    matching++;
    if (!next) shown.push(found);
  }
  const letters = brief
    ? shown.map((each) => unopened(sources, each))
    : await Promise.all(shown.map((each) => openLetter(sources, each.tube, each.letter)));
  return {
    letters,
    ...(next && { cursor: letterCursor(next) }),
    looked: lookedForPage,
    ...(count && {
      matching: checked.byTime ? { letters: counted, more: false } : { letters: matching, more },
    }),
  };
}

/** Resolves with the tubes that have dead letters in a range of time, and the number of these letters. */
async function tubesWithLetters(
  sources: TubeSources,
  tube: string | Tube | undefined,
  { diedFrom, diedTo }: { readonly diedFrom: number; readonly diedTo: number | undefined },
): Promise<{ tubes: StoredTube[]; letters: number; away: readonly string[] }> {
  const { prefix } = sources.settings;
  const named = tube === undefined ? await namesOfTubes(sources) : undefined;
  const all = named?.tubes ?? [storedTube(tube!, prefix)];
  const tubes: StoredTube[] = [];
  let letters = 0;
  await someAtOnce(all, AT_ONCE, async (each) => {
    const since = async (time: number) =>
      (await sources.ledger.tube(each).ask('deaths', [{ since: time }]))[0]!;
    const later = diedTo === undefined ? 0 : await since(diedTo);
    const count = (await since(diedFrom)) - later;
    if (count <= 0) return;
    tubes.push(each);
    letters += count;
  });
  return { tubes, letters, away: named?.away ?? [] };
}

function startOf({ diedTo }: { readonly diedTo: number | undefined }): LetterPosition | undefined {
  return diedTo === undefined ? undefined : beforeLettersOf(diedTo - 1);
}

function unopened({ cluster, settings }: TubeSources, { tube, letter }: TubeLetter): DeadLetter {
  const { seal } = cluster.settings;
  const names = { tube: withoutPrefix(tube, settings.prefix), storedAs: tube };
  return makeDeadLetter({ ...names, letter, copy: undefined, seal });
}
