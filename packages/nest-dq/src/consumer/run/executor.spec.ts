import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { DqError } from '../../errors.js';
import type { DelayedJob, HandlerMethod } from '../../api/job.js';
import { Again, Discard, Retry } from '../../api/outcome.js';
import type { PayloadCodec } from '../../api/payload-codec.js';
import { encodePayload } from '../../copies/payload.js';
import { parseRef } from '../../copies/job-ref.js';
import { Executing } from '../../../spec-support/executing.js';
import { dated, datedLater, schemaBy } from '../../../spec-support/schemas.js';
import { turn } from '../../../spec-support/scripted-ledger.js';

const SHUTDOWN = new DqError('DQ_SHUTDOWN', 'over');

describe('Executor', () => {
  let world: Executing;

  beforeEach(() => {
    world = new Executing();
  });

  it('shows the handler its job', async () => {
    await world.clock.advance(1_250);
    let job: DelayedJob | undefined;
    world.handler = (_payload, given) => void (job = given);
    world.start({ headers: { tenant: 'x' }, attempts: 6, key: 'user 5', group: 'user-17' }, 2);
    expect(job).toMatchObject({
      id: 'a',
      tube: 'tube',
      key: 'user 5',
      payload: undefined,
      headers: { tenant: 'x' },
      group: 'user-17',
      attempt: 2,
      attempts: 6,
      fence: 77,
      lateness: 250,
      dueAt: new Date(1_000),
    });
    expect(job!.signal.aborted).toBe(false);
  });

  it('counts a handler until it has ended, and a run until its outcome is taken', async () => {
    let end: (() => void) | undefined;
    world.handler = () => new Promise<void>((resolve) => (end = resolve));
    world.start();
    expect(world.handling()).toBe(1);
    end!();
    await turn();
    expect(world.kinds()).toEqual(['done']);
    expect(world.handling()).toBe(0);
    expect(world.freed).toBe(1);
    expect([...world.context.runs.keys()]).toEqual(['a']); // the ledger has not taken it
  });

  it.each<[string, HandlerMethod]>([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
  ])('a handler that %s is retried after the backoff', async (_how, failing) => {
    world.handler = failing;
    world.start();
    await turn();
    expect(world.ended[0]![1]).toMatchObject({ kind: 'retry', delay: 400 });
    expect(world.handling()).toBe(0);
  });

  it.each<[string, HandlerMethod, RegExp]>([
    [
      'an error',
      () => new Error('no'),
      /^DQ_BAD_OPTION: the handler of tube returned an error, treated as thrown: no$/,
    ],
    [
      'a class of outcomes',
      async () => Discard,
      /returned the class Discard: expected the result of one of its methods$/,
    ],
    [
      'a generator',
      async function* () {
        yield 1;
      },
      /returned a generator, none of which has run: expected an async method without \*$/,
    ],
  ])('a handler that returns %s has failed', async (_what, handler, message) => {
    world.handler = handler;
    world.start();
    await turn();
    expect(world.ended[0]![1]).toMatchObject({
      kind: 'retry',
      error: { message: expect.stringMatching(message) },
    });
  });

  it.each<[string, unknown]>([
    ['an object with an iterator', new Map([[1, 2]])],
    ['a stream', Readable.from(['a'])],
    ['another function', () => Discard],
    ['another class', class Order {}],
  ])('a handler that returns %s is done', async (_what, result) => {
    world.handler = () => result;
    world.start();
    await turn();
    expect(world.kinds()).toEqual(['done']);
  });

  it('uses the attempts and the backoff of the job before those of the handler', async () => {
    world.handler = () => Promise.reject(new Error('no'));
    world.start({ attempts: 2, backoff: { type: 'fixed', delay: 9, max: 9, jitter: 0 } }, 1);
    world.start({ id: 'b', attempts: 2 }, 2);
    world.start({ id: 'c' }, 3);
    await turn();
    expect(world.ended.map(([{ id }, outcome]) => [id, outcome.kind])).toEqual([
      ['a', 'retry'],
      ['b', 'dead'],
      ['c', 'dead'],
    ]);
    expect(world.ended[0]![1]).toMatchObject({ delay: 9 });
  });

  it('never starts a payload that cannot be read: it is dead as invalid', () => {
    let started = false;
    world.handler = () => void (started = true);
    world.start({}, 1, { type: 'json', bytes: Buffer.from('{') });
    expect(started).toBe(false);
    expect(world.ended[0]![1]).toMatchObject({ kind: 'dead', death: { why: 'invalid' } });
    expect(world.handling()).toBe(0);
  });

  describe('with a payload that a codec wrote', () => {
    const codec: PayloadCodec = { name: 'own', encode: JSON.stringify, decode: (text: string) => ({ text }) };
    const content = encodePayload([1], codec);
    const attempts = { attempts: 2 };
    let seen: unknown[];
    beforeEach(() => {
      seen = [];
      world.handler = (payload, job) => void seen.push(payload, job.payload);
    });

    it('gives the handler what the codec reads', () => {
      world.executor = world.make({ codecs: { codec } });
      world.start({}, 1, content);
      expect(seen).toEqual([{ text: '[1]' }, { text: '[1]' }]);
      expect(world.kinds()).toEqual(['done']);
    });

    it('gives the schema what the codec reads', () => {
      const schema = schemaBy((payload) => ({ value: ['checked', payload] }));
      world.executor = world.make({ codecs: { codec }, schema });
      world.start({}, 1, content);
      expect(seen[0]).toEqual(['checked', { text: '[1]' }]);
    });

    it.each([
      ['none', undefined],
      ['another codec', { codec: { ...codec, name: 'other' } }],
    ])(
      'leaves it to other processes if it has %s: a failed attempt, a retry elsewhere, dead as invalid after the last',
      (_what, codecs) => {
        world.executor = world.make({ codecs });
        world.start(attempts, 1, content);
        world.start({ id: 'b', ...attempts }, 2, content);
        expect(seen).toEqual([]);
        const message = expect.stringContaining('codec "own"');
        expect(world.ended[0]![0].job).toMatchObject({ payload: undefined, attempt: 1 });
        expect(world.ended.map(([, outcome]) => outcome)).toEqual([
          {
            kind: 'retry',
            delay: 2_000,
            error: expect.objectContaining({ code: 'DQ_BAD_PAYLOAD', message }),
          },
          expect.objectContaining({
            kind: 'dead',
            death: { why: 'invalid', error: expect.objectContaining({ message }) },
          }),
        ]);
        expect(world.handling()).toBe(0);
      },
    );

    it('is dead as invalid at once if the codec cannot read it, as another process could not either', () => {
      const failing = { ...codec, decode: () => JSON.parse('{') as unknown };
      world.executor = world.make({ codecs: { codec: failing } });
      world.start({}, 1, content);
      expect(seen).toEqual([]);
      expect(world.ended[0]![1]).toMatchObject({ kind: 'dead', death: { why: 'invalid' } });
      expect(world.ended[0]![0].job).toBeUndefined();
    });
  });

  describe.each([
    ['a schema that answers at once', dated],
    ['a schema that answers later', datedLater],
  ])('with %s', (_which, validate) => {
    let seen: unknown[];
    beforeEach(() => {
      seen = [];
      world.handler = (payload, job) => void seen.push(payload, job.payload);
      world.executor = world.make({ schema: schemaBy(validate) });
    });

    async function startWith(payload: unknown): Promise<void> {
      world.start({}, 1, encodePayload(payload));
      await world.clock.advance(0);
    }

    it('gives the handler, and its job, the value parsed by the schema', async () => {
      await startWith({ at: '2030-01-01' });
      const payload = { at: new Date('2030-01-01') };
      expect(seen).toEqual([payload, payload]);
      expect(world.kinds()).toEqual(['done']);
    });

    it('never starts a job that the schema refuses: it is dead as invalid, with the issues', async () => {
      await startWith({ at: 5 });
      expect(seen).toEqual([]);
      expect(world.ended[0]![0].job).toBeUndefined();
      expect(world.ended[0]![1]).toMatchObject({
        kind: 'dead',
        death: { why: 'invalid', error: { message: expect.stringMatching(/at: expected a text/) } },
        error: { code: 'DQ_BAD_PAYLOAD' },
      });
      expect(world.handling()).toBe(0);
    });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('slip');
      },
    ],
    ['rejects', () => Promise.reject(new Error('slip'))],
  ])('fails a run whose schema %s, as the handler would', async (_how, validate) => {
    world.executor = world.make({ schema: schemaBy(validate) });
    world.start();
    await turn();
    expect(world.ended[0]).toMatchObject([
      { job: { id: 'a', payload: undefined } },
      { kind: 'retry', error: { message: 'slip' } },
    ]);
    expect(world.handling()).toBe(0);
  });

  it('starts no handler once its schema answers after a shutdown, or after the timeout', async () => {
    const answers: (() => void)[] = [];
    const validate = () => new Promise<{ value: unknown }>((done) => answers.push(() => done({ value: 1 })));
    let started = false;
    world.handler = () => void (started = true);
    world.executor = world.make({ schema: schemaBy(validate), timeout: 1_000 });
    world.start({ id: 'late' });
    await world.clock.advance(1_000);
    expect(world.kinds()).toEqual(['retry']);
    expect(world.ended[0]![0].job).toBeDefined();
    world.start({ id: 'shut-down' });
    world.executor.abortAll(SHUTDOWN);
    for (const answer of answers) answer();
    await turn();
    expect(world.kinds()).toEqual(['retry', 'back']);
    expect(world.handling()).toBe(0);
    expect(started).toBe(false);
  });

  it('ends a run that was revoked without a failure, in its last attempt too, unless its handler says more', async () => {
    const outcomes = [new Error('aborted'), Retry.after('1s'), Discard.because('gone')];
    for (const [i, outcome] of outcomes.entries()) {
      world.handler = () => Promise.reject(outcome);
      world.start({ id: String(i) }, i === 1 ? 1 : 3);
    }
    for (const run of world.context.runs.values()) run.revoked = true;
    await turn();
    expect(world.kinds()).toEqual(['back', 'retry', 'dead']);
  });

  it('shows the handler a ref that finds the job again, wherever it was moved to', () => {
    let ref = '';
    world.handler = (_payload, job) => void (ref = job.ref);
    const siblings = [{ index: 2, location: 'n2#i2:?' }];
    world.start({ copyId: '7', key: 'user 5', due: 6_000, generation: 9, born: 4, index: 1, siblings });
    expect(parseRef({ ref }, '')).toEqual({
      tube: 'app.tube',
      id: 'a',
      key: 'user 5',
      born: 4,
      due: 6_000,
      copies: 3,
      places: [{ index: 1, location: 'node#instance:7' }, ...siblings],
    });
  });

  it('schedules the next run when a run returns Again, and counts it as failed where that is impossible', async () => {
    world.handler = () => Again.after('1s');
    world.start();
    expect(world.ended[0]![1]).toEqual({ kind: 'again', delay: 1_000, at: 0 });
    const failure = world.executor.outcomeOf(world.ended[0]![0], new Error('no nodes'));
    expect(failure).toMatchObject({ kind: 'retry', delay: 400 });
    expect([world.handling(), world.freed]).toEqual([0, 1]);
  });

  it('uses the handler’s backoff function, and the job’s plan before it', async () => {
    world.executor = world.make({
      backoff: (attempt, { message }) => (message === 'no' ? attempt * 1_000 : 1),
    });
    world.handler = () => Promise.reject(new Error('no'));
    world.start({}, 2);
    world.start({ id: 'b', backoff: { type: 'fixed', delay: 9, max: 9, jitter: 0 } }, 2);
    await turn();
    expect(world.ended.map(([, outcome]) => (outcome as { delay: number }).delay)).toEqual([2_000, 9]);
  });

  it('treats a result whose `then` throws as a failure', () => {
    world.handler = () =>
      // oxlint-disable-next-line unicorn/no-thenable -- it is what this is about
      Object.defineProperty({}, 'then', {
        get: () => {
          throw new Error('no then');
        },
      });
    world.start();
    expect(world.kinds()).toEqual(['retry']);
  });
});
