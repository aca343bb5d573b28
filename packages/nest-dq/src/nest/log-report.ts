import type { LoggerService } from '@nestjs/common';
import { LogLines } from 'nest-handlers/log';
import type { OtherLedger } from '../cluster/admission.js';
import type { ClusterNode, NodeListener } from '../cluster/cluster-node.js';
import { isOutcome, textOf } from '../consumer/run/outcome.js';
import type { AfterFailure, ConsumerReport, NamedJob, RemovedLetters } from '../consumer/report.js';
import { DqError, printable, shorten } from '../errors.js';
import type { DelayedJob } from '../api/job.js';
import type { BadSeal, LostJob } from '../events/events.js';
import type { LedgerListener } from '../ledger/ledger.js';
import type { Death } from '../ledger/requests.js';
import type { Clock } from 'nest-handlers/time';
import type { DqLogLevel, DqLogLevels } from './log-levels.js';

const WHY: Readonly<Record<Death['why'], string>> = {
  attempts: 'its attempts are exhausted',
  discarded: 'its handler discarded it',
  invalid: 'its payload cannot be read',
  expired: 'it had not started by its expiry',
  stale: 'it is long overdue and has no record (see `staleAfter`)',
};

/** Turns reports of the lower layers into log lines: one per event, and a single one if it concerns all tubes. */
export class LogReport implements ConsumerReport, NodeListener, LedgerListener {
  private readonly nodesDown = new Set<string>();
  private readonly twins = new Set<string>();
  /** Nodes already logged as having no binlog. */
  private readonly withoutLog = new Set<string>();
  private readonly lines: LogLines;
  /** Number of unlogged copies, by kind. */
  private readonly untold = new Map<string, number>();
  /** Whether Redis was logged as being away. */
  private toldAway = false;
  /** Whether another ledger was logged. */
  private isRefused = false;

  constructor(
    private readonly logger: LoggerService,
    private readonly levels: Required<DqLogLevels>,
    clock: Clock,
    /** Whether to warn about how nodes are set up. */
    private readonly advise = false,
  ) {
    this.lines = new LogLines(logger, clock);
  }

  /** An event listener failed. Nothing else stops. */
  listenerFailed(who: string, error: Error): void {
    this.log('error', `${who} failed: ${shorten(error.message)}`, error);
  }

  // ── jobs ──

  failed(job: DelayedJob, error: Error, next: AfterFailure): void {
    // An outcome chosen by the handler isn't an error, so its stack isn't shown.
    const outcome = isOutcome(error) ? error['~outcome'] : undefined;
    if (outcome === 'discard') return; // `dead` logs it, with the reason
    const { tube, attempt, attempts } = job;
    const level = next === 'dead' ? this.levels.deadLetters : this.levels.retries;
    const what = `${named(tube, job)} failed in attempt ${attempt} of ${attempts} and ${follows(next)}`;
    if (outcome === 'retry') return this.log(level, `${what}: its handler returned Retry`);
    const isFirstOrLast = attempt === 1 || !(next instanceof Date);
    this.log(level, `${what}: ${shorten(textOf(error))}`, isFirstOrLast ? error : undefined);
  }

  dead(tube: string, job: NamedJob, { why, error }: Death): void {
    if (why === 'attempts' && error) return; // `failed` logs it, with the stack
    const detail = error ? `: ${error.message}` : '';
    const level = why === 'discarded' ? this.levels.discards : this.levels.deadLetters;
    this.log(level, `${named(tube, job)} is a dead letter because ${WHY[why]}${detail}`);
  }

  poison(tube: string, node: string, copyId: string, reason: string): void {
    const line = `${node}: beanstalkd job ${copyId} of ${tube} is not a nest-dq job and was buried: ${reason}`;
    this.logCopy(line, `poison ${tube}`);
  }

  badSeal({ tube, node, copyId, reason, buried }: BadSeal): void {
    const what = buried ? 'was buried' : 'will be retried in 30 s by any process that has the key';
    const line = `${node}: copy ${copyId} of ${tube} did not run and ${what}: ${reason}`;
    this.logCopy(line, `bad seal ${tube} ${String(buried)}`);
  }

  leaseLost(tube: string, id: string, attempt: number): void {
    this.logger.warn(
      `job ${id} of ${tube} lost its lease in attempt ${attempt}: its outcome is dropped, and another process may run it`,
    );
  }

  revoked(tube: string, id: string, attempt: number): void {
    this.logger.log(`job ${id} of ${tube} was revoked during attempt ${attempt}; asking its handler to stop`);
  }

  overran(tube: string, id: string, attempt: number): void {
    this.logger.warn(
      `the handler of ${tube} ignores its signal: attempt ${attempt} of job ${id} is still running 5 s after its timeout; another job takes its slot`,
    );
  }

  instantOver(tube: string, id: string, at: Date): void {
    const trouble = `job ${id} of ${tube} returned Again.at(${at.toISOString()}), which is in the past, so it runs again one second after this run was due: expected a time in the future`;
    this.logRarely(trouble, 'warn', `instant ${tube}`);
  }

  notStored(tube: string, id: string, until: Date, why: string): void {
    const trouble = `job ${id} of ${tube} returned Again, but its new copies could not be stored, so its old copies wait until ${until.toISOString()}: ${why}`;
    this.logRarely(trouble, 'warn', `again ${tube}`);
  }

  notAdopted(tube: string, id: string, error: Error): void {
    const trouble = `job ${id} of ${tube}, stored by go-queue, could not be adopted; retrying: ${error.message}`;
    this.logRarely(trouble, 'warn', `adopt ${tube}`);
  }

  ledgerTrouble(tube: string, id: string, error: Error): void {
    this.logRarely(`the ledger failed on job ${id} of ${tube}; retrying: ${error.message}`);
  }

  stoodStill(tube: string, ms: number, lease: number): void {
    const [blocked, leased] = [ms, lease].map((each) => `${(each / 1_000).toFixed(1)} s`);
    this.logger.warn(
      `the event loop was blocked for ${blocked} while jobs of ${tube} were running with a lease of ${leased}: move the blocking work to a worker thread or set a longer \`lease\``,
    );
  }

  cutOff(tube: string, handlers: number, limit: number): void {
    const after = `still running after the shutdown timeout of ${limit} ms`;
    this.logger.warn(
      handlers === 1
        ? `1 handler of ${tube} is ${after}; its run was handed back and its job will run again`
        : `${handlers} handlers of ${tube} are ${after}; their runs were handed back and their jobs will run again`,
    );
  }

  lettersRemoved(tube: string, { tooOld, tooMany }: RemovedLetters): void {
    const what = `removed ${tooOld + tooMany} dead letters of ${tube} and their copies`;
    const old = `${tooOld} older than \`deadLetters.maxAge\``;
    // Letters expiring by age is what the option is for. Too many of them need a person.
    if (tooMany === 0) this.logger.log(`${what}: ${old}`);
    else this.logger.warn(`${what}: ${old}, ${tooMany} beyond \`deadLetters.maxCount\``);
  }

  notSwept(tube: string, { message }: Error): void {
    const trouble = `the ledger failed to remove old dead letters of ${tube}; retrying in a minute: ${message}`;
    this.logRarely(trouble, 'warn', `letters ${tube}`);
  }

  lost({ tube, id, dueAt, copies }: LostJob): void {
    const stored = copies === 1 ? 'the only copy' : `all ${copies} copies`;
    this.logger.error(
      `job ${id} of ${tube}, due at ${dueAt.toISOString()}, is lost: nodes lost the data with ${stored}`,
    );
  }

  // ── servers ──

  up(node: ClusterNode): void {
    if (this.advise && node.lacksLog) this.warnOfNoLog(node.endpoint);
    if (!this.nodesDown.delete(node.endpoint)) return;
    this.log(this.levels.servers, `${node.endpoint} is up again`);
  }

  down(node: ClusterNode, error: Error): void {
    this.nodesDown.add(node.endpoint);
    this.log(this.levels.servers, `${node.endpoint} is down; retrying: ${printable(error.message)}`);
  }

  private warnOfNoLog(endpoint: string): void {
    if (this.withoutLog.has(endpoint)) return;
    this.withoutLog.add(endpoint);
    this.logger.warn(
      `${endpoint} has no binlog, so its jobs are lost when it stops: start it with \`-b DIR\` (on Debian, BEANSTALKD_EXTRA in /etc/default/beanstalkd)`,
    );
  }

  sameServer({ endpoint }: ClusterNode, other: ClusterNode): void {
    if (this.twins.has(endpoint)) return;
    this.twins.add(endpoint);
    this.logger.error(
      `${endpoint} and ${other.endpoint} are the same server: expected each server once in \`beanstalks\`; ` +
        `no copies go to ${endpoint}, because two copies of a job on one server are lost together`,
    );
  }

  trouble(node: ClusterNode, message: string): void {
    this.logRarely(`${node.endpoint}: ${message}`, 'error');
  }

  nodeTrouble(node: string, message: string): void {
    this.logRarely(`${node}: ${message}`);
  }

  /** Other processes use another ledger, so this one must not run jobs. */
  refused({ id, node, ours }: OtherLedger): void {
    this.isRefused = true;
    this.logRarely(
      `this process runs no jobs: its Redis has the ledger ${ours}, but processes at ${node} use the ledger ${id}, so each job would run twice. ` +
        'Give all processes of these nodes the same `redis`, or each application its own `prefix`. If Redis lost its data, stop the process that cannot reach it. ' +
        'This process starts running jobs once no node shows the other ledger any more (docs/clusters.md#one-redis)',
      'error',
      'refused',
    );
  }

  admitted(): void {
    if (this.isRefused) this.logger.log('no node shows another ledger any more; this process now runs jobs');
    this.isRefused = false;
    this.lines.forget('refused');
  }

  /** Both were admitted, e.g. because no process could reach a node they share. */
  shared({ id, node, ours }: OtherLedger): void {
    this.logRarely(
      `jobs may run twice: this process uses the ledger ${ours}, but processes at ${node} use the ledger ${id}. ` +
        'Stop those with the wrong `redis` (docs/clusters.md#one-redis)',
      'error',
      'shared',
    );
  }

  unidentified({ message }: Error): void {
    this.logRarely(
      `no job starts because the identity of the ledger cannot be read: ${message}`,
      'error',
      'identity',
    );
  }

  /** Redis isn't answering; or a disk has failed, which is already logged. */
  away(error: Error): void {
    if (error instanceof DqError && error.code === 'DQ_DISK') return;
    const trouble = `Redis is down; no job starts until it answers: ${printable(error.message)}`;
    this.toldAway = this.logRarely(trouble, this.levels.servers);
  }

  /** Redis answers again, completely. */
  back(): void {
    if (this.toldAway) this.log(this.levels.servers, 'Redis is up again');
  }

  /** Returns false if this message, or another of its kind, was logged a short while ago. */
  private logRarely(trouble: string, level: DqLogLevel = 'warn', kind = trouble): boolean {
    return this.lines.nowAndThen(kind, level, trouble);
  }

  /** Rate-limited: anybody who reaches a node can store any number of such copies. */
  private logCopy(line: string, kind: string): void {
    const more = this.untold.get(kind) ?? 0;
    const others = more === 0 ? '' : `; ${more} more since the last such message`;
    if (this.logRarely(line + others, 'warn', kind)) this.untold.delete(kind);
    else this.untold.set(kind, more + 1);
  }

  /** Includes the error's stack, if any. */
  private log(level: DqLogLevel, message: string, error?: Error): void {
    this.lines.write(level, message, error && stackOf(error));
  }
}

function named(tube: string, { id, key }: NamedJob): string {
  return `job ${id} of ${tube}${key === undefined ? '' : ` with key ${JSON.stringify(key)}`}`;
}

/** A stack begins with the message; a long message must not hide the calls after it. */
function stackOf({ message, stack = '' }: Error): string {
  const begin = stack.indexOf(message);
  const end = begin < 0 ? 0 : begin + message.length;
  return shorten(stack.slice(0, end)) + shorten(stack.slice(end));
}

function follows(next: AfterFailure): string {
  if (next === 'dead') return 'is now a dead letter';
  if (next === 'over') return 'is not retried: it was revoked or replaced in the meantime';
  return `will be retried at ${next.toISOString()}`;
}
