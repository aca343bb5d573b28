import { describe, expect, it } from '@jest/globals';
import { DqError } from '../errors.js';
import type { ScriptedNode } from '../../spec-support/scripted-node.js';
import { embedded, failure, scripted } from '../../spec-support/producing.js';

/** How long an add waits for nodes, in ms. */
const PATIENCE = 5_000;
const MINUTE = 60_000;

/** A patient process with nodes that can be frozen. */
async function patient() {
  const world = await scripted();
  const all = (act: (server: ScriptedNode) => void) => world.servers.forEach(act);
  const { producer, ledger } = world.process({ patience: PATIENCE });
  return Object.assign(world, { producer, ledger, all });
}

describe('an add while all nodes stand still', () => {
  it.each<[string, object]>([
    ['plain', {}],
    ['with a key', { key: 'k' }],
  ])('waits for them, and is due as if it had been stored at once: %s', async (_kind, options) => {
    const { clock, producer, servers, all, puts, claim } = await patient();
    const called = clock.wall();
    const { put } = servers[0]!.answers;
    // It takes what it is given, and nobody hears of it.
    all((server) => (server.answers['put'] = () => undefined));
    const adding = producer.delay('t', 'payload', MINUTE, options);
    await clock.advance(700);
    all((server) => (server.answers['put'] = put!));
    await clock.advance(4_000);
    const receipt = await adding;
    expect(receipt).toMatchObject({ copies: 3, dueAt: new Date(called + MINUTE), status: 'added' });
    // A copy stored without an answer does not count.
    await clock.advance(MINUTE + 10_000);
    const kinds = new Map<string, string>();
    for (const { envelope } of puts()) {
      const { id, generation } = envelope.header;
      const schedule = `${id} ${generation}`;
      const { kind } = await claim(envelope);
      if (!kinds.has(schedule)) kinds.set(schedule, kind);
    }
    expect([...kinds.values()].filter((kind) => kind === 'run')).toHaveLength(1);
    expect([...kinds.values()].filter((kind) => kind === 'gone')).toHaveLength(kinds.size - 1);
    expect(kinds.size).toBeGreaterThan(1);
  });

  it('says how long it tried, and takes no longer than its patience and one more try', async () => {
    const { clock, producer, all } = await patient();
    all((server) => server.freeze());
    const began = clock.now();
    const failed = failure(producer.now('t', 1)).finally(() => (ended = clock.now()));
    let ended = 0;
    await clock.advance(20_000);
    expect(await failed).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: false });
    expect((await failed).message).toMatch(/the job will not run; tried \d+ times in \d\.\d s$/);
    expect(ended - began).toBeGreaterThanOrEqual(PATIENCE);
    expect(ended - began).toBeLessThan(PATIENCE + 3_000);
  });

  it('fails at once with a patience of 0, and waits longer with more', async () => {
    const { clock, producer, all } = await patient();
    all((server) => server.freeze());
    const [hasty, slow] = [producer.now('t', 1, { patience: 0 }), producer.now('t', 1, { patience: '1m' })];
    const failed = failure(hasty);
    await clock.advance(2_000);
    expect((await failed).message).not.toMatch(/tried \d/);
    await clock.advance(20_000);
    all((server) => server.thaw());
    await clock.advance(5_000);
    expect((await slow).copies).toBe(3);
  });

  it('is not retried while its outcome is indeterminate', async () => {
    const { clock, producer, ledger, servers } = await patient();
    servers.slice(1).forEach((server) => server.freeze());
    ledger.down = true;
    const failed = failure(producer.now('t', 1));
    await clock.advance(3_000);
    const copies = servers[0]!.words.filter((word) => word === 'put').length;
    expect(copies).toBeLessThanOrEqual(1);
    await clock.advance(10_000);
    expect(await failed).toMatchObject({ code: 'DQ_TOO_FEW_COPIES', indeterminate: true });
    expect(servers[0]!.words.filter((word) => word === 'put')).toHaveLength(copies);
  });

  it('undoes first, and insists on that until it is certain', async () => {
    const { clock, producer, ledger, servers, puts, claim } = await patient();
    for (const silent of [0, 2]) servers[silent]!.freeze();
    ledger.down = true;
    const adding = producer.now('t', 1);
    await clock.advance(2_000);
    const [first] = puts();
    ledger.down = false;
    servers.forEach((server) => server.thaw());
    await clock.advance(4_000);
    expect((await adding).copies).toBe(3);
    expect(await claim(first!.envelope)).toEqual({ kind: 'gone' });
  });

  it('of many gives up for all of them together, unless some succeed', async () => {
    const { clock, producer, all } = await patient();
    all((server) => server.freeze());
    const jobs = Array.from({ length: 2_000 }, () => ({ payload: 1, delay: MINUTE }));
    const began = clock.now();
    const adding = producer.addMany('t', jobs, { results: true }).finally(() => (ended = clock.now()));
    let ended = 0;
    await clock.advance(60_000);
    expect(new Set((await adding).map(({ error }) => error?.code))).toEqual(new Set(['DQ_TOO_FEW_COPIES']));
    // Four times 512 on their way: the last three have no patience left.
    expect(ended - began).toBeLessThan(PATIENCE + 4 * 3_000);
  });

  it('ends with the module', async () => {
    const { clock, producer, all } = await patient();
    all((server) => server.freeze());
    const failed = failure(producer.now('t', 1));
    await clock.advance(1_200);
    void producer.close();
    await clock.advance(2_000);
    expect(await failed).toMatchObject({ code: 'DQ_CLOSED', indeterminate: false });
  });
});

describe('while the ledger is away', () => {
  /** A job that waits, a dead one, and a process whose ledger is away for three seconds from now on. */
  async function away() {
    const world = await embedded();
    const waiting = await world.producer.delay('t', 'waiting', MINUTE);
    const dead = await world.producer.now('dead', 'dead');
    for (const copy of (await world.copies('dead')).slice(0, 1)) {
      await (await world.run(copy, 10, 'dead')).finish('dead');
    }
    await world.bury('dead');
    const { producer, deadLetters, ledger } = world.process({ patience: PATIENCE });
    ledger.down = true;
    const during = async <T>(call: Promise<T>): Promise<T> => {
      await world.clock.advance(3_000);
      ledger.down = false;
      return world.after(2_000, call);
    };
    return Object.assign(world, { producer, deadLetters, ledger, waiting, dead, during });
  }

  it('every call waits for it', async () => {
    const call = async <T>(act: (world: Awaited<ReturnType<typeof away>>) => Promise<T>): Promise<T> => {
      const world = await away();
      return world.during(act(world));
    };
    expect(await call(({ producer }) => producer.now('t', 1, { key: 'k' }))).toMatchObject({
      status: 'added',
    });
    expect(await call(({ producer, waiting }) => producer.revoke(waiting))).toBe('revoked');
    expect(await call(({ producer, waiting }) => producer.reschedule(waiting, { delay: 1 }))).toBe(
      'rescheduled',
    );
    expect(await call(({ producer, waiting }) => producer.find(waiting))).toMatchObject({ state: 'waiting' });
    expect((await call(({ deadLetters }) => deadLetters.list('dead'))).letters).toHaveLength(1);
    expect(await call(({ deadLetters, dead }) => deadLetters.get(dead))).toMatchObject({ payload: 'dead' });
    expect(await call(({ deadLetters, dead }) => deadLetters.revive(dead))).toBe('revived');
    expect(await call(({ deadLetters, dead }) => deadLetters.discard(dead))).toBe('discarded');
  });

  it('every call can do without, and a question is never indeterminate', async () => {
    const { producer, deadLetters, waiting, dead } = await away();
    const patience = 0;
    const questions = [
      producer.find(waiting, { patience }),
      deadLetters.list('dead', { patience }),
      deadLetters.get(dead, { patience }),
    ];
    for (const question of questions) {
      const { code, indeterminate, message } = await failure(question);
      expect([code, indeterminate]).toEqual(['DQ_LEDGER_DOWN', false]);
      expect(message).toContain('nothing is known: ');
    }
    const changes = [
      producer.now('t', 1, { key: 'k', patience }),
      producer.reschedule(waiting, { delay: 1 }, { patience }),
      deadLetters.revive(dead, { patience }),
      deadLetters.discard(dead, { patience }),
    ];
    for (const change of changes) {
      expect(await failure(change)).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: false });
    }
    // It may have been revoked, of which only the answer is missing.
    expect(await failure(producer.revoke(waiting, { patience }))).toMatchObject({ indeterminate: true });
  });

  it.each(['lost', 'unanswered'] as const)('a discard whose answer is %s is one discard', async (fault) => {
    const { deadLetters, ledger, dead, after, payloads } = await away();
    ledger.down = false;
    ledger.fail('discard', fault);
    expect(await after(2_000, deadLetters.discard(dead))).toBe('discarded');
    expect(await payloads('dead')).toEqual([]);
  });

  it('a commit is repeated as long as the patience lasts', async () => {
    const { clock, producer, ledger, payloads } = await away();
    ledger.down = false;
    ledger.acted = (call) => void (ledger.down = call === 'open');
    const adding = producer.now('t', 'new', { key: 'k' });
    await clock.advance(4_000);
    ledger.acted = () => undefined;
    ledger.down = false;
    await clock.advance(1_000);
    expect((await adding).status).toBe('added');
    expect(await payloads()).toContain('new');
  });

  it.each(['soon', '-1s', null])('a wrong patience is refused: %p', async (wrong) => {
    const { producer, deadLetters, waiting } = await away();
    const patience = wrong as never;
    for (const call of [
      producer.now('t', 1, { patience }),
      producer.revoke(waiting, { patience }),
      producer.find(waiting, { patience }),
      deadLetters.get(waiting, { patience }),
    ]) {
      const error = await failure(call);
      expect(error).toBeInstanceOf(DqError);
      expect([error.code, error.message]).toEqual([
        'DQ_BAD_DURATION',
        expect.stringContaining('`patience` is '),
      ]);
    }
  });
});

describe('a call between others', () => {
  it('moves a job that others keep replacing, or says that it could not', async () => {
    const world = await embedded();
    const other = world.process().producer;
    const { producer, ledger } = world.process({ patience: PATIENCE });
    await other.delay('t', 0, '1h', { key: 'k' });
    let replacing = true;
    ledger.gate = async (call) => {
      if (call !== 'commit') return;
      await new Promise<void>((resolve) => world.clock.after(200, resolve));
      if (replacing) await other.delay('t', 'other', '1h', { key: 'k' });
    };
    const ref = { tube: 't', key: 'k' };
    const failed = failure(producer.reschedule(ref, { delay: '2h' }));
    await world.clock.advance(10_000);
    expect(await failed).toMatchObject({ code: 'DQ_CONFLICT', indeterminate: false });
    expect((await failed).message).toMatch(/the job of the key "k" was moved, .* on each of \d+ tries/);
    // It asks what the job is only once: each refusal says so.
    expect(ledger.asked.filter((call) => call === 'find').length).toBeLessThan(3);
    const moving = producer.reschedule(ref, { delay: '2h' });
    await world.clock.advance(1_000);
    replacing = false;
    expect(await world.after(1_000, moving)).toBe('rescheduled');
  });

  it('replaces a job that others keep moving, or says that it could not', async () => {
    const world = await embedded();
    const other = world.process().producer;
    const { producer, ledger } = world.process({ patience: PATIENCE });
    await other.delay('t', 0, '1h', { key: 'k' });
    ledger.gate = async (call) => {
      if (call !== 'commit') return;
      await new Promise<void>((resolve) => world.clock.after(200, resolve));
      await other.reschedule({ tube: 't', key: 'k' }, { delay: '1h' });
    };
    const failed = failure(producer.now('t', 1, { key: 'k' }));
    await world.clock.advance(10_000);
    expect(await failed).toMatchObject({ code: 'DQ_CONFLICT', indeterminate: false });
  });
});
