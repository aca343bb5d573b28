import { describe, expect, it } from '@jest/globals';
import { Again, Discard, DqProducer, Retry, type DqOptions, type RecurringOptions } from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';
import { REPORT, Series, lines, kitAt, version, start, stop, nightly, due } from './recurring-app.js';

describe('a series', () => {
  it('runs at each occurrence, one after the other, by UTC', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const { reports } = await start(kit, nightly());
    expect(due(kit)).toEqual(['2027-01-02T03:00:00.000Z']);
    await kit.advance('3d');
    expect(reports.ranAt).toEqual([
      '2027-01-02T03:00:00.000Z',
      '2027-01-03T03:00:00.000Z',
      '2027-01-04T03:00:00.000Z',
    ]);
    expect(reports.runs.every(({ payload, attempt }) => payload === undefined && attempt === 1)).toBe(true);
    expect(due(kit)).toEqual(['2027-01-05T03:00:00.000Z']);
  });

  it('is one in ten processes', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const all = await Promise.all(Array.from({ length: 10 }, () => start(kit, nightly())));
    expect(due(kit)).toHaveLength(1);
    await kit.advance('3d');
    expect(all.flatMap(({ reports }) => reports.ranAt)).toHaveLength(3);
  });

  it('runs by a calendar of your own, to its end', async () => {
    const days = ['2027-01-05', '2027-01-07'].map((day) => new Date(`${day}T09:00:00Z`));
    const kit = kitAt('2027-01-01T12:00:00Z');
    const { reports } = await start(
      kit,
      version({ name: 'two days', next: (after) => days.find((day) => day > after) }),
    );
    await kit.advance('30d');
    expect(reports.ranAt).toEqual(days.map((day) => day.toISOString()));
    expect(due(kit)).toEqual([]);
  });

  it('runs jobs added to its tube by hand alongside the series, once', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const { app, reports } = await start(kit, nightly());
    await app.get(DqProducer).now(REPORT, 'at once');
    await kit.drain();
    expect(reports.runs.map(({ payload }) => payload)).toEqual(['at once']);
    await kit.advance('1d');
    expect(reports.runs).toHaveLength(2);
    expect(due(kit)).toHaveLength(1);
  });

  it('is of the cluster that it names, and takes the options of a handler', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const Reports = version('0 3 * * *', { cluster: 'night', attempts: 3, tz: 'UTC' });
    const { reports } = await start(kit, Reports, { name: 'night' } as DqOptions);
    await kit.advance('1d');
    expect(reports.runs.map(({ attempts }) => attempts)).toEqual([3]);
  });
});

describe('an occurrence that waits for a wrong time', () => {
  /** As a version left it that went by the machine's clock, which was three days ahead. */
  async function wrong() {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const { app, reports } = await start(kit, nightly());
    const dq = app.get(DqProducer);
    await dq.reschedule(Series, new Date('2027-01-05T03:00:00Z'));
    return { kit, dq, reports };
  }

  it('stays there, even after a restart, and the series continues from where it is moved', async () => {
    const { kit, dq, reports } = await wrong();
    const { reports: others } = await start(kit, nightly());
    for (let i = 0; i < 2; i++) await kit.advance('1m'); // the look of each minute
    expect(due(kit)).toEqual(['2027-01-05T03:00:00.000Z']);
    await dq.reschedule(Series, new Date('2027-01-02T03:00:00Z'));
    await kit.advance('3d');
    expect([...reports.ranAt, ...others.ranAt].toSorted()).toEqual([
      '2027-01-02T03:00:00.000Z',
      '2027-01-03T03:00:00.000Z',
      '2027-01-04T03:00:00.000Z',
    ]);
  });

  it('is skipped by a revoke, so the series begins only after it', async () => {
    const { kit, dq } = await wrong();
    await dq.revoke(Series);
    for (let i = 0; i < 2; i++) await kit.advance('1m');
    expect(due(kit)).toEqual(['2027-01-06T03:00:00.000Z']);
  });
});

describe('an occurrence that fails', () => {
  const failing = (options: RecurringOptions, fails: (nth: number) => boolean) =>
    version('0 3 * * *', { backoff: { type: 'fixed', delay: '1h', jitter: 0 }, ...options }, (_job, nth) => {
      if (fails(nth)) throw new Error('no database');
    });

  it('is retried, and the next one comes in its time', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const { reports } = await start(
      kit,
      failing({}, (nth) => nth <= 2),
    );
    await kit.advance('2d');
    expect(reports.ranAt).toEqual([
      '2027-01-02T03:00:00.000Z',
      '2027-01-02T04:00:00.000Z',
      '2027-01-02T05:00:00.000Z',
      '2027-01-03T03:00:00.000Z',
    ]);
  });

  it('leaves out those that come while it is retried', async () => {
    const kit = kitAt('2027-01-01T02:59:00Z');
    const fails = version(
      '* * * * *',
      { backoff: { type: 'fixed', delay: '150s', jitter: 0 } },
      (_job, nth) => {
        if (nth === 1) throw new Error('no database');
      },
    );
    const { reports } = await start(kit, fails);
    await kit.advance('5m');
    expect(reports.ranAt.map((at) => at.slice(11, 19))).toEqual([
      '03:00:00',
      '03:02:30',
      '03:03:00',
      '03:04:00',
    ]);
  });

  it('is a dead letter in the end, and the series continues at once', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const { app, reports } = await start(
      kit,
      failing({ attempts: 2 }, (nth) => nth <= 4),
    );
    await kit.advanceTo(new Date('2027-01-02T04:00:01Z'));
    expect(due(kit)).toEqual(['2027-01-03T03:00:00.000Z']);
    await kit.advance('2d');
    expect(reports.ranAt.map((at) => at.slice(8, 13))).toEqual(['02T03', '02T04', '03T03', '03T04', '04T03']);
    const dead = app.get(DqDeadLetters);
    const { letters } = await dead.list(REPORT);
    expect(letters.map(({ error, key }) => [error?.message, key])).toEqual([
      ['no database', 'recurring'],
      ['no database', 'recurring'],
    ]);
    await expect(dead.revive(letters[0]!)).resolves.toBe('replaced'); // the series continues under its key
  });

  it('is dead at once when it is discarded, and retried when it asks to be', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const outcomes = [Discard.because('no day for it'), Retry.after('5m'), undefined];
    const { app, reports } = await start(
      kit,
      version('0 3 * * *', {}, (_job, nth) => outcomes[nth - 1]),
    );
    await kit.advance('2d');
    expect(reports.ranAt.map((at) => at.slice(8, 16))).toEqual(['02T03:00', '03T03:00', '03T03:05']);
    expect((await app.get(DqDeadLetters).list(REPORT)).letters).toHaveLength(1);
  });

  it.each([
    ['returns', (again: Again) => again],
    [
      'throws',
      (again: Again) => {
        throw again;
      },
    ],
  ])('is one that %s Again: the plan says when', async (_what, say) => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    await start(
      kit,
      version('0 3 * * *', {}, () => say(Again.after('5m'))),
    );
    const { failed } = await kit.advanceTo(new Date('2027-01-02T03:00:01Z'));
    expect(failed).toBe(1);
    expect(lines.join()).toContain(
      'a recurring handler returned Again, but its plan decides when it runs next',
    );
  });

  it('with the process that ran it, is made up for by another one within a minute', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const Reports = nightly();
    const { app } = await start(kit, Reports);
    // As after a dead letter, of which the process that made it could not tell any more.
    await app.get(DqProducer).revoke(Series);
    expect(due(kit)).toEqual([]);
    await kit.advance('1m');
    expect(due(kit)).toHaveLength(1);
  });
});

describe('a process that comes back', () => {
  it('continues where the series was', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const first = await start(kit, nightly());
    await stop(first.app);
    const { reports } = await start(kit, nightly());
    expect(due(kit)).toEqual(['2027-01-02T03:00:00.000Z']);
    await kit.advance('1d');
    expect(reports.ranAt).toEqual(['2027-01-02T03:00:00.000Z']);
  });

  it('makes up for what came due meanwhile by one run, which is late', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    await stop((await start(kit, nightly())).app);
    await kit.advance('3d');
    const { reports } = await start(kit, nightly());
    await kit.advance('1d');
    expect(reports.ranAt).toHaveLength(2);
    expect(reports.runs[0]!.dueAt.toISOString()).toBe('2027-01-02T03:00:00.000Z');
    expect(reports.runs[0]!.lateness).toBeGreaterThan(2 * 86_400_000);
    expect(reports.ranAt[1]).toBe('2027-01-05T03:00:00.000Z');
  });

  it('starts over at the next occurrence, when it was away for longer than twice `staleAfter`', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    await stop((await start(kit, nightly())).app);
    await kit.advance('20d');
    const { reports } = await start(kit, nightly());
    await kit.advance('1d');
    expect(reports.ranAt).toEqual(['2027-01-22T03:00:00.000Z']);
  });
});
