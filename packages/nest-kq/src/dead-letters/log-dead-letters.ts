import { checkOptions, wholeNumber } from '../api/checks.js';
import { topicName, type Topic } from '../api/topic.js';
import type { LogAdmin, LogProducer } from '../driver/driver.js';
import { Leaderless, knownEnds, leaderlessFact } from '../driver/known-ends.js';
import type { LogMessage, OutgoingMessage } from '../driver/message.js';
import { KqError, factOf, wrongValue } from '../errors.js';
import {
  KqDeadLetters,
  type KqDeadLetter,
  type KqDiscardOptions,
  type KqDeadLetterFilter,
  type KqDeadLetterListOptions,
  type KqDeadLetterPage,
  type KqDeadLetterRef,
  type KqDeadLettersResult,
  type KqDeadLetterSummary,
  type KqReplayOptions,
} from './kq-dead-letters.js';
import { headerOf, isLetter, letterOf, resolutionOf, revived, summaryOf, type Resolution } from './letter.js';
import { letterMatcher, placeIn, placeOf } from './letter-filter.js';
import { MAX_AT_ONCE, pageOf, readQuery } from './letter-pages.js';
import { LetterPartition } from './letter-partition.js';
import { Targets } from './targets.js';
import { DEAD_LETTER_HEADERS } from '../failures/dead-letter.js';
import { isDeadTopic } from '../driver/made-topics.js';

/** Max letters resolved by one record. */
const MAX_RESOLVED = 500;
const MAX_EXAMPLES = 5;
const MAX_FAILURES = 10;
/** Max topics whose resolved letters are cached between calls. */
const MAX_TOPICS = 20;
const UNBOUNDED = { messages: Infinity, bytes: Infinity };

/** An act to perform. */
interface Act {
  readonly topic: string;
  readonly how: Resolution;
  readonly dryRun: boolean;
  readonly limit: number;
  /** Only the failed group gets the message again. */
  readonly failedGroupOnly: boolean;
  /** Whether a group reads a topic, as far as known. */
  readonly reads: Map<string, boolean>;
  readonly targets: Targets;
}

type Done = { -readonly [Name in keyof KqDeadLettersResult]: KqDeadLettersResult[Name] } & {
  readonly failures: KqDeadLettersResult['failures'][number][];
  readonly examples: KqDeadLetterSummary[];
};

/** A dead letter topic as readable now. */
interface Letters {
  readonly partitions: readonly LetterPartition[];
  /** Partitions without a leader. */
  readonly leaderless: readonly number[];
}

/** The dead letters of one cluster of brokers. */
export class LogDeadLetters extends KqDeadLetters {
  /** Partitions as learned by lists, by topic; acts read for themselves. */
  private readonly known = new Map<string, Map<number, LetterPartition>>();
  /** The last list or look, by topic, since each continues with what the previous one learned. */
  private readonly turns = new Map<string, Promise<unknown>>();
  /** Dead letter topics named by the application. */
  private readonly named = new Set<string>();

  constructor(
    private readonly admin: LogAdmin,
    private readonly producer: Pick<LogProducer, 'send'>,
    private readonly log: (line: string) => void,
  ) {
    super();
  }

  /** Registers a dead letter topic. */
  note(topic: string): void {
    this.named.add(topic);
  }

  override async topics(): Promise<readonly string[]> {
    const all = await this.admin.topics();
    const names = all
      .map(({ topic }) => topic)
      .filter((topic) => isDeadTopic(topic) || this.named.has(topic));
    return names.toSorted((a, b) => (a < b ? -1 : 1));
  }

  override async list(
    topic: string | Topic,
    options: KqDeadLetterListOptions = {},
  ): Promise<KqDeadLetterPage> {
    const name = topicName(topic);
    const query = readQuery(options);
    return this.inTurn(name, async () => {
      const { partitions, leaderless } = await this.fresh(name, this.knownOf(name));
      const floors = await this.floors(name, partitions, query.since);
      return pageOf(partitions, query, floors, leaderless);
    });
  }

  override async get(topic: string | Topic, ref: KqDeadLetterRef): Promise<KqDeadLetter | undefined> {
    const name = topicName(topic);
    const { partition, offset } = placeOf(ref);
    return this.inTurn(name, async () => {
      const { partitions } = await this.fresh(name, this.knownOf(name), partition);
      const message = await this.admin.read(name, partition, offset);
      if (!message || !isLetter(message)) return undefined;
      return letterOf(partition, message, !(await isOpen(partitions[0]!, offset)));
    });
  }

  override replay(
    topic: string | Topic,
    which: KqDeadLetterRef | KqDeadLetterFilter,
    options: KqReplayOptions = {},
  ): Promise<KqDeadLettersResult> {
    return lastOf(this.acting('replayed', topic, which, options));
  }

  override discard(
    topic: string | Topic,
    which: KqDeadLetterRef | KqDeadLetterFilter,
    options: KqDiscardOptions = {},
  ): Promise<KqDeadLettersResult> {
    return lastOf(this.acting('discarded', topic, which, options));
  }

  /** Performs an act and yields its progress at least once. Nothing is pending at that point, so the caller may stop there. */
  async *acting(
    how: Resolution,
    topic: string | Topic,
    which: KqDeadLetterRef | KqDeadLetterFilter,
    options: KqReplayOptions = {},
  ): AsyncGenerator<KqDeadLettersResult, void, undefined> {
    const act = actOf(this.admin, how, topicName(topic), options);
    const done: Done = { count: 0, failed: 0, failures: [], examples: [] };
    const place = placeIn(which);
    const { partitions, leaderless } = await this.fresh(act.topic, new Map(), place?.partition);
    if (leaderless.length > 0) done.leaderless = leaderless;
    try {
      if (place) await this.actOnOne(act, partitions, place, done);
      else yield* this.actOnMany(act, partitions, which as KqDeadLetterFilter, done);
      yield done;
    } finally {
      if (!act.dryRun && done.count > 0) {
        const failed = done.failed > 0 ? `; ${done.failed} failed and stay` : '';
        const missing = leaderless.length > 0 ? `; skipped: ${leaderlessFact(act.topic, leaderless)}` : '';
        this.log(`${how} ${done.count} dead letters of ${act.topic}${failed}${missing}`);
      }
    }
  }

  private async actOnOne(
    act: Act,
    partitions: readonly LetterPartition[],
    { partition, offset }: { partition: number; offset: bigint },
    done: Done,
  ): Promise<void> {
    const message = await this.admin.read(act.topic, partition, offset);
    const [letters] = partitions;
    if (!message || !isLetter(message) || !(await isOpen(letters!, offset))) return;
    done.examples.push(summaryOf(partition, message));
    if (act.dryRun) done.count = 1;
    else await this.resolve(act, letters!, [message], done);
  }

  private async *actOnMany(
    act: Act,
    partitions: readonly LetterPartition[],
    filter: KqDeadLetterFilter,
    done: Done,
  ): AsyncGenerator<KqDeadLettersResult, void, undefined> {
    const matches = letterMatcher(filter);
    const floors = await this.floors(act.topic, partitions, filter.from);
    let found = 0;
    for (const partition of partitions) {
      const floor = floors.get(partition.partition) ?? partition.first;
      for (let position = partition.end; position > floor;) {
        const read = await partition.below(position, MAX_AT_ONCE, { ...UNBOUNDED });
        position = read.position;
        const matching = read.letters.filter(matches);
        found += matching.length;
        done.examples.push(...matching.slice(0, MAX_EXAMPLES - done.examples.length));
        if (act.dryRun) done.count = Math.min(found, act.limit);
        yield done;
      }
    }
    if (act.dryRun) return;
    for (const partition of partitions) {
      const floor = floors.get(partition.partition) ?? partition.first;
      yield* this.actOn(act, partition, floor, matches, done);
    }
  }

  /** Works in the order of the letters, which preserves the order of a key. */
  private async *actOn(
    act: Act,
    partition: LetterPartition,
    floor: bigint,
    matches: (letter: KqDeadLetterSummary) => boolean,
    done: Done,
  ): AsyncGenerator<KqDeadLettersResult, void, undefined> {
    for await (const messages of partition.read(floor, partition.end)) {
      const letters = messages.filter(
        (each) => isLetter(each) && matches(summaryOf(partition.partition, each)),
      );
      for (let at = 0; at < letters.length; at += MAX_RESOLVED) {
        const left = act.limit - done.count - done.failed;
        // Someone else may have resolved some meanwhile.
        const open = letters.slice(at, at + MAX_RESOLVED).filter(({ offset }) => partition.isOpen(offset));
        if (left <= 0) return;
        if (open.length === 0) continue;
        await this.resolve(act, partition, open.slice(0, left), done);
        yield done;
      }
    }
  }

  private async resolve(
    act: Act,
    partition: LetterPartition,
    letters: readonly LogMessage[],
    done: Done,
  ): Promise<void> {
    const { topic, how } = act;
    const results = how === 'replayed' ? await this.store(act, letters) : new Map<bigint, KqError>();
    const resolved = letters.filter(({ offset }) => !results.has(offset));
    if (resolved.length > 0) {
      const offsets = resolved.map(({ offset }) => offset);
      const record = resolutionOf(partition.partition, offsets, how);
      const [sent] = await this.producer.send(topic, [record]);
      if (sent instanceof KqError) throw unresolved(sent, act, resolved.length);
      done.count += resolved.length;
      await partition.knowTo(sent!.offset + 1n);
    }
    for (const [offset, error] of results) {
      if (endsAct(error)) throw error;
      done.failed++;
      const place = { partition: partition.partition, offset: String(offset) };
      if (done.failures.length < MAX_FAILURES) done.failures.push({ ...place, error });
    }
  }

  /** Stores the messages of letters again. Resolves with the failures by offset. */
  private async store(act: Act, letters: readonly LogMessage[]): Promise<Map<bigint, KqError>> {
    const failed = new Map<bigint, KqError>();
    const byTopic = new Map<string, { readonly offset: bigint; readonly message: OutgoingMessage }[]>();
    for (const letter of letters) {
      const origin = headerOf(letter, DEAD_LETTER_HEADERS.topic)!;
      const group = act.failedGroupOnly ? (headerOf(letter, DEAD_LETTER_HEADERS.group) ?? '') : undefined;
      const message = revived(letter, group);
      const wrong =
        (group === undefined ? undefined : await this.missing(act, group, origin)) ??
        (await act.targets.refusal(origin, message));
      if (wrong) failed.set(letter.offset, wrong);
      else {
        const ofTopic = byTopic.get(origin) ?? [];
        byTopic.set(origin, ofTopic);
        ofTopic.push({ offset: letter.offset, message });
      }
    }
    const sending = [...byTopic].map(async ([origin, all]) => {
      const sent = await this.producer.send(
        origin,
        all.map(({ message }) => message),
      );
      for (const [index, { offset }] of all.entries()) {
        const answer = sent[index];
        if (answer instanceof KqError) failed.set(offset, answer);
      }
    });
    await Promise.all(sending);
    return failed;
  }

  /** Returns an error if the group reads nothing of this topic, and addressing it is pointless. */
  private async missing(act: Act, group: string, topic: string): Promise<KqError | undefined> {
    const name = JSON.stringify([group, topic]);
    let reads = act.reads.get(name);
    if (reads === undefined) {
      const committed = group === '' ? [] : await this.admin.committed(group, topic);
      act.reads.set(name, (reads = committed.some(({ offset }) => offset !== undefined)));
    }
    if (reads) return undefined;
    const who =
      group === '' ? 'the letter names no group' : `the group ${group} has committed no offsets of ${topic}`;
    return new KqError(
      'KQ_BAD_OPTION',
      `${who}, so no group would handle the message: expected \`groups: 'all'\``,
    );
  }

  /**
   * Resolves with the partitions of a topic as the brokers see them now. `KQ_AWAY` if none can be read.
   * @param only A partition. Default: all.
   */
  private async fresh(topic: string, known: Map<number, LetterPartition>, only?: number): Promise<Letters> {
    const all = await knownEnds(this.admin, topic);
    const ends = all.ends.filter(({ partition }) => partition === (only ?? partition));
    const leaderless = all.leaderless.filter((partition) => partition === (only ?? partition));
    if (ends.length === 0 && leaderless.length > 0) throw new Leaderless(topic, leaderless);
    const partitions = await Promise.all(
      ends.map(async ({ partition, first, end }) => {
        const one = known.get(partition) ?? new LetterPartition(this.admin, topic, partition);
        known.set(partition, one);
        await one.refresh({ first, end });
        return one;
      }),
    );
    return { partitions, leaderless };
  }

  /** Resolves with the offset per partition below which no letter is this recent. */
  private async floors(
    topic: string,
    partitions: readonly LetterPartition[],
    since: Date | undefined,
  ): Promise<ReadonlyMap<number, bigint>> {
    if (!since) return new Map();
    const numbers = partitions.map(({ partition }) => partition);
    const offsets = await this.admin.offsetsAt(topic, since.getTime(), numbers);
    return new Map(offsets.map(({ partition, offset }) => [partition, offset]));
  }

  private knownOf(topic: string): Map<number, LetterPartition> {
    const known = this.known.get(topic) ?? new Map<number, LetterPartition>();
    this.known.delete(topic);
    this.known.set(topic, known); // moves it to the end: most recently used
    const [oldest] = this.known.keys();
    if (this.known.size > MAX_TOPICS) this.known.delete(oldest!);
    return known;
  }

  private inTurn<T>(topic: string, run: () => Promise<T>): Promise<T> {
    const running = (this.turns.get(topic) ?? Promise.resolve()).then(run);
    const ended = running.then(
      () => undefined,
      () => undefined, // its caller gets the error
    );
    this.turns.set(topic, ended);
    void ended.then(() => {
      if (this.turns.get(topic) === ended) this.turns.delete(topic);
    });
    return running;
  }
}

async function lastOf(acting: AsyncIterable<KqDeadLettersResult>): Promise<KqDeadLettersResult> {
  let last: KqDeadLettersResult;
  for await (const done of acting) last = done;
  return last!;
}

/** Whether no other letter would fare better. */
function endsAct(error: KqError): boolean {
  return error.code === 'KQ_CLOSED' || (error.code === 'KQ_AWAY' && !(error instanceof Leaderless));
}

/** Whether the letter is unresolved. Reads what is needed to know. */
async function isOpen(partition: LetterPartition, offset: bigint): Promise<boolean> {
  for (let position = partition.end; position > offset;)
    ({ position } = await partition.below(position, MAX_AT_ONCE, { ...UNBOUNDED }));
  return partition.isOpen(offset);
}

const DISCARD = ['dryRun', 'limit'] satisfies readonly (keyof KqDiscardOptions)[];
const REPLAY = [...DISCARD, 'groups'] satisfies readonly (keyof KqReplayOptions)[];

function actOf(admin: LogAdmin, how: Resolution, topic: string, options: KqReplayOptions): Act {
  if (how === 'replayed') checkOptions('KQ_BAD_OPTION', '`replay`', options, REPLAY);
  else checkOptions('KQ_BAD_OPTION', '`discard`', options, DISCARD);
  const { dryRun = false, limit, groups = 'all' } = options;
  if (typeof dryRun !== 'boolean') throw wrongValue('KQ_BAD_OPTION', '`dryRun`', dryRun, 'true or false');
  if (groups !== 'all' && groups !== 'failed')
    throw wrongValue('KQ_BAD_OPTION', '`groups`', groups, "'all' or 'failed'");
  return {
    topic,
    how,
    dryRun,
    limit:
      limit === undefined
        ? Infinity
        : wholeNumber('KQ_BAD_OPTION', '`limit`', limit, 1, Number.MAX_SAFE_INTEGER),
    failedGroupOnly: groups === 'failed',
    reads: new Map(),
    targets: new Targets(admin),
  };
}

function unresolved(error: KqError, { topic, how }: Act, count: number): KqError {
  const stored = how === 'replayed' ? 'were stored again, but ' : '';
  const fact = `${count} letters of ${topic} ${stored}could not be marked as ${how}, so they may appear again: ${factOf(error)}`;
  return new KqError(error.code, fact, { cause: error });
}
