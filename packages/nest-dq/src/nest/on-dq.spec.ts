import { describe, expect, it, jest } from '@jest/globals';
import { Injectable, Module, Scope, type DynamicModule, type Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { firstValueFrom } from 'rxjs';
import { DqEvents, type DqEventMap, type DqEventName } from '../events/events.js';
import { DqProducer } from '../producer/producer.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { DelayedHandler } from './delayed-handler.js';
import { DqModule } from './dq-module.js';
import { OnDq } from './on-dq.js';
import { getDqToken } from './tokens.js';

@Injectable()
class Greeter {
  @DelayedHandler('greet')
  greet(name: string): string {
    if (name === 'Eve') throw new Error('not her');
    return `hello ${name}`;
  }

  @DelayedHandler('greet', { cluster: 'mails' })
  mail(name: string): string {
    return `dear ${name}`;
  }
}

@Injectable()
class Watcher {
  readonly seen: string[] = [];

  @OnDq('nodeUp')
  up({ node }: DqEventMap['nodeUp']): void {
    this.seen.push(`${node} is up`);
  }

  @OnDq('completed')
  @OnDq('completed', { cluster: 'mails' })
  completed({ result }: DqEventMap['completed']): void {
    this.seen.push(String(result));
  }

  @OnDq('failed')
  async failed({ job, error }: DqEventMap['failed']): Promise<void> {
    await Promise.reject(
      new Error(`the pager is broken, and ${String(job.payload)} failed: ${error.message}`),
    );
  }
}

const logger = new CollectingLogger();
const DEFAULT = DqModule.forRoot({ logger, handlers: { attempts: 1 } });
const MAILS = DqModule.forRoot({ logger, name: 'mails' });

const compile = (imports: DynamicModule[], ...providers: Type[]): Promise<TestingModule> =>
  Test.createTestingModule({ imports, providers }).compile();
const start = async (...providers: Type[]) => (await compile([DEFAULT, MAILS], ...providers)).init();

async function refusal(app: TestingModule): Promise<string> {
  const refused = await app.init().then(
    () => 'it was not refused',
    (error: Error) => error.message,
  );
  await app.close();
  return refused;
}

describe('@OnDq', () => {
  it('calls methods with the events of their clusters, from the start on', async () => {
    const app = await start(Greeter, Watcher);
    const completed = firstValueFrom(app.get(DqEvents).on('completed'));
    const mailed = firstValueFrom(app.get<DqEvents>(getDqToken('mails', DqEvents)).on('completed'));
    await app.get(DqProducer).now('greet', 'Ada');
    await completed;
    await app.get<DqProducer>(getDqToken('mails')).now('greet', 'Bob');
    await mailed;
    expect(app.get(Watcher).seen).toEqual(['embedded is up', 'hello Ada', 'dear Bob']);
    await app.close();
  });

  it('logs what a listener throws or rejects with, by its name', async () => {
    const app = await start(Greeter, Watcher);
    const dead = firstValueFrom(app.get(DqEvents).on('dead'));
    await app.get(DqProducer).now('greet', 'Eve');
    expect((await dead).letter).toMatchObject({ tube: 'greet', payload: 'Eve', why: 'attempts' });
    await app.close();
    expect(logger.matching(/pager/)).toEqual([
      'Watcher.failed (in RootTestModule) at `failed` failed: the pager is broken, and Eve failed: not her',
    ]);
  });

  it('calls a method that was replaced later, as by a spy', async () => {
    const app = await start(Greeter, Watcher);
    const spy = jest.spyOn(app.get(Watcher), 'completed');
    const completed = firstValueFrom(app.get(DqEvents).on('completed'));
    await app.get(DqProducer).now('greet', 'Ada');
    await completed;
    expect(spy).toHaveBeenCalledTimes(1);
    await app.close();
  });

  it('completes the observables when the application is closed', async () => {
    const app = await start();
    const last = firstValueFrom(app.get(DqEvents).on('dead'), { defaultValue: 'the end' });
    await app.close();
    await expect(last).resolves.toBe('the end');
  });

  it.each([Scope.REQUEST, Scope.TRANSIENT])('refuses a class of scope %s', async (scope) => {
    @Injectable({ scope })
    class Scoped {
      @OnDq('dead')
      dead(): void {}
    }
    @Module({ providers: [Scoped] })
    class Feature {}
    const app = await compile([DEFAULT, { module: Feature }]);
    expect(await refusal(app)).toMatch(
      /DQ_CONFIG: Scoped.dead \(in Feature\) listens to events, but its class is request-scoped, transient/,
    );
  });

  it('refuses an unknown cluster, and an unknown event', async () => {
    @Injectable()
    class Stray {
      @OnDq('dead', { cluster: 'post' })
      dead(): void {}
    }
    expect(await refusal(await compile([DEFAULT, MAILS], Stray))).toMatch(
      /DQ_CONFIG: Stray.dead .*its cluster is "post", .*there are .*"mails"/,
    );
    @Injectable()
    class Wrong {
      @OnDq('finished' as DqEventName)
      finished(): void {}
    }
    expect(await refusal(await compile([DEFAULT], Wrong))).toMatch(
      /DQ_CONFIG: Wrong.finished .*unknown event "finished": expected one of/,
    );
  });

  it('refuses a static method where it is written', () => {
    const decorate = OnDq('dead');
    expect(() => decorate(Watcher, 'up', { value: () => undefined })).toThrow(
      /DQ_CONFIG: @OnDq\("dead"\) is on Watcher.up, which is static: expected an instance method, such as/,
    );
  });
});
