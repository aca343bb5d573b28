import { withinLimit } from '../time/call-limit.js';
import type { Clock } from 'nest-handlers/time';
import type { UnequalFacts } from '../fleet/unequal-settings.js';
import type { DqHealthState } from '../health/health.js';
import type { LedgerView } from '../ledger/ledger-view.js';
import type { ActPage } from '../operate/act-view.js';
import { LastCauses } from '../operate/last-causes.js';
import { problemsOf, type Problems, type TubeProblemCode } from '../operate/problems.js';
import type { ProcessView } from '../operate/processes.js';
import type { RecentRuns } from '../operate/recent-runs.js';
import type { SeriesView } from '../operate/series-view.js';
import { Trends } from '../operate/trends.js';
import type { TubeList, TubeView } from '../operate/tube-view.js';

/** Causes for which nothing runs: jobs only become fewer because people revoke or move them. */
const STANDS_STILL: ReadonlySet<TubeProblemCode> = new Set([
  'ledger-down',
  'paused',
  'no-consumer',
  'settling',
  'not-reserving',
]);

/** How old what costs a call of its own may be. */
const REFRESH_MS = 10_000;
/** Time limit of such calls: without their answer, what they said before counts. */
const LIMIT_MS = 1_000;
/** How long processes may take to announce themselves to a Redis that was away, and to reserve again. */
const SETTLE_MS = 20_000;
/** Acts among which the one that paused a tube is looked for. */
const MAX_ACTS = 200;
/** Tubes of an embedded node that are asked one by one: its list doesn't count what is overdue. */
const MAX_ASKED = 10;

/** The parts of the cluster as read in one look; null if unreadable. */
export interface WatchedParts {
  readonly health: DqHealthState | null;
  readonly tubes: TubeList | null;
  readonly ledger: LedgerView | null;
  readonly processes: readonly ProcessView[] | null;
}

export interface ProblemWatchParts {
  readonly clock: Clock;
  /** Ledger time in ms. */
  readonly now: () => number;
  readonly minWritten: number;
  readonly tube: (name: string) => Promise<TubeView>;
  readonly acts: (limit: number) => Promise<ActPage>;
  readonly recentRuns: () => Promise<Map<string, RecentRuns>>;
  /** Settings that differ in other processes. */
  readonly unequal: () => readonly UnequalFacts[];
  readonly series: () => Promise<readonly SeriesView[]>;
  readonly gone: () => Promise<readonly ProcessView[]>;
}

/** Finds what is wrong in successive looks at a cluster, and remembers what one look can't show. */
export class ProblemWatch {
  private readonly trends = new Trends();
  private readonly slow: readonly Slow[];
  private runs: ReadonlyMap<string, RecentRuns> = new Map();
  private series: readonly SeriesView[] = [];
  private gone: readonly ProcessView[] = [];
  /** By tube and start of the pause. */
  private readonly pausedBy = new Map<string, string>();
  private asked: ReadonlyMap<string, TubeView> = new Map();
  private tubes: readonly TubeView[] = [];
  private readonly causes = new LastCauses();
  /** The last parts that could be read. */
  private known: Omit<WatchedParts, 'tubes'> = { health: null, ledger: null, processes: null };
  private ledgerDownAt = -Infinity;

  constructor(private readonly parts: ProblemWatchParts) {
    const { clock } = parts;
    this.slow = [
      new Slow(
        clock,
        () => true,
        async () => void (this.runs = await parts.recentRuns()),
      ),
      new Slow(
        clock,
        () => true,
        async () => void (this.series = await parts.series()),
      ),
      new Slow(
        clock,
        () => true,
        async () => void (this.gone = await parts.gone()),
      ),
      new Slow(
        clock,
        () => this.tubes.some((each) => this.lacksPauser(each)),
        () => this.findPausers(),
      ),
      new Slow(
        clock,
        () => this.uncounted().length > 0,
        () => this.askUncounted(),
      ),
    ];
  }

  /** Never rejects. */
  async judge({ tubes, ...read }: WatchedParts): Promise<Problems> {
    const { clock, now, minWritten, unequal } = this.parts;
    // An unreadable part is not well: the last known one counts.
    this.known = {
      health: read.health ?? this.known.health,
      ledger: read.ledger ?? this.known.ledger,
      processes: read.processes ?? this.known.processes,
    };
    const { health, ledger, processes } = this.known;
    if (read.health?.redis === 'down') this.ledgerDownAt = clock.now();
    this.tubes = tubes?.tubes ?? this.tubes;
    await Promise.all(this.slow.map((each) => each.refresh()));
    const counted = tubes && { ...tubes, tubes: tubes.tubes.map((each) => this.whole(each)) };
    const settling = clock.now() - this.ledgerDownAt < SETTLE_MS;
    const found = problemsOf({
      now: now(),
      wall: clock.wall(),
      minWritten,
      health,
      tubes: counted,
      ledger,
      processes,
      gone: this.gone,
      unequal: unequal(),
      runs: this.runs,
      series: this.series,
      pausedBy: this.pausers(),
      settling,
    });
    // Failing jobs become fewer when they are dead, which is no recovery.
    const counts = found.tubes.flatMap(({ tube, code, jobs }) =>
      jobs === undefined || code === 'failing' ? [] : [[`${code} ${tube}`, jobs] as const],
    );
    const jobs = new Map(counts);
    const trends = this.trends.look(clock.now(), jobs);
    const moving = {
      ...found,
      tubes: found.tubes.map((each) => {
        const { caughtUpIn, ...trend } = trends.get(`${each.code} ${each.tube}`) ?? {};
        return {
          ...each,
          ...trend,
          ...(caughtUpIn !== undefined && !STANDS_STILL.has(each.code) && { caughtUpIn }),
        };
      }),
    };
    return this.causes.look(moving, { tubes: counted, now: now(), settling });
  }

  private pausers(): Map<string, string> {
    const known = this.tubes.map((each) => [each.tube, this.pausedBy.get(pauseKey(each))] as const);
    return new Map(known.filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  private lacksPauser(tube: TubeView): boolean {
    return tube.paused !== undefined && !this.pausedBy.has(pauseKey(tube));
  }

  private async findPausers(): Promise<void> {
    const { acts } = await this.parts.acts(MAX_ACTS);
    for (const tube of this.tubes.filter((each) => this.lacksPauser(each))) {
      const act = acts.find(
        ({ act: name, on, error }) => name === 'pause' && on.tube === tube.tube && !error,
      );
      if (act) this.pausedBy.set(pauseKey(tube), act.by);
    }
  }

  private uncounted(): TubeView[] {
    return this.tubes.filter(({ due = 0, overdue }) => due > 0 && overdue === undefined).slice(0, MAX_ASKED);
  }

  private async askUncounted(): Promise<void> {
    const views = await Promise.all(this.uncounted().map(({ tube }) => this.parts.tube(tube)));
    this.asked = new Map(views.map((view) => [view.tube, view]));
  }

  /** A tube with what was asked about it alone. */
  private whole(tube: TubeView): TubeView {
    const asked = this.asked.get(tube.tube);
    if (!asked || tube.overdue !== undefined || !tube.due) return tube;
    const { overdue, oldestDue } = asked;
    const overdueFor = oldestDue && Math.max(0, this.parts.now() - oldestDue.getTime());
    return {
      ...tube,
      ...(overdue !== undefined && { overdue }),
      ...(oldestDue && { oldestDue }),
      ...(overdueFor !== undefined && { overdueFor }),
    };
  }
}

function pauseKey({ tube, paused }: TubeView): string {
  return `${tube} ${paused?.since.getTime()}`;
}

/** A fact that is read again when it is old, while somebody needs it. */
class Slow {
  private readAt = -Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly isNeeded: () => boolean,
    private readonly read: () => Promise<void>,
  ) {}

  /** Never rejects: if it can't be read, what is known counts until the next look. */
  async refresh(): Promise<void> {
    if (this.clock.now() - this.readAt < REFRESH_MS || !this.isNeeded()) return;
    this.readAt = this.clock.now();
    await withinLimit(this.clock, LIMIT_MS, this.read()).catch(() => (this.readAt = -Infinity));
  }
}
