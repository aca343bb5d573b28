import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, Module, Scope, type DynamicModule, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { firstValueFrom, take, toArray } from 'rxjs';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { KqEvents, type KqEventMap, type KqEventName } from '../events/events.js';
import { KqPusher } from '../pusher/pusher.js';
import { KqModule } from './kq-module.js';
import { OnKq } from './on-kq.js';
import { getKqToken } from './tokens.js';
import { TopicHandler } from './topic-handler.js';

@Injectable()
class Greeter {
  @TopicHandler('greet', { deadLetter: 'drop', retry: { attempts: 1 } })
  @TopicHandler('greet', { cluster: 'mails' })
  greet(name: string): void {
    if (name === 'Eve') throw new Error('not her');
  }
}

@Injectable()
class Watcher {
  readonly seen: string[] = [];

  @OnKq('groupJoined')
  joined({ group, topics }: KqEventMap['groupJoined']): void {
    this.seen.push(`in ${group} for ${topics.join()}`);
  }

  @OnKq('handled')
  @OnKq('handled', { cluster: 'mails' })
  handled({ message, group }: KqEventMap['handled']): void {
    this.seen.push(`${String(message.value)} in ${group}`);
  }

  @OnKq('dropped')
  async dropped({ message, error }: KqEventMap['dropped']): Promise<void> {
    await Promise.reject(
      new Error(`the pager is broken, and ${String(message.value)} failed: ${error.message}`),
    );
  }
}

let logger: CollectingLogger;
let apps: TestingModule[];
let imports: DynamicModule[];
beforeEach(() => {
  logger = new CollectingLogger();
  apps = [];
  imports = [
    KqModule.forRoot({ brokers: 'memory', logger }),
    KqModule.forRoot({ brokers: 'memory', logger, name: 'mails', group: 'mails' }),
  ];
});
afterEach(() => Promise.all(apps.map((app) => app.close())));

async function compile(...providers: Type[]): Promise<TestingModule> {
  const app = await Test.createTestingModule({ imports, providers }).compile();
  apps.push(app);
  return app;
}
const start = async (...providers: Type[]) => (await compile(...providers)).init();

const told = <N extends KqEventName>(app: TestingModule, name: N, cluster?: string) =>
  firstValueFrom(app.get<KqEvents>(getKqToken(cluster, KqEvents)).on(name));
const push = (app: TestingModule, name: string, cluster?: string) =>
  app.get<KqPusher>(getKqToken(cluster)).push('greet', name);

const refusal = (app: TestingModule) =>
  app.init().then(
    () => 'it was not refused',
    (error: Error) => error.message,
  );

describe('@OnKq', () => {
  it('calls methods with the events of their clusters, from the start on', async () => {
    const app = await start(Greeter, Watcher);
    for (const [name, cluster] of [['Ada'], ['Bob', 'mails']] as const) {
      const handled = told(app, 'handled', cluster);
      await push(app, name, cluster);
      await handled;
    }
    expect(app.get(Watcher).seen).toEqual(['in nest-kq for greet', 'Ada in nest-kq', 'Bob in mails']);
  });

  it('logs what a listener throws or rejects with, by its name, and continues', async () => {
    const app = await start(Greeter, Watcher);
    const dropped = told(app, 'dropped');
    await push(app, 'Eve');
    expect(await dropped).toMatchObject({ group: 'nest-kq', why: 'attempts', runs: 1 });
    const handled = told(app, 'handled');
    await push(app, 'Ada');
    await handled;
    expect(logger.matching(/pager/)).toEqual([
      'Watcher.dropped (in RootTestModule) at `dropped` failed: the pager is broken, and Eve failed: not her',
    ]);
  });

  it('calls a method that was replaced later, as by a spy', async () => {
    const app = await start(Greeter, Watcher);
    const spy = jest.spyOn(app.get(Watcher), 'handled');
    const handled = told(app, 'handled');
    await push(app, 'Ada');
    await handled;
    expect(spy).toHaveBeenCalledTimes(1);
  });

  it('refuses a class of several instances, an unknown cluster, and an unknown event', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Scoped {
      @OnKq('died')
      died(): void {}
    }
    @Module({ providers: [Scoped] })
    class Feature {}
    imports.push({ module: Feature });
    expect(await refusal(await compile())).toMatch(
      /KQ_CONFIG: Scoped.died \(in Feature\) listens to events, but its class is request-scoped, transient/,
    );
    imports.pop();
    @Injectable()
    class Stray {
      @OnKq('died', { cluster: 'post' })
      died(): void {}
    }
    expect(await refusal(await compile(Stray))).toMatch(
      /KQ_CONFIG: Stray.died .*its cluster is "post", .*there are .*"mails"/,
    );
    @Injectable()
    class Wrong {
      @OnKq('dead' as KqEventName)
      dead(): void {}
    }
    expect(await refusal(await compile(Wrong))).toMatch(
      /KQ_CONFIG: Wrong.dead .*there is no event 'dead': expected one of handled, failed/,
    );
  });
});

describe('KqEvents', () => {
  it('reports pushes and their failures, and completes when the application is closed', async () => {
    const app = await start();
    const events = app.get(KqEvents);
    const pushed = firstValueFrom(events.on('pushed').pipe(take(3), toArray()));
    const failed = firstValueFrom(events.on('pushFailed').pipe(take(2), toArray()));
    const died = firstValueFrom(events.on('died'), { defaultValue: 'the end' });
    const kq = app.get(KqPusher);
    const first = await kq.push('orders', 1, { partition: 0 });
    const [second, wrong] = await kq.pushMany('orders', [
      { value: 2, partition: 1 },
      { value: undefined, key: 'b' },
    ]);
    await expect(kq.push('orders', 1, { partition: 9, key: 'a' })).rejects.toThrow(/KQ_BAD_MESSAGE/);
    const last = await kq.push('mails', 'hello');
    expect(await pushed).toEqual([first, second!.pushed, last]);
    expect(await failed).toEqual([
      { topic: 'orders', key: 'b', error: wrong!.error },
      { topic: 'orders', key: 'a', error: expect.objectContaining({ code: 'KQ_BAD_MESSAGE' }) },
    ]);
    await app.close();
    await expect(died).resolves.toBe('the end');
  });
});
