import type { JobRef, LimitOptions, RevokeResult } from '../api/job.js';
import { DqError } from '../errors.js';
import type { DqRuntime } from '../nest/runtime.js';
import { anything, flag, Input, JOB_FIELDS, jobRef, number, span, text, time } from './input.js';
import type { KafkaClusters } from './kafka.js';
import { actOnLetter, actOnLetters } from './kafka-acts.js';
import type { ActName, BulkActs, BulkProgressWire, SingleActs } from './wire.js';
import type { DeadLetter } from '../api/dead-letter.js';
import type { BulkProgress } from '../operate/bulk.js';
import type { NewTime, WaitingFilter } from '../operate/waiting-filter.js';
import { errorWire } from './failures.js';
import { LETTER_FILTER, letterFilter, withoutPayload } from './letters.js';

/** Who performs an act, for `DqControl`. */
interface Doer {
  readonly by?: string | undefined;
}

type DoAct = (runtime: DqRuntime, body: unknown, doer: Doer, kafka: KafkaClusters) => Promise<unknown>;

/** The acts on one thing. Each resolves with its result: a shape of wire.ts. */
export const DO_SINGLE: Readonly<Record<keyof SingleActs, DoAct>> = {
  pause({ control }, body, doer) {
    const input = new Input('the body', body, ['tube', 'until']);
    return control.pause(input.must('tube', text), { ...doer, ...input.part('until', time) });
  },
  async resume({ control }, body, doer) {
    return control.resume(new Input('the body', body, ['tube']).must('tube', text), doer);
  },
  async setLimits({ control }, body, doer) {
    const input = new Input('the body', body, ['tube', 'concurrency', 'limit', 'until']);
    const limits = {
      ...input.part('concurrency', number),
      ...input.part('limit', anything<LimitOptions>),
    };
    return control.setLimits(input.must('tube', text), limits, { ...doer, ...input.part('until', time) });
  },
  async resetLimits({ control }, body, doer) {
    const ended = await control.resetLimits(new Input('the body', body, ['tube']).must('tube', text), doer);
    return ended !== undefined;
  },
  async runNow({ control, options }, body, doer) {
    return control.runNow(jobRef(new Input('the body', body, JOB_FIELDS), options.prefix), doer);
  },
  async runEdited(runtime, body, { by }) {
    const { deadLetters, producer } = runtime;
    const input = new Input('the body', body, [...JOB_FIELDS, 'payload']);
    const payload: unknown = input.must('payload', anything);
    const ref = jobRef(input, runtime.options.prefix);
    if (await deadLetters.get(ref))
      return runtime.actOnJob('runEdited', ref, by, 'revived', () => deadLetters.revive(ref, { payload }));
    return runtime.actOnJob('runEdited', ref, by, 'rescheduled', () =>
      producer.reschedule(ref, { delay: 0 }, { payload }),
    );
  },
  async reschedule(runtime, body, { by }) {
    const input = new Input('the body', body, [...JOB_FIELDS, 'at', 'delay']);
    if (input.has('at') === input.has('delay'))
      throw new DqError('DQ_BAD_OPTION', 'a reschedule needs a new time: expected either `at` or `delay`');
    const when = input.has('at') ? input.must('at', time) : { delay: input.must('delay', span) };
    const ref = jobRef(input, runtime.options.prefix);
    return runtime.actOnJob('reschedule', ref, by, 'rescheduled', () =>
      runtime.producer.reschedule(ref, when),
    );
  },
  revoke: actOnNamed('revoke', 'revoked', ({ producer }, ref) => producer.revoke(ref, { confirmed: true })),
  // A job that runs no more, but waits for its retry, is revoked, too.
  abort: actOnNamed<RevokeResult>('abort', ['running', 'revoked'], ({ producer }, ref) =>
    producer.revoke(ref, { abort: true }),
  ),
  revive: actOnNamed('revive', 'revived', ({ deadLetters }, ref) => deadLetters.revive(ref)),
  discard: actOnNamed('discard', 'discarded', ({ deadLetters }, ref) => deadLetters.discard(ref)),
  async drainNode({ control }, body, doer) {
    return control.drainNode(new Input('the body', body, ['node']).must('node', text), doer);
  },
  async undrainNode({ control }, body, doer) {
    return control.undrainNode(new Input('the body', body, ['node']).must('node', text), doer);
  },
  async skipSeries({ series }, body, doer) {
    const skipped = await series.skipNext(new Input('the body', body, ['series']).must('series', text), doer);
    return skipped ? 'skipped' : 'unknown';
  },
  async removeSeries({ series }, body, doer) {
    return series.remove(new Input('the body', body, ['series']).must('series', text), doer);
  },
  kafkaReplay: actOnLetter('kafkaReplay'),
  kafkaDiscard: actOnLetter('kafkaDiscard'),
};

/** An act on the job named by the body. */
function actOnNamed<Result>(
  name: string,
  changed: Result | readonly Result[],
  work: (runtime: DqRuntime, ref: JobRef) => Promise<Result>,
): DoAct {
  return async (runtime, body, { by }) => {
    const ref = jobRef(new Input('the body', body, JOB_FIELDS), runtime.options.prefix);
    return runtime.actOnJob(name, ref, by, changed, () => work(runtime, ref));
  };
}

type BeginAct = (
  runtime: DqRuntime,
  body: unknown,
  doer: Doer,
  kafka: KafkaClusters,
) => AsyncIterator<BulkProgressWire, void>;

const COMMON = ['tube', 'dryRun', 'cursor'] as const;

/**
 * The bulk acts. Each throws `DQ_BAD_…`, `DQ_CONFIG`, `DQ_CLOSED` at once for a wrong body, and does nothing until it is
 * iterated. The iteration throws as that of the act does.
 */
export const BEGIN_BULK: Readonly<Record<keyof BulkActs, BeginAct>> = {
  revokeMany({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'filter']);
    return progressOf(
      control.revokeMany(input.must('tube', text), waitingFilter(input), optionsOf(input, doer)),
    );
  },
  rescheduleMany({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'filter', 'when']);
    const when = newTime(new Input('`when`', input.must('when', anything), WHEN));
    const [tube, filter] = [input.must('tube', text), waitingFilter(input)];
    return progressOf(control.rescheduleMany(tube, filter, when, optionsOf(input, doer)));
  },
  resumeGradually({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'perMinute']);
    const pace = { perMinute: input.must('perMinute', number) };
    return progressOf(control.resumeGradually(input.must('tube', text), pace, optionsOf(input, doer)));
  },
  reviveMany({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'filter', 'delay']);
    const options = { ...optionsOf(input, doer), ...input.part('delay', span) };
    return progressOf(control.reviveMany(input.must('tube', text), filterOfLetters(input), options));
  },
  discardMany({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'filter']);
    return progressOf(
      control.discardMany(input.must('tube', text), filterOfLetters(input), optionsOf(input, doer)),
    );
  },
  repair({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'node', 'dueAfter']);
    const which = { ...input.part('tube', text), ...input.part('node', text) };
    return progressOf(
      control.repair({ ...optionsOf(input, doer), ...which, ...input.part('dueAfter', span) }),
    );
  },
  kafkaReplayMany: (...given) => actOnLetters('kafkaReplayMany', ...given),
  kafkaDiscardMany: (...given) => actOnLetters('kafkaDiscardMany', ...given),
};

export const ACT_NAMES = [...Object.keys(DO_SINGLE), ...Object.keys(BEGIN_BULK)] as readonly ActName[];

export function isSingleAct(name: string): name is keyof SingleActs {
  return Object.hasOwn(DO_SINGLE, name);
}

export function isBulkAct(name: string): name is keyof BulkActs {
  return Object.hasOwn(BEGIN_BULK, name);
}

async function* progressOf(
  progress: AsyncIterable<BulkProgress<unknown>>,
): AsyncGenerator<BulkProgressWire, void, undefined> {
  for await (const { failures, examples, earliest, latest, spread, ...counts } of progress) {
    yield {
      ...counts,
      ...(spread && { spread: { from: spread.from.toISOString(), to: spread.to.toISOString() } }),
      ...(earliest && latest && { earliest: earliest.toISOString(), latest: latest.toISOString() }),
      failures: failures.map(({ id, error }) => ({ id, ...errorWire(error) })),
      examples: examples.map((example) => withoutPayload(example as DeadLetter)),
    };
  }
}

function optionsOf(input: Input, doer: Doer) {
  return { ...doer, ...input.part('dryRun', flag), ...input.part('cursor', text) };
}

function filterOfLetters(input: Input) {
  return letterFilter(new Input('`filter`', input.must('filter', anything), LETTER_FILTER));
}

function waitingFilter(input: Input): WaitingFilter {
  const fields = ['dueFrom', 'dueTo', 'state', 'limit'];
  const filter = new Input('`filter`', input.must('filter', anything), fields);
  return {
    ...filter.part('dueFrom', time),
    ...filter.part('dueTo', time),
    ...filter.part('state', anything<'waiting'>),
    ...filter.part('limit', number),
  };
}

const WHEN = ['at', 'delay', 'later', 'earlier', 'spread', 'perMinute'] as const;

function newTime(when: Input): NewTime {
  const [name, ...more] = WHEN.filter((each) => when.has(each));
  if (name === undefined || more.length > 0)
    throw new DqError(
      'DQ_BAD_OPTION',
      `\`when\` must have exactly one field: expected one of ${WHEN.join(', ')}`,
    );
  if (name === 'at') return when.must('at', time);
  if (name === 'perMinute') return { perMinute: when.must('perMinute', number) };
  return { [name]: when.must(name, span) } as { delay: number };
}
