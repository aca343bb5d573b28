import { describe, expect, it } from '@jest/globals';
import { withDeadJobs } from '../../spec-support/dead-jobs.js';
import { turn } from '../../spec-support/scripted-ledger.js';
import { textReport } from '../../spec-support/tube-context.js';
import { orders, Turns } from '../../spec-support/turns.js';
import type { Verb } from '../ledger/ledger.js';
import { LetterSweeper } from './letter-sweeper.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const FIRST = 5 * SECOND;

/** One more process of a world, which removes letters. */
function sweeping(
  world: Awaited<ReturnType<typeof withDeadJobs>>,
  given: { maxAge?: number; maxCount?: number },
) {
  const { cluster, clock } = world;
  const process = world.process();
  const reports: string[] = [];
  const sweeper = new LetterSweeper(
    '',
    { ...process, cluster, clock, report: textReport(reports) },
    new Map([['t', { maxAge: 60 * MINUTE, maxCount: 100, ...given }]]),
  );
  return { ...process, reports, sweeper };
}

describe('the sweeper of dead letters', () => {
  it('removes those that are too old, with their copies: a while after the start, and every minute', async () => {
    const world = await withDeadJobs(3);
    const { clock, dead, payloads } = world;
    const { sweeper, reports } = sweeping(world, { maxAge: 25 * SECOND });
    sweeper.start();
    await clock.advance(FIRST - 1);
    expect(await dead()).toEqual(['2', '1', '0']);
    await clock.advance(1);
    expect(await dead()).toEqual(['2', '1']);
    expect((await payloads()).toSorted()).toEqual(['1', '1', '1', '2', '2', '2']);
    await clock.advance(MINUTE);
    expect([await dead(), await payloads()]).toEqual([[], []]);
    expect(reports).toEqual(['removed 1 old 0 beyond', 'removed 2 old 0 beyond']);
  });

  it('removes the oldest of too many', async () => {
    const world = await withDeadJobs(4);
    const { sweeper, reports, events } = sweeping(world, { maxCount: 1 });
    const told = events.collect('lettersRemoved');
    sweeper.start();
    await world.clock.advance(FIRST);
    expect(await world.dead()).toEqual(['3']);
    expect(await world.payloads()).toEqual(['3', '3', '3']);
    expect(reports).toEqual(['removed 0 old 3 beyond']);
    expect(told).toEqual([{ tube: 't', tooOld: 0, tooMany: 3 }]);
  });

  it('leaves alone a letter that is young and within the count, and its copies', async () => {
    const world = await withDeadJobs(2);
    const { sweeper, reports, ledger } = sweeping(world, { maxCount: 2 });
    const before = await world.copies();
    sweeper.start();
    await world.clock.advance(3 * MINUTE);
    expect(await world.copies()).toEqual(before);
    expect([await world.dead(), reports]).toEqual([['1', '0'], []]);
    expect(new Set(ledger.asked)).toEqual(new Set<Verb>(['surplus']));
  });

  it('ends a job as a discard ends it', async () => {
    const world = await withDeadJobs(1);
    const { ref } = await world.letter('0');
    const { sweeper } = sweeping(world, { maxAge: SECOND });
    sweeper.start();
    await world.clock.advance(FIRST);
    expect(await world.producer.find({ ref })).toMatchObject({ state: 'revoked' });
    expect(await world.deadLetters.discard({ ref })).toBe('revoked');
  });

  it('leaves the copies on nodes that are away, as a discard does', async () => {
    const world = await withDeadJobs(1);
    const { sweeper } = sweeping(world, { maxAge: SECOND });
    await world.cut(0);
    sweeper.start();
    await world.clock.advance(FIRST + 5 * SECOND);
    await world.restore();
    expect(await world.dead()).toEqual([]);
    expect((await world.copies()).map(({ node, state }) => [node, state])).toEqual([[0, 'buried']]);
  });

  it('removes some ten thousand letters in a round, and the rest in the next', async () => {
    const world = await withDeadJobs(0);
    const { records } = world.memory.tube('t');
    const rest = {
      born: 0,
      generation: 0,
      due: 0,
      attempt: 1,
      died: 0,
      why: 'discarded',
      places: [],
    } as const;
    for (let i = 0; i < 80 * 128 + 5; i++) records.keepLetter({ id: `job${i}`, ...rest });
    const { sweeper, reports, ledger } = sweeping(world, {});
    sweeper.start();
    await world.clock.advance(FIRST);
    expect(records.letters.size).toBe(5);
    expect(ledger.asked).toHaveLength(2 * 80);
    await world.clock.advance(MINUTE);
    expect(reports).toEqual(['removed 10240 old 0 beyond', 'removed 5 old 0 beyond']);
  });

  it('leaves alone a job that is revived meanwhile, and its letter if it dies again', async () => {
    const world = await withDeadJobs(1);
    const { sweeper, reports, ledger } = sweeping(world, { maxAge: SECOND });
    const { ref } = await world.letter('0');
    let later = 0;
    ledger.gate = async (verb) => {
      if (verb !== 'discard') return;
      ledger.gate = () => undefined;
      expect(await world.deadLetters.revive({ ref })).toBe('revived');
      later = world.clock.wall();
      const primary = (await world.copies()).find(
        ({ header }) => header.index === 0 && header.generation > 0,
      )!;
      await (await world.run(primary)).finish('dead');
    };
    sweeper.start();
    await world.clock.advance(FIRST);
    await world.bury();
    expect(await world.letter('0')).toMatchObject({ diedAt: new Date(later) });
    expect(await world.payloads()).toEqual(['0', '0', '0']);
    expect(reports).toEqual([]);
  });

  it.each(['lost', 'unanswered'] as const)(
    'deletes the copies if a discard is %s, a minute later',
    async (fault) => {
      const world = await withDeadJobs(2);
      const { sweeper, reports, ledger } = sweeping(world, { maxAge: SECOND });
      ledger.fail('discard', fault);
      sweeper.start();
      await world.clock.advance(FIRST);
      expect(await world.payloads()).toHaveLength(6);
      expect(reports).toEqual([expect.stringMatching(/^not swept .*Redis did not answer/)]);
      await world.clock.advance(MINUTE);
      expect([await world.dead(), await world.payloads()]).toEqual([[], []]);
      expect(reports.slice(1)).toEqual(['removed 2 old 0 beyond']);
    },
  );

  it('in two processes at once removes each letter once, in each order of their steps', async () => {
    for (const order of orders(2, 2)) {
      const world = await withDeadJobs(2);
      const turns = new Turns();
      const sweepers = [0, 1].map(() => sweeping(world, { maxCount: 1 }));
      await turns.play(
        order,
        sweepers.map(({ sweeper, ledger }, actor) => async () => {
          ledger.gate = () => turns.gate(actor);
          sweeper.start();
          await world.clock.advance(FIRST);
        }),
      );
      await Promise.all(sweepers.map(({ sweeper }) => sweeper.close()));
      expect({ order, dead: await world.dead(), copies: await world.payloads() }).toEqual({
        order,
        dead: ['1'],
        copies: ['1', '1', '1'],
      });
      expect(sweepers.flatMap(({ reports }) => reports)).toEqual(['removed 0 old 1 beyond']);
    }
  });

  it('when stopped, deletes the copies of what it has discarded, and asks no more', async () => {
    const world = await withDeadJobs(2);
    const { sweeper, ledger } = sweeping(world, { maxAge: SECOND });
    const steps: string[] = [];
    ledger.gate = (verb) => {
      if (verb === 'discard') void sweeper.close().then(() => steps.push('stopped'));
    };
    ledger.acted = async (verb) => {
      await turn();
      steps.push(verb);
    };
    sweeper.start();
    await world.clock.advance(FIRST);
    expect(steps).toEqual(['surplus', 'discard', 'stopped']);
    expect([await world.dead(), await world.payloads()]).toEqual([[], []]);
    await world.clock.advance(10 * MINUTE);
    expect(ledger.asked).toEqual(['surplus', 'discard']);
    await sweeper.close();
  });

  it('may be stopped before the start', async () => {
    const world = await withDeadJobs(1);
    const { sweeper } = sweeping(world, { maxAge: SECOND });
    await sweeper.close();
    sweeper.start();
    await world.clock.advance(MINUTE);
    expect(await world.dead()).toEqual(['0']);
  });
});
