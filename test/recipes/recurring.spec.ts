import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Inject,
  Injectable,
  Scope,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
  type Type,
} from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  Again,
  DelayedHandler,
  Discard,
  DqDeadLetters,
  DqModule,
  DqProducer,
  Recurring,
  Retry,
  isDqContext,
  type DelayedJob,
  type DqError,
  type DqOptions,
  type RecurrencePlan,
  type RecurringOptions,
} from 'nest-dq';
import { DqTestKit } from 'nest-dq/testing';

const REPORT = 'report';
const Series = { tube: REPORT, key: 'recurring' };

const lines: string[] = [];
const log = (message: string) => void lines.push(message);
const logger = { log, warn: log, error: log };
const kits: DqTestKit[] = [];
const apps: TestingModule[] = [];

afterEach(async () => {
  lines.length = 0;
  for (const app of apps.splice(0)) await app.close();
  for (const kit of kits.splice(0)) await kit.close();
});

function kitAt(now: string, nodes = 3): DqTestKit {
  const kit = new DqTestKit({ now: new Date(now), nodes });
  kits.push(kit);
  return kit;
}

/** What an occurrence comes to; undefined: it goes well. */
type Outcome = (job: DelayedJob, nth: number) => unknown;

/** A version of the application: a class with one series, which notes its runs. */
function version(plan: RecurrencePlan, options?: RecurringOptions, outcome?: Outcome) {
  @Injectable()
  class Reports {
    readonly runs: DelayedJob[] = [];

    @Recurring(REPORT, plan, options)
    async nightly(_payload: undefined, job: DelayedJob): Promise<unknown> {
      this.runs.push(job);
      return outcome?.(job, this.runs.length);
    }

    get ranAt(): string[] {
      return this.runs.map(({ dueAt, lateness }) => new Date(dueAt.getTime() + lateness).toISOString());
    }
  }
  return Reports;
}
type Reports = InstanceType<ReturnType<typeof version>>;

async function start(
  kit: DqTestKit,
  Reports: Type<Reports>,
  options: DqOptions = {},
  isStatic = true,
): Promise<{ app: TestingModule; reports: Reports }> {
  const imports = [DqModule.forRoot({ logger, ...options })];
  const app = await kit.override(Test.createTestingModule({ imports, providers: [Reports] })).compile();
  apps.push(app);
  await app.init();
  return { app, reports: isStatic ? app.get<Reports>(Reports) : ({} as Reports) };
}

async function stop(app: TestingModule): Promise<void> {
  apps.splice(apps.indexOf(app), 1);
  await app.close();
}

/** As in production, where each process looks after its series every minute: in one stretch the kit leaps over them. */
async function passMinutes(kit: DqTestKit, count: number): Promise<void> {
  for (let minute = 0; minute < count; minute++) await kit.advance('1m');
}

const nightly = (tz?: string) => version('0 3 * * *', tz === undefined ? {} : { tz });
const due = (kit: DqTestKit) => kit.scheduled(REPORT).map(({ dueAt }) => dueAt.toISOString());

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

  it.each([
    ['spring', '2027-03-27T12:00:00Z', ['2027-03-28T01:00:00.000Z', '2027-03-29T01:00:00.000Z']],
    ['autumn', '2027-10-30T12:00:00Z', ['2027-10-31T02:00:00.000Z', '2027-11-01T02:00:00.000Z']],
  ])('keeps to the time of day of its zone, when that changes in %s', async (_when, from, runs) => {
    const kit = kitAt(from);
    const { reports } = await start(kit, nightly('Europe/Berlin'));
    await kit.advance('2d');
    expect(reports.ranAt).toEqual(runs);
  });

  it('runs every quarter of the hour that is there twice', async () => {
    const kit = kitAt('2027-10-30T23:59:00Z');
    const { reports } = await start(kit, version('*/15 * * * *', { tz: 'Europe/Berlin' }));
    await kit.advance('2h');
    expect(reports.runs).toHaveLength(8);
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

  it('runs an hour after the last one, by a function that says so, however often it is looked after', async () => {
    const kit = kitAt('2027-01-01T12:00:30Z');
    const hourly = version({ name: 'hourly', next: (after) => new Date(after.getTime() + 3_600_000) });
    const both = [await start(kit, hourly), await start(kit, hourly)];
    await passMinutes(kit, 62);
    expect(both.flatMap(({ reports }) => reports.ranAt)).toEqual(['2027-01-01T13:00:30.000Z']);
    expect(due(kit)).toEqual(['2027-01-01T14:00:30.000Z']);
  });

  it('goes on in a year without a day in which anything else happens', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const { reports } = await start(kit, version('0 0 29 2 *'));
    await kit.advanceTo(new Date('2032-03-01T00:00:00Z'));
    expect(reports.ranAt).toEqual(['2028-02-29T00:00:00.000Z', '2032-02-29T00:00:00.000Z']);
  });

  it('runs beside it what is scheduled in its tube by hand, once', async () => {
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

  it('is a dead letter in the end, and the series goes on at once', async () => {
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
    await expect(dead.revive(letters[0]!)).resolves.toBe('replaced'); // the series goes on under its key
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
    expect(lines.join()).toContain('a recurring handler returned Again: its plan says when it runs next');
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
  it('goes on where the series was', async () => {
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

  it('begins anew at the next occurrence, when it was away for longer than `staleAfter`', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    await stop((await start(kit, nightly())).app);
    await kit.advance('12d');
    const { reports } = await start(kit, nightly());
    await kit.advance('1d');
    expect(reports.ranAt).toEqual(['2027-01-14T03:00:00.000Z']);
  });
});

describe('a new version of the application', () => {
  it.each([
    ['later in the day', '0 3 * * *', '0 9 * * *', '2027-01-02T09:00:00.000Z'],
    ['sooner', '0 3 1 * *', '0 3 * * *', '2027-01-02T03:00:00.000Z'],
    ['more seldom', '0 3 * * *', '0 3 1 * *', '2027-02-01T03:00:00.000Z'],
    ['in another zone', '0 3 * * *', '0 3 * * *', '2027-01-02T02:00:00.000Z'],
  ])('moves the series to a plan that is %s', async (what, before, after, expected) => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    await start(kit, version(before));
    const { reports } = await start(
      kit,
      version(after, what === 'in another zone' ? { tz: 'Europe/Berlin' } : {}),
    );
    expect(due(kit)).toEqual([expected]);
    expect(reports.runs).toEqual([]);
  });

  it('has its way within a minute of the end of the old one', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const old = await start(kit, version('0 3 * * *'));
    await kit.advance('30s');
    const { reports } = await start(kit, version('0 9 * * *'));
    await kit.advance('2m');
    await stop(old.app);
    await kit.advance('1m');
    expect(due(kit)).toEqual(['2027-01-02T09:00:00.000Z']);
    await kit.advance('1d');
    expect(reports.ranAt).toEqual(['2027-01-02T09:00:00.000Z']);
    expect(old.reports.ranAt).toEqual([]);
  });

  it('leaves an occurrence alone that is retried, and goes on by its own plan', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const backoff = { type: 'fixed', delay: '1h', jitter: 0 } as const;
    const old = await start(
      kit,
      version('0 3 * * *', { backoff }, () => Retry.after('1h')),
    );
    await kit.advanceTo(new Date('2027-01-02T03:30:00Z'));
    await stop(old.app);
    const { reports } = await start(kit, version('0 9 * * *'));
    await kit.advanceTo(new Date('2027-01-02T10:00:00Z'));
    expect(reports.ranAt).toEqual(['2027-01-02T04:00:00.000Z', '2027-01-02T09:00:00.000Z']);
  });

  it('has its way also after an occurrence that it had scheduled and an old one ran', async () => {
    const kit = kitAt('2027-01-02T02:59:30Z');
    const old = await start(kit, version('0 3 1 * *'));
    await stop((await start(kit, nightly())).app);
    await kit.advance('40s');
    expect(old.reports.ranAt).toEqual(['2027-01-02T03:00:00.000Z']);
    await stop(old.app);
    await start(kit, nightly());
    expect(due(kit)).toEqual(['2027-01-03T03:00:00.000Z']);
  });

  it('goes on at once after an occurrence that the old one had scheduled, which it makes up for', async () => {
    const kit = kitAt('2027-01-01T02:59:00Z');
    await stop((await start(kit, version('0 3 * * *'))).app);
    await kit.advance('90s');
    const { reports } = await start(kit, version('*/10 * * * * *'));
    await kit.advance('25s');
    expect(reports.ranAt.map((at) => at.slice(11, 19))).toEqual(['03:00:30', '03:00:40', '03:00:50']);
  });

  it('moves the series to a calendar of another name, although its function has the same source', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const every = (days: number) =>
      version({ name: `every ${days} days`, next: (after) => after.getTime() + days * 86_400_000 });
    await stop((await start(kit, every(1))).app);
    expect(due(kit)).toEqual(['2027-01-02T12:00:00.000Z']);
    await start(kit, every(2));
    expect(due(kit)).toEqual(['2027-01-03T12:00:00.000Z']);
  });

  it('ends a series whose plan has no occurrence any more', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    await stop((await start(kit, nightly())).app);
    await start(kit, version({ name: 'never', next: () => undefined }));
    expect(due(kit)).toEqual([]);
  });

  it('does nothing of its own when it only produces', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    const { reports } = await start(kit, nightly(), { consume: false });
    await kit.advance('2d');
    expect([due(kit), reports.runs]).toEqual([[], []]);
  });

  it('can do without the series: what waits of it is revoked by its key', async () => {
    const kit = kitAt('2027-01-01T12:00:00Z');
    await stop((await start(kit, nightly())).app);
    await expect(kit.producer.revoke(Series)).resolves.toBe('revoked');
    await kit.advance('2d');
    expect(due(kit)).toEqual([]);
  });
});

it('skips the next occurrence, when that is revoked, for all who look after the series', async () => {
  const kit = kitAt('2027-01-01T12:00:00Z');
  const { app, reports } = await start(kit, nightly());
  await expect(app.get(DqProducer).revoke(Series)).resolves.toBe('revoked');
  await passMinutes(kit, 3);
  await stop((await start(kit, nightly())).app); // one that starts meanwhile
  await passMinutes(kit, 2);
  expect(due(kit)).toEqual(['2027-01-03T03:00:00.000Z']);
  await kit.advance('3d');
  expect(reports.ranAt).toEqual(['2027-01-03T03:00:00.000Z', '2027-01-04T03:00:00.000Z']);
});

it('has its next occurrence at the time to which that was moved, and then goes on by its plan', async () => {
  const kit = kitAt('2027-01-01T12:00:00Z');
  const { app, reports } = await start(kit, nightly());
  await app.get(DqProducer).reschedule(Series, new Date('2027-01-01T17:00:00Z'));
  await passMinutes(kit, 3);
  await kit.advance('1d');
  expect(reports.ranAt).toEqual(['2027-01-01T17:00:00.000Z', '2027-01-02T03:00:00.000Z']);
});

it('begins once the nodes are there, and tells once that they are not', async () => {
  const kit = kitAt('2027-01-01T12:00:00Z');
  for (const node of [0, 1, 2]) kit.sleepNode(node);
  const { reports } = await start(kit, nightly());
  await kit.advance('5m');
  expect(lines.filter((line) => line.includes('series report could not be scheduled'))).toHaveLength(1);
  for (const node of [0, 1, 2]) kit.wakeNode(node);
  await kit.advance('1m');
  await kit.advance('1d');
  expect(reports.ranAt).toEqual(['2027-01-02T03:00:00.000Z']);
});

it('runs behind guards, and in a class that is made for each occurrence', async () => {
  const seen: unknown[] = [];
  @Injectable()
  class Night implements CanActivate {
    canActivate(context: ExecutionContext): boolean {
      seen.push(isDqContext(context));
      return true;
    }
  }
  @Injectable({ scope: Scope.REQUEST })
  class Scoped {
    constructor(@Inject(REQUEST) private readonly request: DelayedJob) {}

    @UseGuards(Night)
    @Recurring(REPORT, '0 3 * * *')
    nightly(_payload: undefined, job: DelayedJob): void {
      seen.push(this.request === job);
    }
  }
  const kit = kitAt('2027-01-01T12:00:00Z');
  await start(kit, Scoped as unknown as Type<Reports>, {}, false);
  await kit.advance('2d');
  expect(seen).toEqual([true, true, true, true]);
});

describe('an application does not start', () => {
  async function refusal(Reports: Type): Promise<DqError> {
    return start(kitAt('2027-01-01T12:00:00Z'), Reports as Type<Reports>).then(
      () => {
        throw new Error('it started');
      },
      (error: DqError) => error,
    );
  }

  it.each<[string, RecurrencePlan, RecurringOptions, RegExp]>([
    ['cron expression', 'at three', {}, /Reports\.nightly .*the cron expression is "at three": expected/],
    ['day', '0 0 30 2 *', {}, /Reports\.nightly .*it never occurs/],
    ['time zone', '0 3 * * *', { tz: 'Mars/Base' }, /Reports\.nightly .*`tz` is "Mars\/Base"/],
    [
      'calendar',
      {
        name: 'none',
        next: () => {
          throw new Error('no calendar');
        },
      },
      {},
      /Reports\.nightly .*the plan failed: no calendar/,
    ],
    [
      'calendar, a function without a name',
      (() => undefined) as unknown as RecurrencePlan,
      {},
      /Reports\.nightly .*its plan is function .*expected a cron expression, or { name: /,
    ],
    ['option', '0 3 * * *', { attempts: 0 }, /Reports\.nightly .*attempts/],
    [
      'name of an option',
      '0 3 * * *',
      { timezone: 'UTC' } as RecurringOptions,
      /Reports\.nightly .*no handler option `timezone`.*concurrency, attempts, backoff, timeout, cluster, tz$/,
    ],
  ])('with a wrong %s', async (_what, plan, options, message) => {
    const error = await refusal(version(plan, options));
    expect(error.code).toBe('DQ_CONFIG');
    expect(error.message).toMatch(message);
  });

  it('with a handler and a series of one tube', async () => {
    class Reports extends nightly() {
      @DelayedHandler(REPORT)
      other(): void {}
    }
    expect((await refusal(Reports)).message).toMatch(/the tube "report" has two handlers/);
  });
});
