import type { JobRef } from '../api/job.js';
import { storedTube, type Tube } from '../api/tube.js';
import type { Acts } from '../fleet/acts.js';
import type { History } from '../fleet/history.js';
import type { LedgerView } from '../ledger/ledger-view.js';
import type { Presence } from '../fleet/presence.js';
import type { SeriesRuns } from '../fleet/series-runs.js';
import type { WaitingJob } from '../ledger/waiting/waiting-jobs.js';
import type { DqDeadLetters } from '../producer/dead-letters.js';
import type { ProducerParts } from '../producer/producer-context.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import type { SeriesScheduler } from '../recurring/series-scheduler.js';
import type { ClusterSeries } from './dq-series.js';
import { deadGroups, type DeadGroups, type DeadGroupsFilter, deadPage, type DeadPage } from './dead-view.js';
import { actPage, type ActPage, type ActPageOptions } from './act-view.js';
import { explain } from './explain.js';
import type { Explanation } from './explanation.js';
import { type FinishedFilter, type FinishedPage, finishedPage } from './finished-view.js';
import {
  errorsOf,
  type JobFilter,
  type JobPage,
  keysOf,
  type TimelineBucket,
  timelineOf,
  type TimelineOptions,
  waitingPage,
} from './waiting-view.js';
import { Capacities, type Forecast, forecastOf, type ForecastSpread } from './forecast.js';
import { jobsPage, type JobsPage } from './jobs-page.js';
import { payloadOf, type JobPayload } from './job-payload.js';
import { type PrefixSearchResult, searchPrefix } from './prefix-search.js';
import { searchJobs, type SearchResult } from './search.js';
import {
  bucketsOf,
  type HistoryBucket,
  historyOfTubes,
  type HistoryRange,
  type TubeHistory,
} from './history-view.js';
import { viewOfNode, type NodeView } from './node-view.js';
import { goneProcesses, processesOf, type ProcessView } from './processes.js';
import { recentRuns, type RecentRuns } from './recent-runs.js';
import { viewsOfSeries, type SeriesView } from './series-view.js';
import { viewOfTube, viewOfTubes, type TubeList, type TubeView } from './tube-view.js';

/**
 * Shows what waits and who runs it. It changes nothing, and no decision about a job depends on it. Inject it. What a call can't
 * find out within a second is absent from its result.
 */
export abstract class DqInspector {
  /** Asks the nodes, and resolves with their state in the order of the option `beanstalks`. Never rejects. */
  abstract nodes(): Promise<NodeView[]>;

  /** Resolves with the state of the ledger. Never rejects. */
  abstract ledger(): Promise<LedgerView>;

  /**
   * Resolves with the tubes and about how many jobs each has: a tube with a million jobs costs as much as one with ten. At most
   * 1,000 tubes; use `tube` for others. Takes at most two seconds, and never rejects.
   */
  abstract tubes(): Promise<TubeList>;

  /** Resolves with one tube, even if it has no job and nobody consumes it. Rejects with `DQ_BAD_TUBE`. */
  abstract tube(tube: string | Tube): Promise<TubeView>;

  /**
   * Resolves with what is known of a job: what the ledger decided, the place and state of each copy, and a sentence on why the
   * job hasn't run. Servers that don't answer become part of it. Takes at most four seconds. Rejects with `DQ_BAD_REF`,
   * `DQ_BAD_TUBE`.
   */
  abstract explain(ref: JobRef): Promise<Explanation>;

  /**
   * Resolves with a page of the waiting jobs of a tube, by due time. A cluster lists them in its index (see the option `index`),
   * which may miss some: `listed` of `about`. Dead letters are listed by `DqDeadLetters`. Rejects with `DQ_BAD_OPTION`,
   * `DQ_BAD_TIME`, `DQ_BAD_TUBE`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract jobs(tube: string | Tube, filter?: JobFilter): Promise<JobPage>;

  /**
   * Resolves with a page of the completed jobs of a tube, newest first, or with the one that has the given key or id. The ledger
   * keeps those of handlers with the option `keepDone`. Rejects with `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_TUBE`,
   * `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract finished(tube: string | Tube, filter?: FinishedFilter): Promise<FinishedPage>;

  /** Counts the listed jobs of a tube by due time. Rejects as `jobs` does. */
  abstract timeline(tube: string | Tube, options: TimelineOptions): Promise<TimelineBucket[]>;

  /**
   * Resolves with the timeline of a tube and how late its jobs will start: the tube as a queue with the rate limit of its handler,
   * or with the most it ran in a minute of the last two days in which it had a backlog, whichever is lower. `spread`: as if these
   * jobs were spread. Only listed jobs count, and nothing that is still to be added. Rejects as `jobs` does.
   */
  abstract forecast(
    tube: string | Tube,
    options: TimelineOptions,
    spread?: ForecastSpread,
  ): Promise<Forecast>;

  /**
   * Groups the dead letters of all tubes by their errors. It reads them from the ledger in pages of 128, at most `limit` letters,
   * the newest. Rejects with `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_TUBE`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract deadGroups(filter?: DeadGroupsFilter): Promise<DeadGroups>;

  /**
   * Resolves with the `@Recurring` methods of all processes, when each runs next, and how it ran last: those of this process
   * first, at most 1,000. One that no process has any more is listed while its job still waits. Then those of `DqSeries` that were
   * missed, at most 100; `DqSeries.list` has the others. Rejects with `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract series(): Promise<SeriesView[]>;

  /**
   * Resolves with the processes that use this cluster, by start time; at most 1,000. Each announces itself every 5 s; one that
   * died is shown for 15 s. Rejects with `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract processes(): Promise<ProcessView[]>;

  /**
   * Resolves with the processes that fell silent without a goodbye within the last day: killed, frozen, or cut off from Redis. At
   * most 20, the last one first; `toldAt` is when each was last heard of. Rejects with `DQ_LEDGER_DOWN`.
   */
  abstract goneProcesses(): Promise<ProcessView[]>;

  /**
   * Resolves with what happened by minute, in all processes, within the last two days; empty minutes are left out. The counts are
   * some seconds old, and not exact: a process that dies, or can't reach Redis for long, loses some. Per hour, 100 tubes have
   * counts of their own. Rejects with `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_TUBE`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract history(range: HistoryRange): Promise<HistoryBucket[]>;

  /**
   * Resolves with a page of what operators did, latest first: the events `operated` of all processes. The ledger keeps the last
   * 1,000. Rejects with `DQ_BAD_OPTION`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
   */
  abstract acts(options?: ActPageOptions): Promise<ActPage>;
}

/** Max missed series of `DqSeries` in a list. */
const MAX_MISSED = 100;

/** Parts of a cluster that its inspector reads. */
interface InspectorParts extends Pick<
  ProducerParts,
  'cluster' | 'ledger' | 'waiting' | 'clock' | 'settings'
> {
  readonly viewLedger: () => Promise<LedgerView>;
  readonly producer: ClusterProducer;
  readonly deadLetters: DqDeadLetters;
  readonly series: SeriesScheduler;
  readonly presence: Presence;
  readonly history: History;
  readonly acts: Acts;
  readonly seriesRuns: SeriesRuns;
  /** The series made at run time. */
  readonly planned: Pick<ClusterSeries, 'missed'>;
}

/** The inspector of one cluster. */
export class ClusterInspector extends DqInspector {
  private readonly capacities: Capacities;

  constructor(private readonly parts: InspectorParts) {
    super();
    this.capacities = new Capacities(parts.clock);
  }

  override nodes(): Promise<NodeView[]> {
    const { cluster, clock } = this.parts;
    return Promise.all(cluster.nodes.map((node) => viewOfNode(node, clock)));
  }

  override ledger(): Promise<LedgerView> {
    return this.parts.viewLedger();
  }

  override tubes(): Promise<TubeList> {
    return viewOfTubes(this.parts);
  }

  override async tube(tube: string | Tube): Promise<TubeView> {
    return viewOfTube(this.parts, storedTube(tube, this.parts.settings.prefix));
  }

  override async explain(ref: JobRef): Promise<Explanation> {
    return explain(this.parts, await this.parts.producer.present(ref));
  }

  /** For views that show payloads: see `payloadOf`. */
  async payload(ref: JobRef): Promise<JobPayload | undefined> {
    return payloadOf(this.parts, await this.parts.producer.present(ref));
  }

  /** For a search without a tube: see `searchJobs`. */
  async search(text: string): Promise<SearchResult> {
    return searchJobs(this.parts, text);
  }

  /** For suggestions: see `searchPrefix`. */
  async searchPrefix(prefix: string, tubes: readonly string[]): Promise<PrefixSearchResult> {
    return searchPrefix(this.parts, prefix, tubes);
  }

  override async jobs(tube: string | Tube, filter?: JobFilter): Promise<JobPage> {
    const { cluster, waiting, ledger, settings } = this.parts;
    const { prefix } = settings;
    const { seal } = cluster.settings;
    const storedAs = storedTube(tube, prefix);
    const now = ledger.tube(storedAs).now();
    const source = { waiting, tube: storedAs, prefix, seal, now };
    const keys = (jobs: readonly WaitingJob[]) => keysOf(this.parts, storedAs, jobs);
    const errors = (jobs: readonly WaitingJob[]) => errorsOf(ledger, storedAs, jobs);
    const page = await waitingPage({ ...source, keysOf: keys, errorsOf: errors }, filter);
    const { waiting: toCome, due } = await viewOfTube({ ...this.parts, waiting: undefined }, storedAs);
    return { ...page, ...(toCome !== undefined && due !== undefined && { about: toCome + due }) };
  }

  /** For lists of the jobs of several tubes, or of those whose key begins so: see `jobsPage`. */
  async jobsPage(query: Parameters<typeof jobsPage>[1]): Promise<JobsPage> {
    return jobsPage(this.parts, query);
  }

  override async finished(tube: string | Tube, filter?: FinishedFilter): Promise<FinishedPage> {
    return finishedPage(this.parts, tube, filter);
  }

  override async timeline(tube: string | Tube, options: TimelineOptions): Promise<TimelineBucket[]> {
    const { waiting, settings } = this.parts;
    return timelineOf({ waiting, tube: storedTube(tube, settings.prefix) }, options);
  }

  override async forecast(
    tube: string | Tube,
    options: TimelineOptions,
    spread?: ForecastSpread,
  ): Promise<Forecast> {
    const { parts, capacities } = this;
    const storedAs = storedTube(tube, parts.settings.prefix);
    return forecastOf({ ...parts, capacities }, storedAs, options, spread);
  }

  override async deadGroups(filter?: DeadGroupsFilter): Promise<DeadGroups> {
    return deadGroups(this.parts, filter);
  }

  /** For lists of dead letters of several tubes: see `deadPage`. */
  async deadPage(query: Parameters<typeof deadPage>[1]): Promise<DeadPage> {
    return deadPage(this.parts, query);
  }

  override series(): Promise<SeriesView[]> {
    return this.allSeries();
  }

  /** For metrics and problems, which look often: without the times after the next one. */
  seriesStates(): Promise<SeriesView[]> {
    return this.allSeries(0);
  }

  override history(range: HistoryRange): Promise<HistoryBucket[]> {
    return bucketsOf(this.parts.history, this.parts.settings.prefix, range);
  }

  /** For a table of tubes: see `historyOfTubes`. */
  historyOfTubes(): Promise<TubeHistory[]> {
    return historyOfTubes(this.parts.history);
  }

  /** For finding problems: see `recentRuns`. */
  recentRuns(): Promise<Map<string, RecentRuns>> {
    return recentRuns(this.parts.history);
  }

  override async acts(options?: ActPageOptions): Promise<ActPage> {
    return actPage(this.parts.acts, options);
  }

  override processes(): Promise<ProcessView[]> {
    return processesOf(this.parts);
  }

  override goneProcesses(): Promise<ProcessView[]> {
    return goneProcesses(this.parts.presence);
  }

  private async allSeries(times?: number): Promise<SeriesView[]> {
    const { planned } = this.parts;
    const [declared, missed] = await Promise.all([
      viewsOfSeries(this.parts, times),
      planned.missed(MAX_MISSED),
    ]);
    return [...declared, ...missed];
  }
}
