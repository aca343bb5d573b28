import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import type { TestingModule } from '@nestjs/testing';
import { Discard, DqProducer } from 'nest-dq';
import { DqControl, DqInspector, type SeriesView } from 'nest-dq/operate';
import { kitAt, nightly, REPORT, type Reports, Series, start, stop, version } from './recurring-app.js';

async function seriesOf(app: TestingModule): Promise<SeriesView> {
  const [series] = await app.get(DqInspector).series();
  return series!;
}

it('remembers how a series ran last, in all its processes, after all of them have ended', async () => {
  const kit = kitAt('2027-01-01T12:00:00Z');
  const outcomes = [
    undefined,
    new Error('no such table\nat line 3'),
    new Error('again'),
    Discard.because('no day'),
  ];
  const backoff = { type: 'fixed', delay: '1h', jitter: 0 } as const;
  const Reports = version('0 3 * * *', { backoff }, (_job, nth) => {
    const outcome = outcomes[nth - 1];
    if (outcome instanceof Error) throw outcome;
    return outcome;
  });
  const { app } = await start(kit, Reports);
  expect(await seriesOf(app)).not.toHaveProperty('last');
  await kit.advanceTo(new Date('2027-01-02T03:00:01Z'));
  const process = expect.stringMatching(/:\d+$/);
  expect((await seriesOf(app)).last).toEqual({
    outcome: 'completed',
    dueAt: new Date('2027-01-02T03:00:00Z'),
    endedAt: new Date('2027-01-02T03:00:00Z'),
    attempt: 1,
    took: 0,
    process,
  });
  await kit.advanceTo(new Date('2027-01-03T03:00:01Z'));
  const retrying = { outcome: 'retrying', attempt: 1, error: 'Error: no such table', process };
  expect((await seriesOf(app)).last).toMatchObject(retrying);
  await stop(app);
  const { app: next } = await start(kit, nightly());
  expect((await seriesOf(next)).last).toMatchObject(retrying);
  await kit.advance('1d');
  expect((await seriesOf(next)).last).toMatchObject({ outcome: 'completed', attempt: 1 });
});

it('says when a handler gave an occurrence up', async () => {
  const kit = kitAt('2027-01-01T12:00:00Z');
  const { app } = await start(
    kit,
    version('0 3 * * *', {}, () => Discard.because('no day for it')),
  );
  await kit.advance('1d');
  const { last, state } = await seriesOf(app);
  expect(last).toMatchObject({ outcome: 'dead', took: 0, error: expect.stringContaining('no day for it') });
  expect(state).toBe('waiting');
});

it('ignores jobs of the tube that are no occurrence', async () => {
  const kit = kitAt('2027-01-01T12:00:00Z');
  const { app } = await start(kit, nightly());
  await app.get(DqProducer).now(REPORT, 'at once');
  await kit.drain();
  expect(await seriesOf(app)).not.toHaveProperty('last');
});

it('says since when a series is missed, until it has run', async () => {
  const kit = kitAt('2027-01-01T12:00:00Z');
  const { app } = await start(kit, nightly());
  const control = app.get(DqControl);
  await control.pause(REPORT);
  await kit.advanceTo(new Date('2027-01-02T03:01:00Z'));
  expect(await seriesOf(app)).not.toHaveProperty('missedSince');
  await kit.advance('11m');
  expect(await seriesOf(app)).toMatchObject({
    missedSince: new Date('2027-01-02T03:00:00Z'),
    state: 'waiting',
  });
  await control.resume(REPORT);
  await kit.advance('1m');
  const { missedSince, last } = await seriesOf(app);
  expect([missedSince, last?.outcome]).toEqual([undefined, 'completed']);
});

it('is listed without a process as long as its job waits', async () => {
  const kit = kitAt('2027-01-01T12:00:00Z');
  const { app } = await start(kit, nightly());
  await kit.advance('1d');
  await stop(app);
  const { app: other } = await start(kit, class Other {} as Type<Reports>, {}, false);
  await kit.advance('1d'); // so that the one that ended is no longer announced
  expect(await seriesOf(other)).toMatchObject({
    tube: REPORT,
    plan: '0 3 * * * UTC',
    processes: 0,
    state: 'waiting',
    last: { outcome: 'completed' },
    missedSince: new Date('2027-01-03T03:00:00Z'),
  });
  await other.get(DqProducer).revoke(Series);
  expect(await other.get(DqInspector).series()).toEqual([]);
});
