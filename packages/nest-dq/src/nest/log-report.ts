import type { LoggerService } from '@nestjs/common';
import type { ClusterNode, NodeListener } from '../cluster/cluster-node.js';
import { isOutcome } from '../consumer/outcome.js';
import type { ConsumerReport } from '../consumer/report.js';
import type { DelayedJob } from '../job.js';
import type { Death, LedgerListener } from '../ledger/ledger.js';
import type { Clock } from '../time.js';

/** Milliseconds. The same trouble of the same node is not told again within this time. */
const TROUBLE_EVERY = 60_000;

const WHY: Readonly<Record<Death['why'], string>> = {
  attempts: 'its attempts are used up',
  discarded: 'its handler discarded it',
  invalid: 'its payload cannot be read',
  stale: 'it is long overdue, and nothing is known of it (see `staleAfter`)',
};

/** Turns what the lower layers report into log lines: each event once, and once for all tubes what concerns all. */
export class LogReport implements ConsumerReport, NodeListener, LedgerListener {
  private readonly nodesDown = new Set<string>();
  private readonly troubles = new Map<string, number>();

  constructor(
    private readonly logger: LoggerService,
    private readonly clock: Clock,
  ) {}

  /** Something about the servers' settings. */
  warn(message: string): void {
    this.logger.warn(message);
  }

  // ── jobs ──

  failed(job: DelayedJob, error: Error, retryAt?: Date): void {
    // What a handler chose by itself is no error to be shown with its stack.
    const outcome = isOutcome(error) ? error['~outcome'] : undefined;
    if (outcome === 'discard') return; // `dead` tells it, with the reason
    const { id, tube, attempt, attempts } = job;
    const next = retryAt ? `is tried again at ${retryAt.toISOString()}` : 'is not tried again';
    const what = `job ${id} of ${tube} failed in attempt ${attempt} of ${attempts} and ${next}`;
    if (outcome === 'retry') this.logger.warn(`${what}: its handler returned a Retry`);
    else this.logger.error(`${what}: ${error.message}`, error.stack);
  }

  dead(tube: string, id: string, { why, error }: Death): void {
    const detail = error && why !== 'attempts' ? `: ${error.message}` : '';
    this.logger.warn(`job ${id} of ${tube} is a dead letter, because ${WHY[why]}${detail}`);
  }

  poison(tube: string, node: string, copyId: string, reason: string): void {
    this.logger.warn(`${node}: beanstalkd job ${copyId} of ${tube} is not ours and was buried: ${reason}`);
  }

  leaseLost(tube: string, id: string, attempt: number): void {
    this.logger.warn(
      `job ${id} of ${tube} lost its lease in attempt ${attempt}: its outcome will not count, and another process may run it`,
    );
  }

  // ── servers ──

  up(node: ClusterNode): void {
    if (this.nodesDown.delete(node.endpoint)) this.logger.log(`${node.endpoint} answers again`);
  }

  down(node: ClusterNode, error: Error): void {
    this.nodesDown.add(node.endpoint);
    this.logger.warn(`${node.endpoint} is down, and tried again until it answers: ${error.message}`);
  }

  nodeTrouble(node: string, message: string): void {
    const trouble = `${node}: ${message}`;
    const now = this.clock.now();
    if (now - (this.troubles.get(trouble) ?? -Infinity) < TROUBLE_EVERY) return;
    this.troubles.set(trouble, now);
    this.logger.warn(trouble);
  }

  /** Redis does not answer. */
  away(error: Error): void {
    this.logger.warn(`Redis is away, so no job starts until it answers: ${error.message}`);
  }

  /** Redis answers, all of it. */
  back(): void {
    this.logger.log('Redis answers again');
  }
}
