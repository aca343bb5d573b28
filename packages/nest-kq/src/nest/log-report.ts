import type { LoggerService } from '@nestjs/common';
import { isOutcome } from '../api/outcome.js';
import type { Delivery } from '../consumer/topic-work.js';
import type { FailureEvents } from '../failures/handler-runs.js';
import type { Death } from '../failures/verdict.js';
import type { Clock } from '../time/clock.js';

/** Milliseconds. The same trouble is logged once within this time. */
const TROUBLE_EVERY = 60_000;

const WHY: Readonly<Record<Death['why'], string>> = {
  attempts: 'its attempts are used up',
  discarded: 'its handler discarded it',
  unreadable: 'its value cannot be read',
};

/** Turns what the lower layers tell into log lines: one for each event. */
export class LogReport implements FailureEvents {
  private readonly troubles = new Map<string, number>();

  constructor(
    private readonly logger: LoggerService,
    private readonly clock: Clock,
  ) {}

  // ── messages ──

  failed(delivery: Delivery, error: Error, after: number): void {
    const { attempt } = delivery;
    const what = `${named(delivery)} failed in attempt ${attempt} and is tried again in ${after} ms: ${error.message}`;
    // A stack tells nothing new the second time; an outcome that a handler chose is no error.
    const stack = attempt === 1 && !isOutcome(error) ? error.stack : undefined;
    this.logger.warn(stack ? `${what}\n${stack}` : what);
  }

  died(delivery: Delivery, { why, error }: Death, topic: string): void {
    this.bury(`${named(delivery)} is a dead letter in ${topic}, because ${WHY[why]}`, why, error);
  }

  dropped(delivery: Delivery, { why, error }: Death): void {
    this.bury(`${named(delivery)} is dropped, because ${WHY[why]}`, why, error);
  }

  deferred(delivery: Delivery, error: Error, after: number): void {
    const { attempt } = delivery;
    const what = `${named(delivery)} failed in attempt ${attempt} and runs again as a job of nest-dq in ${after} ms: ${error.message}`;
    const stack = attempt === 1 && !isOutcome(error) ? error.stack : undefined;
    this.logger.warn(stack ? `${what}\n${stack}` : what);
  }

  notDeferred(delivery: Delivery, error: Error, trouble: Error, after: number): void {
    const line = `${named(delivery)} holds what is behind it, as it failed (${error.message}), and no job of nest-dq can be stored; that is tried again in ${after} ms: ${trouble.message}`;
    this.nowAndThen(`held ${placeOf(delivery)}`, line, 'error');
  }

  held(delivery: Delivery, { why, error }: Death, trouble: Error, after: number): void {
    const cause = `${WHY[why]} (${error.message})`;
    const line = `${named(delivery)} holds what is behind it, as ${cause}, and its dead letter cannot be stored; it is tried again in ${after} ms: ${trouble.message}`;
    this.nowAndThen(`held ${placeOf(delivery)}`, line, 'error');
  }

  overran(deliveries: readonly Delivery[]): void {
    const [first] = deliveries;
    if (!first) return;
    const more = deliveries.length > 1 ? ` and ${deliveries.length - 1} more` : '';
    this.logger.warn(
      `the handler of ${first.topic} ignores its signal: it still runs 5 s after its timeout for ${named(first)}${more}, which may run a second time beside it`,
    );
  }

  // ── groups ──

  /** For the first time. */
  consumes(group: string, topics: readonly (string | RegExp)[]): void {
    this.logger.log(`consumes ${topics.map(String).join(', ')} in the group ${group}`);
  }

  waits(group: string, within: number): void {
    this.logger.warn(
      `the group ${group} did not take this process in within ${within} ms: the application starts, and handles messages once it does`,
    );
  }

  left(group: string, error: Error, retryIn: number): void {
    const line = `this process is not in the group ${group}, and joins again in ${retryIn} ms: ${error.message}`;
    this.nowAndThen(`left ${group}`, line, 'warn');
  }

  back(group: string): void {
    this.troubles.delete(`left ${group}`);
    this.logger.log(`this process is in the group ${group} again`);
  }

  notCommitted(group: string, error: Error): void {
    const line = `the group ${group} cannot commit, and tries again: ${error.message}`;
    this.nowAndThen(`commit ${group}`, line, 'warn');
  }

  cutOff(group: string, runs: number, limit: number): void {
    const handlers = runs === 1 ? '1 handler is' : `${runs} handlers are`;
    this.logger.warn(
      `${handlers} still running in the group ${group} after the shutdown's limit of ${limit} ms; their messages come again`,
    );
  }

  /** What a handler decides is no failure of the application. */
  private bury(what: string, why: Death['why'], error: Error): void {
    if (why === 'discarded') this.logger.warn(`${what}: ${error.message}`);
    else this.logger.error(`${what}: ${error.message}`, why === 'attempts' ? error.stack : undefined);
  }

  private nowAndThen(kind: string, line: string, level: 'warn' | 'error'): void {
    const now = this.clock.now();
    for (const [told, at] of this.troubles) if (now - at >= TROUBLE_EVERY) this.troubles.delete(told);
    if (this.troubles.has(kind)) return;
    this.troubles.set(kind, now);
    this.logger[level](line);
  }
}

function placeOf({ topic, partition, message }: Delivery): string {
  return `${message.offset} of ${topic}/${partition}`;
}

function named(delivery: Delivery): string {
  const { key } = delivery.message;
  return `message ${placeOf(delivery)}${key === null ? '' : ` with the key ${JSON.stringify(key.toString().slice(0, 100))}`}`;
}
