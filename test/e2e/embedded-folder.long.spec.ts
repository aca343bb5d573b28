import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, type DynamicModule } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedHandler, Discard, DqModule, DqProducer, type DelayedJob, type DqOptions } from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';
import { CollectingLogger } from 'nest-dq/spec-support/collecting-logger.js';
import { eventually } from 'test-servers';
import { closedAfterEach } from '../support/suite.js';

interface Started {
  readonly id: string;
  readonly attempt: number;
  readonly payload: unknown;
}

let parent: string;
let dir: string;
let logger: CollectingLogger;
let started: Started[];
const apps = closedAfterEach<TestingModule>();

@Injectable()
class Handlers {
  @DelayedHandler('work')
  work(payload: unknown, { id, attempt }: DelayedJob) {
    started.push({ id, attempt, payload });
  }

  @DelayedHandler('doomed')
  doom() {
    return Discard.because('it is the test’s wish');
  }

  @DelayedHandler('endless')
  endless(payload: unknown, { id, attempt }: DelayedJob) {
    started.push({ id, attempt, payload });
    return new Promise<void>(() => undefined);
  }
}

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'nest-dq-folder-'));
  dir = join(parent, 'data');
  logger = new CollectingLogger();
  started = [];
});

afterEach(() => rm(parent, { recursive: true }));

async function start(...modules: DynamicModule[]): Promise<TestingModule> {
  const imports = modules.length > 0 ? modules : [onFolder()];
  const app = await Test.createTestingModule({ imports, providers: [Handlers] }).compile();
  await app.init();
  apps.push(app);
  return app;
}

const onFolder = (more: Pick<DqOptions, 'deadLetters'> = {}) =>
  DqModule.forRoot({ embedded: { dir }, shutdownTimeout: 100, logger, ...more });

async function stop(app: TestingModule): Promise<void> {
  apps.splice(apps.indexOf(app), 1);
  await app.close();
}

describe('an application on a folder', () => {
  it('has its jobs after a restart, and those that came due run', async () => {
    const first = await start();
    const dq = first.get(DqProducer);
    const [soon, later, gone] = [
      await dq.delay('work', { number: 1 }, '300ms'),
      await dq.delay('work', { number: 2 }, '1h', { key: 'kept' }),
      await dq.delay('work', { number: 3 }, '1h'),
    ];
    expect(await dq.revoke(gone)).toBe('revoked');
    await stop(first);
    const second = await start();
    await eventually('the first has run', () => started.length > 0);
    expect(started).toEqual([{ id: soon.id, attempt: 1, payload: { number: 1 } }]);
    expect(await second.get(DqProducer).find({ tube: 'work', key: 'kept' })).toMatchObject({
      state: 'waiting',
      id: later.id,
      dueAt: later.dueAt,
    });
    expect(await second.get(DqProducer).find(gone)).toMatchObject({ state: 'revoked' });
    expect((await second.get(DqProducer).delay('work', {}, '1h', { key: 'kept' })).status).toBe('replaced');
  });

  it('knows what is done and what is dead, with its payload, and can revive it', async () => {
    const first = await start();
    const done = await first.get(DqProducer).now('work', 'once');
    const dead = await first.get(DqProducer).now('doomed', { order: 5 });
    await eventually('both ended', async () => {
      const views = await Promise.all([done, dead].map((each) => first.get(DqProducer).find(each)));
      return views[0]?.state === 'done' && views[1]?.state === 'dead';
    });
    await stop(first);
    const second = await start();
    expect(await second.get(DqProducer).find(done)).toMatchObject({ state: 'done' });
    const { letters } = await second.get(DqDeadLetters).list('doomed');
    expect(letters).toMatchObject([{ id: dead.id, payload: { order: 5 }, why: 'discarded' }]);
    expect(await second.get(DqDeadLetters).revive(letters[0]!)).toBe('revived');
    await eventually('it died again', async () => {
      const again = await second.get(DqDeadLetters).list('doomed');
      return again.letters.length === 1 && again.letters[0]!.diedAt > letters[0]!.diedAt;
    });
    expect(started).toHaveLength(1);
  });

  it('removes the oldest of too many dead letters, and has none of them after a restart', async () => {
    const first = await start();
    const ids: string[] = [];
    for (let order = 0; order < 3; order++) {
      const job = await first.get(DqProducer).now('doomed', { order });
      ids.push(job.id);
      await eventually('it is dead', async () => (await first.get(DqProducer).find(job))?.state === 'dead');
    }
    await stop(first);
    const deadIn = async (app: TestingModule) =>
      (await app.get(DqDeadLetters).list('doomed')).letters.map(({ id }) => id);
    const second = await start(onFolder({ deadLetters: { maxCount: 1 } }));
    await eventually('one is left', async () => (await deadIn(second)).length === 1);
    await stop(second);
    expect(await deadIn(await start())).toEqual([ids[2]]);
  }, 60_000);

  it('runs again at once what a shutdown has cut short, as the same attempt', async () => {
    const first = await start();
    await first.get(DqProducer).now('endless', 'x');
    await eventually('it runs', () => started.length === 1);
    await stop(first);
    await start();
    await eventually('it runs again', () => started.length === 2);
    expect(started.map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it('opens it for whoever adds in `onModuleInit`, and not before', async () => {
    const early: unknown[] = [];
    const adding = {
      provide: 'adding',
      inject: [DqProducer],
      useFactory: async (dq: DqProducer) => {
        await Promise.all(
          [dq.delay('later', 1, '1h'), dq.delay('later', 1, '1h', { key: 'k' })].map((add) =>
            add.catch((error: unknown) => early.push(error)),
          ),
        );
        return { onModuleInit: () => dq.delay('later', 2, '1h', { key: 'in time' }) };
      },
    };
    const app = await Test.createTestingModule({ imports: [onFolder()], providers: [adding] }).compile();
    apps.push(await app.init());
    const why = `the folder ${dir} is not open yet`;
    expect(early).toEqual(
      [1, 2].map(() => expect.objectContaining({ message: expect.stringContaining(why) })),
    );
    expect(await app.get(DqProducer).find({ tube: 'later', key: 'in time' })).toMatchObject({
      state: 'waiting',
    });
    expect(await app.get(DqProducer).find({ tube: 'later', key: 'k' })).toBeUndefined();
  });

  it('is not warned of memory', async () => {
    await start();
    expect(logger.matching(/memory/)).toEqual([]);
  });

  it('does not share its folder with another cluster, or another application', async () => {
    const inUse = { code: 'DQ_DISK', message: expect.stringContaining(`the folder ${dir} is in use`) };
    await start();
    const embedded = { dir, patience: 0 };
    await expect(start(DqModule.forRoot({ embedded, logger }))).rejects.toMatchObject(inUse);
    const second = DqModule.forRoot({ name: 'second', embedded, logger });
    await expect(start(DqModule.forRoot({ logger }), second)).rejects.toMatchObject(inUse);
  });
});
