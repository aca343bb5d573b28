import { describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { LazyModuleLoader } from '@nestjs/core';
import type { TestingModule } from '@nestjs/testing';
import { DqModule } from 'nest-dq';
import { DqDeadLetters, DqInspector } from 'nest-dq/operate';
import { closeApps, failing, handlerOf, logger, Noted, start, type Act } from '../../spec-support/joint.js';
import type { KqMessage } from '../api/received.js';
import { Discard, Retry } from '../api/outcome.js';
import { defineTopic } from '../api/topic.js';
import { TopicHandler } from '../nest/topic-handler.js';
import { KqPusher } from '../pusher/pusher.js';
import { KqDqModule } from './kq-dq-module.js';
import { tubeOfRetries } from './tubes.js';

closeApps();

describe('a failure through nest-dq', () => {
  const through = { retry: { through: 'dq', backoff: 30, attempts: 3 } } as const;

  it('lets later ones overtake, and runs again later with all of its parts', async () => {
    const noted = new Noted((run, all) => {
      if (run.value === 'first' && all.length === 1) throw new Error('no stock');
    });
    const app = await start([handlerOf(noted, { ...through, order: 'partition' })]);
    const kq = app.get(KqPusher);
    const place = { key: 'k', headers: { h: Buffer.from([0xff]) }, partition: 0 };
    await Promise.all([kq.push('orders', 'first', place), kq.push('orders', 'second', place)]);
    const runs = await noted.until(3);
    expect(runs.map(({ value }) => value)).toEqual(['first', 'second', 'first']);
    const [once, , again] = runs.map(({ message }) => message);
    for (const name of ['topic', 'partition', 'offset', 'timestamp', 'key', 'headers', 'attempts'] as const)
      expect(again![name]).toEqual(once![name]);
    expect([once!.attempt, again!.attempt]).toEqual([1, 2]);
    expect(runs[2]!.at).toBeGreaterThanOrEqual(runs[0]!.at + 30);
  });

  it('becomes a dead letter of nest-dq with its error after its attempts, and is revived there', async () => {
    const noted = new Noted((_, all) => {
      if (all.length <= 3) throw new Error('no stock');
    });
    const app = await start([handlerOf(noted, through)]);
    await app.get(KqPusher).push('orders', { id: 7 });
    await noted.until(3);
    const letter = await firstLetter(app);
    expect(letter).toMatchObject({
      key: expect.stringMatching(/^orders\/0\/0@\d+$/),
      why: 'attempts',
      error: { message: 'no stock' },
    });
    await app.get(DqDeadLetters).revive(letter!);
    const runs = await noted.until(4);
    expect(runs.map(({ message }) => message.attempt)).toEqual([1, 2, 3, 2]);
  });

  it.each<[string, Act, object]>([
    ['discards', () => Discard.because('no such customer'), { why: 'discarded' }],
    ['has used up its one attempt', failing, { why: 'attempts', error: { message: 'no stock' } }],
  ])('is a dead letter of nest-dq when its handler %s', async (_what, act, letter) => {
    const noted = new Noted(act);
    const app = await start([handlerOf(noted, { deadLetter: 'dq', retry: { attempts: 1 } })]);
    await app.get(KqPusher).push('orders', 1);
    expect(await firstLetter(app)).toMatchObject(letter);
    expect(noted.runs).toHaveLength(2);
  });

  it('is what a handler without options has after its runs in place', async () => {
    const noted = new Noted(({ message: { attempt } }) => {
      if (attempt < 4) throw new Error('no stock');
    });
    const app = await start([handlerOf(noted, { retry: { backoff: 20 } })]);
    await app.get(KqPusher).push('orders', { id: 7 });
    const runs = await noted.until(4);
    expect(runs.map(({ message: { attempt, attempts } }) => [attempt, attempts])).toEqual(
      [1, 2, 3, 4].map((attempt) => [attempt, 10]),
    );
    expect(logger.matching(/attempt 3 and was moved to nest-dq; retrying in 20 ms: no stock/)).toHaveLength(
      1,
    );
  });

  it('takes what a handler without options cannot read', async () => {
    const noted = new Noted(() => undefined);
    const app = await start([handlerOf(noted)]);
    await app.get(KqPusher).push(defineTopic('orders', { format: 'text' }), '{');
    expect(await firstLetter(app)).toMatchObject({ key: expect.stringMatching(/^orders\/\d\/0@\d+$/) });
    expect(noted.runs).toEqual([]);
  });

  it('goes to the topic of dead letters after its attempts', async () => {
    const noted = new Noted(failing);
    const dead = new Noted(() => undefined);
    @Injectable()
    class Dead {
      @TopicHandler('dead', { group: 'shop' })
      handle(value: any, message: KqMessage<any>): unknown {
        return dead.run(value, message);
      }
    }
    const app = await start([handlerOf(noted, { ...through, deadLetter: 'dead' }), Dead]);
    await app.get(KqPusher).push('orders', { id: 7 });
    const [run] = await dead.until(1);
    expect(run!.value).toEqual({ id: 7 });
    expect(run!.message.header('kq-attempts')).toBe('3');
    expect(noted.runs).toHaveLength(3);
  });

  it('takes the delay of Retry.after', async () => {
    const noted = new Noted((_, all) => (all.length < 3 ? Retry.after(40) : undefined));
    const app = await start([handlerOf(noted, { retry: { through: 'dq', backoff: 3_600_000 } })]);
    await app.get(KqPusher).push('orders', 1);
    const runs = await noted.until(3);
    for (const i of [1, 2]) expect(runs[i]!.at).toBeGreaterThanOrEqual(runs[i - 1]!.at + 40);
  });

  const LARGE = 'x'.repeat(100_000);
  it.each([
    ['value', LARGE, 'k', '1'],
    ['key', 7, LARGE, '1'],
    ['header', 7, 'k', LARGE],
  ])('keeps a message in the log whose %s is too large for a job', async (_what, value, key, h) => {
    const noted = new Noted((_, all) => {
      if (all.length === 1) throw new Error('no stock');
    });
    const app = await start([handlerOf(noted, through)]);
    await app.get(KqPusher).push('orders', value, { key, headers: { h } });
    const [, again] = await noted.until(2);
    expect(again!.value).toBe(value);
    expect(again!.message.key).toBe(key);
    expect(again!.message.header('h')).toBe(h);
  });

  it('of one message of a batch runs again alone', async () => {
    const batches: string[][] = [];
    let second = () => {};
    const done = new Promise<void>((resolve) => (second = resolve));
    @Injectable()
    class Handlers {
      @TopicHandler('orders', { group: 'shop', batch: { size: 2, within: 1_000 }, ...through })
      handle(values: any[]): unknown {
        batches.push(values);
        if (batches.length === 2) second();
        return batches.length === 1 ? [undefined, new Error('no stock')] : undefined;
      }
    }
    const app = await start([Handlers]);
    const messages = [1, 2].map((value) => ({ value, partition: 0 }));
    await app.get(KqPusher).pushMany('orders', messages);
    await done;
    expect(batches).toEqual([[1, 2], [2]]);
  });

  it('comes back to a handler of the same group, too, whose module was loaded later', async () => {
    const app = await start([handlerOf(new Noted(failing), through)]);
    const late = new Noted((_, all) => {
      if (all.length === 1) throw new Error('no stock');
    });
    @Injectable()
    class Late {
      @TopicHandler('bills', { group: 'shop', ...through })
      handle(value: any, message: KqMessage<any>): unknown {
        return late.run(value, message);
      }
    }
    @Module({ providers: [Late] })
    class LateModule {}
    await app.get(LazyModuleLoader).load(() => LateModule);
    await app.get(KqPusher).push('bills', 7);
    const [, again] = await late.until(2);
    expect(again!.message).toMatchObject({ topic: 'bills', attempt: 2 });
  });

  it('fails the start where nest-dq is not there', async () => {
    const starting = start([handlerOf(new Noted(failing), through)], DqModule.forRoot({ logger }));
    await expect(starting).rejects.toThrow(/^KQ_CONFIG: Handlers\.handle.* needs nest-dq: import KqDqModule/);
  });

  it('is an invalid option elsewhere', async () => {
    const elsewhere = { retry: { through: 'redis' as 'dq' } };
    await expect(start([handlerOf(new Noted(failing), elsewhere)])).rejects.toThrow(
      "`retry.through` is 'redis': expected 'dq', 'topics', or nothing for retries in place",
    );
  });
});

describe('KqDqModule', () => {
  it('leaves the running to other processes with `consume: false`', async () => {
    const app = await start(
      [],
      DqModule.forRoot({ logger, consume: false }),
      KqDqModule.forRoot({ consume: false }),
    );
    const { job } = await app.get(KqPusher).push('orders', 1, { delay: 60_000 });
    expect(await app.get(DqInspector).tube(job.tube)).toMatchObject({ waiting: 1, watching: 0 });
  });

  it('says what to do in a process that runs no jobs', async () => {
    const starting = start([], DqModule.forRoot({ logger, consume: false }), KqDqModule.forRoot());
    await expect(starting).rejects.toThrow(/^KQ_CONFIG: .*use KqDqModule\.forRoot\(\{ consume: false \}\)/);
  });

  it.each<[object, string]>([
    [{ consume: 'no' }, "`consume` of KqDqModule.forRoot is 'no': expected true or false"],
    [{ cluster: 'a' }, 'there is no `cluster` in the options of KqDqModule.forRoot'],
  ])('refuses %j', (options, message) => {
    expect(() => KqDqModule.forRoot(options as object)).toThrow(message);
  });
});

/** Waits until there is one. */
async function firstLetter(app: TestingModule) {
  for (;;) {
    const { letters } = await app.get(DqDeadLetters).list(tubeOfRetries(undefined, 'shop'));
    if (letters[0]) return letters[0];
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
