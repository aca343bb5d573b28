// The JSON exchanged by the dashboard's server and the page in the browser. Types only: the page imports them. A Date is an ISO
// string here, and no list contains payloads.
import type { AsJson } from '../api/tube.js';
import type { DeadLetter } from '../api/dead-letter.js';
import type {
  DiscardResult,
  JobView,
  LimitOptions,
  RescheduleResult,
  ReviveResult,
  RevokeResult,
} from '../api/job.js';
import type { DqHealthState } from '../health/health.js';
import type { LedgerView } from '../ledger/ledger-view.js';
import type { ActPage, ActView } from '../operate/act-view.js';
import type { ExplainedJob, ExplanationReason } from '../operate/explanation.js';
import type { FinishedJob } from '../operate/finished-view.js';
import type { DeadGroup, DeadGroups } from '../operate/dead-view.js';
import type { Forecast } from '../operate/forecast.js';
import type { HistoryBucket, TubeHistory } from '../operate/history-view.js';
import type { MoveExample } from '../operate/bulk.js';
import type { JobsPage } from '../operate/jobs-page.js';
import type { NodeView } from '../operate/node-view.js';
import type { Problems } from '../operate/problems.js';
import type { ProcessView } from '../operate/processes.js';
import type { RepairExample } from '../operate/repair.js';
import type { PrefixSearchResult } from '../operate/prefix-search.js';
import type { SearchResult } from '../operate/search.js';
import type { PlannedSeries, SeriesRunView, SeriesView } from '../operate/series-view.js';
import type { ChangedLimits } from '../operate/tube-limits.js';
import type { PausedTube, ResumedTube } from '../operate/tube-pauses.js';
import type { TubeList, TubeView } from '../operate/tube-view.js';
import type { JobPage, JobSummary, TimelineBucket } from '../operate/waiting-view.js';
import type { LateTube } from './late-tubes.js';
import type { KafkaActOptions, KafkaLetter, KafkaLetterSummary, KafkaPlace } from './kafka-cluster.js';

/** `GET api/session`: the viewer and their permissions. */
export interface SessionWire {
  /** Version of nest-dq. */
  readonly version: string;
  /** The server's time. */
  readonly now: string;
  /** The permitted acts; empty for a viewer who may only read. */
  readonly acts: readonly ActName[];
  /** Whether the viewer may see payloads. */
  readonly payloads: boolean;
  /** Prefix of all tubes' stored names. */
  readonly prefix: string;
  /** Name of the cluster; absent for the unnamed one. */
  readonly cluster?: string;
  /** Names of the Kafka clusters of nest-kq; empty for the unnamed one. */
  readonly kafka: readonly string[];
  /** Absent if the application gives none. */
  readonly environment?: EnvironmentWire;
}
/** Environment of the application. */
export interface EnvironmentWire {
  readonly name: string;
  readonly tone: 'danger' | 'warning' | 'calm';
}

/** `GET api/tubes`. */
type TubeListWire = AsJson<TubeList>;
/** `GET api/tubes/:tube`. */
export type TubeWire = AsJson<TubeView>;
/** `GET api/tubes/:tube/jobs`, and `GET api/jobs` for all tubes. `looked` is absent for one tube without `prefix`. */
export type JobPageWire = AsJson<JobPage> & Partial<Pick<JobsPage, 'looked'>>;
/** One of its jobs. */
export type JobSummaryWire = AsJson<JobSummary>;

/** `GET api/tubes/:tube/finished`: completed jobs without their results. */
export interface FinishedPageWire {
  readonly jobs: readonly FinishedJobWire[];
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
}
/** One of its jobs. */
export type FinishedJobWire = AsJson<Omit<FinishedJob, 'result'>>;

/** `GET api/tubes/:tube/timeline`. */
export type TimelineWire = readonly AsJson<TimelineBucket>[];
/**
 * `GET api/tubes/:tube/forecast?edges`. With `spread`, a duration, or `perMinute`, and `dueFrom` and `dueTo`: as if these jobs
 * were spread.
 */
export type ForecastWire = AsJson<Forecast>;
/** `GET api/timeline`: the tubes with the most jobs, largest first. */
export interface TimelinesWire {
  readonly tubes: readonly { readonly tube: string; readonly buckets: TimelineWire }[];
  /** Number of other tubes. */
  readonly others: number;
  /** Nodes that didn't answer: tubes that only they have are missing. */
  readonly away: readonly string[];
}

/** `GET api/timeline/late?edges`: of the ten tubes with the most jobs, those that will be late, the first one first. */
export type LateTubesWire = readonly AsJson<LateTube>[];

/**
 * `GET api/history`: what happened, by minute or in steps of several. Lateness classes without
 * runs are left out; `upTo` of the last one is null: there is no limit.
 */
export type HistoryWire = readonly (Omit<AsJson<HistoryBucket>, 'byLateness'> & {
  readonly byLateness: readonly { readonly upTo: number | null; readonly started: number }[];
})[];
/** Its query. Times are ISO strings. */
export interface HistoryQuery {
  /** @default all tubes together */
  readonly tube?: string | undefined;
  /** Start of the first step. */
  readonly from: string;
  readonly to: string;
  /** Minutes per step: 1 to 1,440. @default 1 */
  readonly minutes?: number;
}

/** `GET api/history/tubes`: every tube that had jobs in the last two days. */
export type TubeHistoriesWire = readonly AsJson<TubeHistory>[];

/** A job, in a query or in the body of an act. */
export type JobRefWire =
  | { readonly ref: string }
  | { readonly tube: string; readonly id: string }
  | { readonly tube: string; readonly key: string };

/** `GET api/search?text`: `ref` if the text is one, or is a receipt with one; otherwise the jobs of all tubes whose key or id it is. */
export type SearchWire = { readonly ref: string } | AsJson<SearchResult>;

/** `GET api/search/prefix?prefix&tubes`: jobs of up to 20 tubes, separated by commas, whose key or id begins so. */
export type PrefixSearchWire = AsJson<PrefixSearchResult>;

/** A dead letter without its payload. */
export type DeadLetterWire = AsJson<Omit<DeadLetter, 'payload' | 'encoded'>>;

/** `GET api/job?…` with a `JobRefWire`. Headers and the result only for viewers who may see payloads, and not with `redact`. */
export type ExplanationWire = AsJson<Omit<ExplainedJob, 'deadLetter'>> &
  AsJson<ExplanationReason> & {
    readonly deadLetter?: DeadLetterWire;
    /** The operator's act that revoked it, if it is among the latest ones. */
    readonly revokedBy?: Pick<ActWire, 'act' | 'by' | 'at'>;
  };
/**
 * `GET api/job/payload?…` with a `JobRefWire`, and `GET api/tubes/:tube/dead/:id/payload`: what `redact` returned. All fields
 * are absent for a job without a payload.
 */
export interface PayloadWire {
  readonly payload?: unknown;
  /** A payload of bytes, in base64. */
  readonly bytes?: string;
  /** A payload that a codec wrote: its size in bytes, and the text if it is one and there's no `redact`. */
  readonly encoded?: { readonly codec: string; readonly size: number; readonly text?: string };
}

/** `GET api/dead/groups?tube&diedFrom&diedTo&why&error&limit`. */
export type DeadGroupsWire = AsJson<DeadGroups>;
/** One of these groups. */
export type DeadGroupWire = AsJson<DeadGroup>;

/**
 * `GET api/tubes/:tube/dead`, and `GET api/dead` for all tubes; newest first. The query is a `LetterFilterWire` with `cursor`;
 * `count=true` asks for `matching`, and `brief=true` reads no keys.
 */
export interface DeadLettersWire {
  /** May be fewer than `limit`, even none, although more follow. */
  readonly letters: readonly DeadLetterWire[];
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
  /** Number of letters looked at for this page. */
  readonly looked: number;
  /** Number of all letters that match, if it was asked for with the first page; `more`: at least as many. */
  readonly matching?: { readonly letters: number; readonly more: boolean };
}

/** A Kafka cluster, in each query below `api/kafka` and in the body of each act there. Absent for the unnamed one. */
interface KafkaClusterWire {
  readonly cluster?: string;
}
/** `GET api/kafka/topics`: topics of dead letters. */
export type KafkaTopicsWire = readonly string[];
/** `GET api/kafka/count`: the number of letters in a topic. */
export interface KafkaCountWire {
  readonly letters: number;
  /** Whether there are more, not counted. */
  readonly more: boolean;
  /** Time of the latest death. */
  readonly newest?: string;
  /** Partitions not counted because they have no leader. Absent if there are none. */
  readonly leaderless?: readonly number[];
}
/** A dead letter of Kafka in a list. */
export type KafkaLetterWire = AsJson<KafkaLetterSummary>;
/** `GET api/kafka/letters`, newest first. */
export interface KafkaLettersWire {
  /** May be fewer than `limit`, even none, although more follow. */
  readonly letters: readonly KafkaLetterWire[];
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
  /** Partitions whose letters are missing because they have no leader. Absent if there are none. */
  readonly leaderless?: readonly number[];
}
/** Selects letters. Times are ISO strings. `{}` selects all. */
export interface KafkaFilterWire {
  /** Original topic of the messages. */
  readonly origin?: string;
  /** Substring of the error's message or name. */
  readonly error?: string;
  readonly key?: string;
  readonly from?: string;
  readonly to?: string;
}
/** One letter, in a query and in the body of an act. `topic` is that of the dead letters. */
export type KafkaPlaceWire = KafkaClusterWire & KafkaPlace & { readonly topic: string };
/**
 * `GET api/kafka/letter?…` with a `KafkaPlaceWire`. `GET api/kafka/letter/payload` is a `PayloadWire` with `{ headers, value }`,
 * as `redact` returned it.
 */
export type KafkaWholeLetterWire = AsJson<Omit<KafkaLetter, 'value' | 'headers'>>;

/** `GET api/nodes`. */
export type NodesWire = readonly AsJson<NodeView>[];
/** `GET api/ledger`. */
export type LedgerWire = AsJson<LedgerView>;
/** `GET api/processes`. */
export type ProcessesWire = readonly AsJson<ProcessView>[];
/** `GET api/series`. "Trigger now" is the act `runNow` with its `tube` and `key`. */
export type SeriesWire = readonly AsJson<SeriesView>[];
/** `GET api/series/planned`: those made at run time, by name, without payloads. "Trigger now" as above. */
export interface PlannedSeriesPageWire {
  readonly series: readonly PlannedSeriesWire[];
  /** Number of all of them, whatever the prefix. */
  readonly total: number;
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
}
/** One of them. */
export type PlannedSeriesWire = AsJson<Omit<PlannedSeries, 'payload'>>;
/** The last run of a series. */
export type SeriesRunWire = AsJson<SeriesRunView>;
/** `GET api/health`. */
type HealthWire = AsJson<DqHealthState>;

/** Problems of the cluster, as codes with parameters: the page has the words. */
export type ProblemsWire = AsJson<Problems>;

/** `GET api/acts?cursor&limit`: what operators did, latest first. */
export type ActPageWire = AsJson<ActPage>;
/** One of these acts. */
export type ActWire = AsJson<ActView>;

/** `GET api/live`: the data of each event `state`. A part that was never read is null; `errors` says why one couldn't be read now. */
export interface LiveWire {
  /** The server's time. */
  readonly now: string;
  readonly tubes: TubeListWire | null;
  readonly nodes: NodesWire | null;
  readonly ledger: LedgerWire | null;
  readonly processes: ProcessesWire | null;
  readonly health: HealthWire | null;
  /** Only the latest act. */
  readonly acts: ActPageWire | null;
  /** Problems, worst first. */
  readonly problems: ProblemsWire;
  readonly errors?: { readonly [Part in LivePart]?: string };
  /**
   * When the values were read that stand in for what couldn't be, by the server's time. What is absent is fresh. The server
   * remembers what it read while somebody watched.
   */
  readonly asOf?: {
    /** Counts of the nodes, by tube. */
    readonly tubes?: Readonly<Record<string, string>>;
    /** Facts of the ledger about tubes: dead letters, pauses, limits, listed jobs, consumers. */
    readonly facts?: string;
    /** By endpoint. */
    readonly nodes?: Readonly<Record<string, string>>;
    readonly ledger?: string;
    readonly processes?: string;
  };
}
/** The parts of the state that may be missing. */
export type LivePart = 'tubes' | 'nodes' | 'ledger' | 'processes' | 'health' | 'acts';

/** The body of every answer that isn't 2xx. */
export interface ErrorWire {
  /** A `DqErrorCode`, or one of nest-kq; or NOT_ALLOWED, CROSS_SITE, NOT_FOUND, NOT_BUILT, NO_BODY, TOO_LARGE, INTERNAL. */
  readonly code: string;
  readonly message: string;
}

/** Selects waiting jobs. Times are ISO strings. `{}` selects all. */
export interface WaitingFilterWire {
  readonly dueFrom?: string;
  readonly dueTo?: string;
  readonly state?: 'waiting' | 'retrying';
  readonly limit?: number;
}
/** Selects dead letters. Times are ISO strings. `{}` selects all. */
export interface LetterFilterWire {
  readonly diedFrom?: string;
  readonly diedTo?: string;
  readonly why?: DeadLetter['why'];
  /** Substring of the error's message or name, in upper or lower case. */
  readonly error?: string;
  /** A group of `DeadGroupsWire`. */
  readonly group?: string;
  readonly limit?: number;
}
/** New due time: an ISO time, durations such as '1h', or spread over a duration or at a number per minute. */
export type NewTimeWire =
  | { readonly at: string }
  | { readonly delay: string }
  | { readonly later: string }
  | { readonly earlier: string }
  | { readonly spread: string }
  | { readonly perMinute: number };

/** The body of `POST api/acts/:act` and the result, answered as `{ result }`, for each act on one thing. */
export interface SingleActs {
  /** `until` is an ISO time. */
  pause: { body: { tube: string; until?: string }; result: AsJson<PausedTube> };
  resume: { body: { tube: string }; result: AsJson<ResumedTube> };
  /** As the options of a handler, until an ISO time. */
  setLimits: {
    body: { tube: string; concurrency?: number; limit?: LimitOptions; until?: string };
    result: AsJson<ChangedLimits>;
  };
  /** True if they were changed. */
  resetLimits: { body: { tube: string }; result: boolean };
  runNow: { body: JobRefWire; result: RescheduleResult };
  /** Runs a waiting job now, or revives a dead one, with another payload. For viewers who may see it as it is. */
  runEdited: { body: JobRefWire & { payload: unknown }; result: RescheduleResult | ReviveResult };
  /** To an ISO time, or after a duration such as '1h'. */
  reschedule: { body: JobRefWire & ({ at: string } | { delay: string }); result: RescheduleResult };
  revoke: { body: JobRefWire; result: RevokeResult };
  /** Revokes a running job, and aborts the signal of its handler. `running`: it was asked to stop. */
  abort: { body: JobRefWire; result: RevokeResult };
  revive: { body: JobRefWire; result: ReviveResult };
  discard: { body: JobRefWire; result: DiscardResult };
  /** True if it wasn't drained before. */
  drainNode: { body: { node: string }; result: boolean };
  /** True if it was drained. */
  undrainNode: { body: { node: string }; result: boolean };
  /** Skips the next run of a series made at run time. `unknown`: no occurrence waits. */
  skipSeries: { body: { series: string }; result: 'skipped' | 'unknown' };
  /** False if there is no such series. */
  removeSeries: { body: { series: string }; result: boolean };
  /** `resolved`: it is no longer a letter, because somebody replayed or discarded it. */
  kafkaReplay: { body: KafkaPlaceWire & KafkaReplayWire; result: 'replayed' | 'resolved' };
  kafkaDiscard: { body: KafkaPlaceWire; result: 'discarded' | 'resolved' };
}

/** Who gets messages again. */
type KafkaReplayWire = Pick<KafkaActOptions, 'groups'>;

/** A letter that a bulk act would change. */
export interface KafkaExampleWire {
  readonly id: string;
  readonly key?: string;
  readonly diedAt: string;
}

/** Fields of every bulk act. */
interface BulkBody {
  /** Only counts, with the first ten as examples. */
  readonly dryRun?: boolean;
  /** Continues where the same act ended. */
  readonly cursor?: string;
}
/** The bulk acts: the body of `POST api/acts/:act`, and the type of their examples. The answer is NDJSON, each line a `BulkLine`. */
export interface BulkActs {
  revokeMany: { body: BulkBody & { tube: string; filter: WaitingFilterWire }; example: AsJson<JobView> };
  rescheduleMany: {
    body: BulkBody & { tube: string; filter: WaitingFilterWire; when: NewTimeWire };
    example: AsJson<MoveExample>;
  };
  /** Spreads what is overdue from now on, then resumes the tube. */
  resumeGradually: { body: BulkBody & { tube: string; perMinute: number }; example: AsJson<MoveExample> };
  /** `delay` is a duration from now. */
  reviveMany: {
    body: BulkBody & { tube: string; filter: LetterFilterWire; delay?: string };
    example: DeadLetterWire;
  };
  discardMany: { body: BulkBody & { tube: string; filter: LetterFilterWire }; example: DeadLetterWire };
  /** `tube`: only its jobs. `node`: one that won't come back. `dueAfter`: a duration. */
  repair: {
    body: BulkBody & { tube?: string; node?: string; dueAfter?: string };
    example: AsJson<RepairExample>;
  };
  kafkaReplayMany: { body: KafkaBulkBody & KafkaReplayWire; example: KafkaExampleWire };
  kafkaDiscardMany: { body: KafkaBulkBody; example: KafkaExampleWire };
}

/** `topic` is that of the dead letters. There is no cursor: what was replayed or discarded is no longer a letter. */
interface KafkaBulkBody extends KafkaClusterWire {
  readonly dryRun?: boolean;
  readonly topic: string;
  readonly filter: KafkaFilterWire & { readonly limit?: number };
}

/** An example reported by a bulk act. */
export type BulkExampleWire = BulkActs[keyof BulkActs]['example'];

/** Progress of a bulk act. */
export interface BulkProgressWire<Example = unknown> {
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly cursor?: string;
  /** The first ten failures. */
  readonly failures: readonly ({ readonly id: string } & ErrorWire)[];
  /** In a dry run, the first ten items. */
  readonly examples: readonly Example[];
  /** In a dry run of jobs or dead letters, the first and the last time at which they are due, or died. */
  readonly earliest?: string;
  readonly latest?: string;
  /** First and last new time of a spread. */
  readonly spread?: { readonly from: string; readonly to: string };
  /** Kafka partitions such as `orders.dead/0` that are left out because they have no leader. Absent if there are none. */
  readonly leaderless?: readonly string[];
}
/**
 * One line for each page; the last one has `end` if the act completed, or `error`. Without such a line the connection broke, and
 * the act ended after its page.
 */
export type BulkLine<Example = unknown> =
  | { readonly progress: BulkProgressWire<Example> }
  | { readonly end: true }
  | { readonly error: ErrorWire };

/** The name of an act a viewer can perform. */
export type ActName =
  | 'pause'
  | 'resume'
  | 'setLimits'
  | 'resetLimits'
  | 'runNow'
  | 'runEdited'
  | 'reschedule'
  | 'revoke'
  | 'abort'
  | 'revive'
  | 'discard'
  | 'drainNode'
  | 'undrainNode'
  | 'skipSeries'
  | 'removeSeries'
  | 'kafkaReplay'
  | 'kafkaDiscard'
  | 'revokeMany'
  | 'rescheduleMany'
  | 'resumeGradually'
  | 'reviveMany'
  | 'discardMany'
  | 'repair'
  | 'kafkaReplayMany'
  | 'kafkaDiscardMany';
