import type { StoredTube } from '../api/tube.js';
import type { WaitingJob, WaitingPosition } from '../ledger/waiting/waiting-jobs.js';
import { wrongValue } from '../errors.js';
import { formatCursor, parseCursor } from '../producer/cursor.js';
import { dueAt } from '../producer/due.js';
import type { ProducerContext } from '../producer/producer-context.js';
import type { Act } from './act.js';
import {
  type Bulk,
  type BulkOptions,
  type BulkPage,
  type BulkProgress,
  inBulk,
  moveListed,
  type MoveExample,
  MOVES_AT_ONCE,
  PAGE,
  someAtOnce,
  viewListed,
} from './bulk.js';
import { firstRank, freeRanks, notBefore, TakenRanks, turnOf, type Turns } from './spread.js';
import type { CheckedWaitingFilter } from './waiting-filter.js';

/** A spread, checked. */
interface SpreadCall {
  readonly tube: StoredTube;
  readonly filter: CheckedWaitingFilter;
  /** Returns the ms between two of `count` jobs. */
  readonly stepOf: (count: number) => number;
  readonly options: BulkOptions;
  readonly act: Act;
}

/** The source of each job's turn, taken once and kept in the cursor. Ledger times in ms. */
interface Begun {
  /** When the act began: what it, or somebody else, moves has a later generation. */
  readonly began: number;
  /** The first turn. */
  readonly begin: number;
  /** Number of jobs. */
  readonly count: number;
  /** The last job. */
  readonly end: WaitingPosition;
}

/** The act as it begins or continues. */
interface Plan extends Begun {
  readonly turns: Turns;
  /** The ranks of the jobs still to come. */
  readonly ranks: Generator<number, never, undefined>;
}

/**
 * Moves the matching jobs to their turns, in the order of their due times. A job's rank is the number of those before it: counted
 * once, and when the act continues from how many are left, so that each gets the time it would have had.
 */
export async function* spreadWaiting(
  context: ProducerContext,
  { tube, filter, stepOf, options, act }: SpreadCall,
): AsyncGenerator<BulkProgress<MoveExample>, void, undefined> {
  const { parts, retries } = context;
  const patience = context.patienceOf(options.patience);
  const ledger = parts.ledger.tube(tube);
  const { from, to, matches, limit = Infinity } = filter;
  const read = (page: { readonly from: number; readonly to?: number; readonly after?: WaitingPosition }) =>
    retries.run({ patience, repeatable: true }, () => {
      context.refuseIfClosed();
      return parts.waiting.page(tube, { ...page, limit: PAGE });
    });

  async function* all(page: Parameters<typeof read>[0]): AsyncGenerator<readonly WaitingJob[]> {
    let after = page.after;
    do {
      const { jobs, next } = await read({ ...page, ...(after && { after }) });
      yield jobs;
      after = next;
    } while (after);
  }

  /** Undefined if there are none. */
  async function beginning(): Promise<Plan | undefined> {
    let [began, count] = [0, 0];
    let first: WaitingJob | undefined;
    let last: WaitingJob | undefined;
    for await (const jobs of all({ from, ...(to !== undefined && { to }) })) {
      // A time that has certainly passed: what is opened from now on has an equal or greater generation.
      began ||= Math.floor(ledger.nowAtLeast());
      for (const job of jobs) {
        if (count >= limit || job.generation >= began || !matches(job)) continue;
        count++;
        first ??= job;
        last = job;
      }
      if (count >= limit) break;
    }
    if (!first || !last) return undefined;
    const begin = Math.max(first.due, Math.ceil(context.now(tube)));
    const end = { due: last.due, id: last.id };
    const turns = { begin, step: stepOf(count) };
    return { began, begin, count, end, turns, ranks: freeRanks(0, new Set()) };
  }

  async function continuing(begun: Begun, after: WaitingPosition | undefined): Promise<Plan> {
    const { began, begin, count, end } = begun;
    const before = { begin, step: stepOf(count) };
    const taken = new TakenRanks(before);
    for await (const jobs of all({ from: begin, to: turnOf(before, count - 1) + 1 }))
      for (const job of jobs) if (job.generation >= began) taken.note(job.due);
    let left = 0;
    for await (const jobs of all({ from, to: end.due + 1, ...(after && { after }) }))
      left += jobs.filter((job) => isMeant(begun, job)).length;
    const first = firstRank(count, left, taken.ranks);
    const turns = notBefore(before, first, context.now(tube));
    return { ...begun, begin: turns.begin, turns, ranks: freeRanks(first, taken.ranks) };
  }

  const isMeant = ({ began, end }: Begun, job: WaitingJob) =>
    job.generation < began &&
    matches(job) &&
    (job.due < end.due || (job.due === end.due && job.id <= end.id));

  const start = options.cursor === undefined ? undefined : readStart(options.cursor);
  let plan: Plan | undefined;
  const bulk: Bulk<WaitingJob, MoveExample> = {
    async read(cursor): Promise<BulkPage<WaitingJob>> {
      plan ??= await (start ? continuing(start.begun, start.after) : beginning());
      if (!plan) return { items: [], cursor: '', next: undefined };
      const after = cursor === undefined ? undefined : readStart(cursor).after;
      const { jobs, next } = await read({ from, to: plan.end.due + 1, ...(after && { after }) });
      return { items: jobs, cursor: cursorAt(plan, after), next: next && cursorAt(plan, next) };
    },
    matches: (job) => isMeant(plan!, job),
    timeOf: ({ due }) => due,
    cursorBehind: ({ due, id }) => cursorAt(plan!, { due, id }),
    async change(jobs, ended) {
      if (!plan) return;
      const { turns, ranks } = plan;
      const moves = jobs.map((job) => ({ job, turn: turnOf(turns, ranks.next().value) }));
      await someAtOnce(moves, MOVES_AT_ONCE, async ({ job, turn }) => {
        if (turn <= job.due) return ended(job, 'done'); // never earlier
        const due = dueAt(turn, true);
        const result = await moveListed(context, { patience }, tube, job, () => due(context.now(tube)));
        ended(job, typeof result !== 'string' ? result : result === 'rescheduled' ? 'done' : 'skipped');
      });
    },
    async show(job) {
      const movesTo = new Date(Math.max(job.due, turnOf(plan!.turns, plan!.ranks.next().value)));
      return { ...(await viewListed(context, tube, job)), movesTo };
    },
    told: () => (plan ? { spread: spanOf(plan) } : {}),
  };
  yield* inBulk(bulk, { cursor: options.cursor }, options.dryRun ? undefined : act);
}

function spanOf({ turns, count, end }: Plan) {
  const to = Math.max(turnOf(turns, count - 1), end.due);
  return { from: new Date(turns.begin), to: new Date(to) };
}

function cursorAt({ began, begin, count, end }: Begun, after: WaitingPosition | undefined): string {
  const begun = [began, begin, count, end.due, end.id];
  return after ? formatCursor(...begun, after.due, after.id) : formatCursor(...begun);
}

/** Throws `DQ_BAD_OPTION`. */
export function readStart(cursor: string): {
  readonly begun: Begun;
  readonly after: WaitingPosition | undefined;
} {
  const values = parseCursor(
    cursor,
    'the same spread',
    ['number', 'number', 'number', 'number', 'string'],
    ['number', 'number', 'number', 'number', 'string', 'number', 'string'],
  );
  const [began, begin, count, due, id] = values;
  if (!Number.isSafeInteger(count) || count < 1)
    throw wrongValue('DQ_BAD_OPTION', '`cursor`', cursor, 'the `cursor` of the same spread');
  const after = values.length === 7 ? { due: values[5], id: values[6] } : undefined;
  return { begun: { began, begin, count, end: { due, id } }, after };
}
