import type { DqRuntime } from '../nest/runtime.js';
import type { Explanation } from '../operate/explanation.js';
import { inSteps } from '../operate/history-steps.js';
import { timelines } from './timelines.js';
import { anything, Input, JOB_FIELDS, jobRef, number, text, time, times } from './input.js';
import {
  KAFKA_FILTER,
  KAFKA_LETTER,
  kafkaCount,
  kafkaFilter,
  kafkaLetter,
  type KafkaClusters,
} from './kafka.js';
import { search } from './search.js';
import { LETTER_FILTER, letterPage, withoutPayload } from './letters.js';

/** What one route tells. What it returns becomes JSON: a shape of wire.ts. */
export interface Read {
  /** The fields of its query. */
  readonly query: readonly string[];
  /** `tube`: the name in its path, if there is one. */
  readonly read: (runtime: DqRuntime, query: Input, tube: string, kafka: KafkaClusters) => Promise<unknown>;
}

const RANGE = ['from', 'to'] as const;
const EDGES = ['edges'] as const;

/** By their routes, below `api/`. */
export const READS: Readonly<Record<string, Read>> = {
  tubes: { query: [], read: ({ inspector }) => inspector.tubes() },
  'tubes/:tube': { query: [], read: ({ inspector }, _, tube) => inspector.tube(tube) },
  'tubes/:tube/jobs': {
    query: ['state', ...RANGE, 'cursor', 'limit'],
    read: ({ inspector }, query, tube) =>
      inspector.jobs(tube, {
        ...query.part('state', anything<'due'>),
        ...query.part('from', time),
        ...query.part('to', time),
        ...query.part('cursor', text),
        ...query.part('limit', number),
        keys: true,
      }),
  },
  'tubes/:tube/timeline': {
    query: EDGES,
    read: ({ inspector }, query, tube) => inspector.timeline(tube, { edges: query.must('edges', times) }),
  },
  timeline: {
    query: EDGES,
    read: ({ inspector }, query) => timelines(inspector, { edges: query.must('edges', times) }),
  },
  history: {
    query: ['tube', ...RANGE, 'minutes'],
    read: async ({ inspector }, query) => {
      const from = query.must('from', time);
      const { minutes = 1 } = query.part('minutes', number);
      const history = await inspector.history({
        ...query.part('tube', text),
        from,
        to: query.must('to', time),
      });
      return inSteps(history, from, minutes);
    },
  },
  'history/tubes': { query: [], read: ({ inspector }) => inspector.historyOfTubes() },
  job: {
    query: JOB_FIELDS,
    read: async ({ inspector, options }, query) =>
      withoutLetterPayload(await inspector.explain(jobRef(query, options.prefix))),
  },
  'tubes/:tube/dead': {
    query: [...LETTER_FILTER, 'cursor'],
    read: ({ deadLetters }, query, tube) => letterPage(deadLetters, tube, query),
  },
  acts: {
    query: ['cursor', 'limit'],
    read: ({ inspector }, query) =>
      inspector.acts({ ...query.part('cursor', text), ...query.part('limit', number) }),
  },
  search: { query: ['text'], read: search },
  nodes: { query: [], read: ({ inspector }) => inspector.nodes() },
  ledger: { query: [], read: ({ inspector }) => inspector.ledger() },
  processes: { query: [], read: ({ inspector }) => inspector.processes() },
  series: { query: [], read: ({ inspector }) => inspector.series() },
  health: { query: [], read: async ({ health }) => (await health.check()).dq },
  'kafka/topics': { query: ['cluster'], read: (_, query, __, kafka) => kafka.of(query).letters.topics() },
  'kafka/count': {
    query: ['cluster', 'topic'],
    read: (_, query, __, kafka) => kafkaCount(kafka, query),
  },
  'kafka/letters': {
    query: ['cluster', 'topic', ...KAFKA_FILTER, 'cursor', 'limit'],
    read: (_, query, __, kafka) =>
      kafka.of(query).letters.list(query.must('topic', text), {
        filter: kafkaFilter(query),
        ...query.part('cursor', text),
        ...query.part('limit', number),
      }),
  },
  'kafka/letter': {
    query: KAFKA_LETTER,
    read: async (_, query, __, kafka) => {
      const { value: _value, headers: _headers, ...letter } = await kafkaLetter(kafka, query);
      return letter;
    },
  },
};

function withoutLetterPayload({ deadLetter, ...rest }: Explanation): object {
  return { ...rest, ...(deadLetter && { deadLetter: withoutPayload(deadLetter) }) };
}
