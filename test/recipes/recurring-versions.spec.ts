import { describe, expect, it } from '@jest/globals';
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
import {
  DelayedHandler,
  DqProducer,
  Recurring,
  Retry,
  isDqContext,
  type DelayedJob,
  type DqError,
  type RecurrencePlan,
  type RecurringOptions,
} from 'nest-dq';
import {
  REPORT,
  Series,
  lines,
  kitAt,
  version,
  start,
  stop,
  passMinutes,
  nightly,
  due,
  type Reports,
} from './recurring-app.js';

describe('a new version of the application', () => {
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

  it('leaves a retried occurrence alone, and continues by its own plan', async () => {
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

  it('continues at once after an occurrence that the old one had scheduled, which it makes up for', async () => {
    const kit = kitAt('2027-01-01T02:59:00Z');
    await stop((await start(kit, version('0 3 * * *'))).app);
    await kit.advance('90s');
    const { reports } = await start(kit, version('*/10 * * * * *'));
    await kit.advance('25s');
    expect(reports.ranAt.map((at) => at.slice(11, 19))).toEqual(['03:00:30', '03:00:40', '03:00:50']);
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

it('begins once the nodes are there, and reports once that they are not', async () => {
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

it('runs with guards, and in a class that is created for each occurrence', async () => {
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
    [
      'name of an option',
      '0 3 * * *',
      { timezone: 'UTC' } as RecurringOptions,
      /Reports\.nightly .*unknown handler option `timezone`.*concurrency, attempts, backoff, timeout, expireAfter, onExpired, limit, batch, cluster, deadLetters, tz$/,
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
    expect((await refusal(Reports)).message).toMatch(/tube "report" has two handlers/);
  });
});
