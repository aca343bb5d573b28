// The scripts of Redis decide as the rules in memory do, whatever is asked: each answer and the whole record, after each call.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { RequestOf, Verb } from 'nest-dq/src/ledger/ledger.js';
import { startRedis, type RedisServer } from 'test-servers';
import { inTimeFor } from '../support/fast-check.js';
import { kindOf, KINDS } from './fuzz/answer-kinds.js';
import { Asking } from './fuzz/asking.js';
import { RARE, step, type Step } from './fuzz/steps.js';
import { TwinLedgers } from './fuzz/twin-ledgers.js';

/** More of them: LEDGER_FUZZ_SEEDS=100, or one again, as a failure says: LEDGER_FUZZ_SEED=7 LEDGER_FUZZ_PATH=3:1 */
const { LEDGER_FUZZ_SEEDS: seeds = '3', LEDGER_FUZZ_SEED: only, LEDGER_FUZZ_PATH: path } = process.env;
const SEEDS = only === undefined ? Array.from({ length: Number(seeds) }, (_, i) => i + 1) : [Number(only)];
const RUNS = 40;
/** Time limit of one seed, in ms. */
const LIMIT = 300_000;
const STEPS = { minLength: 1, maxLength: 50, size: 'max' } as const;

let server: RedisServer;
let twins: TwinLedgers;
const reached = new Map<string, number>();

beforeAll(async () => {
  server = await startRedis();
  twins = new TwinLedgers(server.url);
}, 60_000);

afterAll(async () => {
  twins.close();
  await server.stop();
});

async function compare(verb: Verb, asking: Asking, drawn: Step): Promise<void> {
  const { request, context } = asking.request(verb, drawn);
  const [rules, scripts] = await twins.ask(verb, [request as RequestOf<typeof verb>], context);
  const asked = JSON.stringify({ at: twins.now, verb, request, context });
  expect({ asked, answers: scripts }).toEqual({ asked, answers: rules });
  const [inMemory, inRedis] = await twins.written(drawn.id);
  expect({ asked, ...inRedis }).toEqual({ asked, ...inMemory });
  const kind = kindOf(verb, request, rules[0]);
  reached.set(kind, (reached.get(kind) ?? 0) + 1);
  asking.learn(verb, request, rules[0]);
}

async function play(steps: readonly Step[]): Promise<void> {
  await twins.wipe();
  const asking = new Asking(twins);
  for (const drawn of steps) {
    twins.now += drawn.passed;
    for (const [i, verb] of drawn.verbs.entries()) {
      if (i > 0) twins.now += drawn.between;
      await compare(verb, asking, drawn);
    }
  }
}

it.each(SEEDS)(
  'the rules and the scripts agree: seed %i',
  async (seed) => {
    const more = path === undefined ? { examples: RARE.map((steps) => [steps] as [Step[]]) } : { path };
    await fc.assert(fc.asyncProperty(fc.array(step, STEPS), play), {
      seed,
      numRuns: RUNS,
      ...inTimeFor(LIMIT),
      ...more,
    });
  },
  LIMIT,
);

it('every kind of answer was reached', () => {
  if (path !== undefined) return;
  expect(KINDS.filter((kind) => !reached.has(kind))).toEqual([]);
});
