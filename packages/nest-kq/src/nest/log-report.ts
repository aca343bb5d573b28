import type { LoggerService } from '@nestjs/common';
import { LogLines } from 'nest-handlers/log';
import { isOutcome } from '../api/outcome.js';
import type { KqMessage } from '../api/received.js';
import type { EventHub } from '../events/event-hub.js';
import type { DeadMessage, Death, KqEventMap, KqEventName, KqPartition } from '../events/events.js';
import { unavailability } from '../health/health.js';
import type { Clock } from 'nest-handlers/time';
import type { KqLogLevel, KqLogLevels } from './log-levels.js';

const WHY: Readonly<Record<Death['why'], string>> = {
  attempts: 'its attempts are exhausted',
  notRetried: 'its error is not retried',
  discarded: 'its handler discarded it',
  unreadable: 'its value cannot be read',
};

type Event<N extends KqEventName> = KqEventMap[N];

/** Turns events, and other reports of the lower layers, into one log line each. */
export class LogReport {
  private readonly lines: LogLines;

  constructor(
    private readonly logger: LoggerService,
    private readonly levels: Required<KqLogLevels>,
    clock: Clock,
  ) {
    this.lines = new LogLines(logger, clock);
  }

  /** Logs the events of this hub from now on. Events whose level is off aren't subscribed to. */
  listen(events: EventHub): void {
    const on = <N extends KqEventName>(
      name: N,
      levels: readonly KqLogLevel[],
      write: (event: KqEventMap[N]) => void,
    ) => {
      if (levels.some((level) => level !== 'off')) events.listen(name, write, 'the log');
    };
    const { retries, discards, deadLetters, held, joins, groups, rebalances, pushes } = this.levels;
    on('failed', [retries], (event) => this.failed(event));
    on('failedLate', ['warn'], (event) => this.failedLate(event));
    on('died', [discards, deadLetters], (event) => this.buried(event, `was dead-lettered to ${event.topic}`));
    on('dropped', [discards, deadLetters], (event) => this.buried(event, 'was dropped'));
    on('held', [held], (event) => this.held(event));
    on('deferred', [retries], (event) => this.deferred(event));
    on('notDeferred', [held], (event) => this.notDeferred(event));
    on('overran', ['warn'], (event) => this.overran(event));
    on('stalled', [held], (event) => this.stalled(event));
    on('skipped', ['error'], (event) => this.skipped(event));
    on('groupJoined', [joins], (event) => this.joined(event));
    on('groupLeft', [groups], (event) => this.left(event));
    on('rebalanced', [rebalances], (event) => this.rebalanced(event));
    on('overlapped', ['warn'], (event) => this.overlapped(event));
    on('unavailable', [groups], (event) => this.lacks(event));
    on('commitFailed', [groups], (event) => this.notCommitted(event));
    on('pushFailed', [pushes], (event) => this.notPushed(event));
  }

  /** Logs an error of an event listener, which affects nothing else. */
  listenerFailed(who: string, { message, stack }: Error): void {
    this.lines.write('error', `${who} failed: ${message}`, stack);
  }

  waits(group: string, within: number): void {
    this.logger.warn(
      `this process has not joined the group ${group} within ${within} ms: the application starts now and handles messages once it has joined`,
    );
  }

  noTopics(group: string, patterns: readonly RegExp[]): void {
    this.logger.log(
      `no topic matches ${patterns.join(', ')} yet: the group ${group} keeps looking for new ones`,
    );
  }

  made(topic: string, like: string): void {
    this.logger.log(`created the topic ${topic} for failed messages of ${like}`);
  }

  twoHandlers(fact: string): void {
    this.logger.error(`${fact}: the first one handles it; expected disjoint expressions`);
  }

  cutOff(group: string, runs: number, limit: number): void {
    const handlers = runs === 1 ? '1 handler is' : `${runs} handlers are`;
    this.logger.warn(
      `${handlers} still running in the group ${group} after the shutdown timeout of ${limit} ms; their messages will be redelivered`,
    );
  }

  // ── messages ──

  private failed({ message, error, after }: Event<'failed'>): void {
    const line = `${named(message)} failed in attempt ${message.attempt}; retrying in ${after} ms: ${error.message}`;
    this.lines.write(this.levels.retries, line, firstStack(message, error));
  }

  private failedLate({ message, error }: Event<'failedLate'>): void {
    const line = `${named(message)} failed after its transaction had committed it as handled, so it is not retried: ${error.message}`;
    this.lines.write('warn', line, isOutcome(error) ? undefined : error.stack);
  }

  private deferred({ message, to, error, after }: Event<'deferred'>): void {
    const line = `${named(message)} failed in attempt ${message.attempt} and was moved to ${to}; retrying in ${after} ms: ${error.message}`;
    this.lines.write(this.levels.retries, line, firstStack(message, error));
  }

  private notDeferred({ message, to, error, trouble, after }: Event<'notDeferred'>): void {
    const line = `${named(message)} blocks the messages after it: it failed (${error.message}) and cannot be stored in ${to}; retrying in ${after} ms: ${trouble.message}`;
    this.lines.nowAndThen(`held ${placeOf(message)}`, this.levels.held, line);
  }

  private buried({ message, why, error }: DeadMessage, what: string): void {
    const line = `${named(message)} ${what}, because ${WHY[why]}: ${error.message}`;
    // A discard is the handler's decision, not a failure of the application.
    if (why === 'discarded') this.lines.write(this.levels.discards, line);
    else this.lines.write(this.levels.deadLetters, line, why === 'unreadable' ? undefined : error.stack);
  }

  private held({ message, why, error, trouble, after }: Event<'held'>): void {
    const cause = `${WHY[why]} (${error.message})`;
    const line = `${named(message)} blocks the messages after it: ${cause} and its dead letter cannot be stored; retrying in ${after} ms: ${trouble.message}`;
    this.lines.nowAndThen(`held ${placeOf(message)}`, this.levels.held, line);
  }

  private stalled({ group, offset, behind, after, ...place }: Event<'stalled'>): void {
    const line = `message ${offset} of ${nameOf(place)} has not been handled for ${after / 1_000} s in the group ${group}: with ${behind} messages queued after it, the partition fetches nothing more until then; see \`timeout\`, \`retry\` and \`lookAhead\` of its handler`;
    this.lines.write(this.levels.held, line);
  }

  private skipped({ group, from, to, count, ...place }: Event<'skipped'>): void {
    const line = `${nameOf(place)} lost up to ${count} messages before the group ${group} handled them: the topic's retention removed offsets ${from} to ${to}`;
    this.lines.write('error', line);
  }

  private overran({ messages: [first, ...more] }: Event<'overran'>): void {
    if (!first) return;
    const others = more.length > 0 ? ` and ${more.length} more` : '';
    this.logger.warn(
      `the handler of ${first.topic} ignores its signal: it is still running 5 s after its timeout for ${named(first)}${others}, which may now run concurrently a second time`,
    );
  }

  // ── groups ──

  private joined({ group, topics, again }: Event<'groupJoined'>): void {
    this.lines.forget(`left ${group}`);
    const line = again
      ? `this process has rejoined the group ${group}`
      : `consuming ${topics.map(String).join(', ')} in the group ${group}`;
    this.lines.write(this.levels.joins, line);
  }

  private left({ group, error, retryIn }: Event<'groupLeft'>): void {
    if (!error) return;
    const again = retryIn === undefined ? 'keeps asking it' : `rejoins in ${retryIn} ms`;
    const line = `this process is out of the group ${group} and ${again}: ${error.message}`;
    this.lines.nowAndThen(`left ${group}`, this.levels.groups, line);
  }

  private rebalanced({ group, partitions, assigned, lost }: Event<'rebalanced'>): void {
    const changes = [
      ...assigned.map((each) => `+${nameOf(each)}`),
      ...lost.map((each) => `-${nameOf(each)}`),
    ];
    const change = changes.length > 0 ? changes.join(' ') : 'unchanged';
    this.lines.write(
      this.levels.rebalances,
      `this process has ${partitions.length === 1 ? '1 partition' : `${partitions.length} partitions`} of the group ${group}: ${change}`,
    );
  }

  private overlapped({ group, partitions }: Event<'overlapped'>): void {
    const places = partitions.map((each) => `${each.runs} of ${nameOf(each)}`);
    this.logger.warn(
      `the group ${group} revoked partitions while handlers were running (${places.join(', ')}): their signals were aborted, and other processes may run the same messages concurrently`,
    );
  }

  private lacks({ group, began, ended }: Event<'unavailable'>): void {
    if (began.length > 0) {
      const what = began.map(unavailability).join(', ');
      this.lines.write(this.levels.groups, `group ${group}: ${what}; retrying, everything else continues`);
    }
    if (ended.length > 0) {
      const what = ended.map(({ topic, partition }) =>
        partition === undefined ? topic : nameOf({ topic, partition }),
      );
      this.lines.write(this.levels.groups, `group ${group}: ${what.join(', ')} is back`);
    }
  }

  private notCommitted({ group, error }: Event<'commitFailed'>): void {
    const line = `the group ${group} cannot commit; retrying: ${error.message}`;
    this.lines.nowAndThen(`commit ${group}`, this.levels.groups, line);
  }

  // ── pushes ──

  private notPushed({ topic, error }: Event<'pushFailed'>): void {
    const line = `a message for ${topic} could not be pushed: ${error.message}`;
    this.lines.nowAndThen(`push ${line}`, this.levels.pushes, line);
  }
}

function nameOf({ topic, partition }: KqPartition): string {
  return `${topic}/${partition}`;
}

function placeOf(message: KqMessage): string {
  return `${message.offset} of ${nameOf(message)}`;
}

function named(message: KqMessage): string {
  const { key } = message;
  return `message ${placeOf(message)}${key === null ? '' : ` with the key ${JSON.stringify(key.slice(0, 100))}`}`;
}

/** The stack is logged on the first attempt only, and never for an outcome the handler chose. */
function firstStack({ attempt }: KqMessage, error: Error): string | undefined {
  return attempt === 1 && !isOutcome(error) ? error.stack : undefined;
}
