import type { DeadLetter } from '../api/dead-letter.js';
import { DqError } from '../errors.js';
import type { DqRuntime } from '../nest/runtime.js';
import type { BulkProgress } from '../operate/bulk.js';
import type { NewTime, WaitingFilter } from '../operate/waiting-filter.js';
import type { Doer } from './acts.js';
import { errorWire } from './failures.js';
import { anything, flag, Input, number, span, text, time } from './input.js';
import type { KafkaClusters } from './kafka.js';
import { actOnLetters } from './kafka-acts.js';
import { LETTER_FILTER, letterFilter, withoutPayload } from './letters.js';
import type { BulkActs, BulkProgressWire } from './wire.js';

type Progress = AsyncIterable<BulkProgress<unknown>>;
type BeginAct = (runtime: DqRuntime, body: unknown, doer: Doer) => Progress;
type KafkaAct = 'kafkaReplayMany' | 'kafkaDiscardMany';

const COMMON = ['tube', 'dryRun', 'cursor'] as const;

/** The acts on many. Each throws at once what is wrong in the body, and does nothing until it is iterated. */
const BEGIN: Readonly<Record<Exclude<keyof BulkActs, KafkaAct>, BeginAct>> = {
  revokeMany({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'filter']);
    return control.revokeMany(input.must('tube', text), waitingFilter(input), optionsOf(input, doer));
  },
  rescheduleMany({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'filter', 'when']);
    const when = newTime(new Input('`when`', input.must('when', anything), WHEN));
    return control.rescheduleMany(
      input.must('tube', text),
      waitingFilter(input),
      when,
      optionsOf(input, doer),
    );
  },
  reviveMany({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'filter', 'delay']);
    const options = { ...optionsOf(input, doer), ...input.part('delay', span) };
    return control.reviveMany(input.must('tube', text), filterOfLetters(input), options);
  },
  discardMany({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'filter']);
    return control.discardMany(input.must('tube', text), filterOfLetters(input), optionsOf(input, doer));
  },
  repair({ control }, body, doer) {
    const input = new Input('the body', body, [...COMMON, 'node', 'dueAfter']);
    return control.repair({
      ...optionsOf(input, doer),
      ...input.part('tube', text),
      ...input.part('node', text),
      ...input.part('dueAfter', span),
    });
  },
};

/** `DQ_BAD_…`, `DQ_CONFIG`, `DQ_CLOSED`. The iteration throws what that of the act throws. */
export function beginBulk(
  act: keyof BulkActs,
  runtime: DqRuntime,
  body: unknown,
  doer: Doer,
  kafka: KafkaClusters,
): AsyncIterator<BulkProgressWire, void> {
  if (act === 'kafkaReplayMany' || act === 'kafkaDiscardMany')
    return actOnLetters(act, runtime, body, doer, kafka);
  return progressOf(BEGIN[act](runtime, body, doer));
}

async function* progressOf(progress: Progress): AsyncGenerator<BulkProgressWire, void, undefined> {
  for await (const { failures, examples, ...counts } of progress) {
    yield {
      ...counts,
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

const WHEN = ['at', 'delay', 'later', 'earlier'] as const;

function newTime(when: Input): NewTime {
  const [name, ...more] = WHEN.filter((each) => when.has(each));
  if (name === undefined || more.length > 0)
    throw new DqError('DQ_BAD_OPTION', `\`when\` has to say when: expected one of ${WHEN.join(', ')}`);
  if (name === 'at') return when.must('at', time);
  return { [name]: when.must(name, span) } as { delay: number };
}
