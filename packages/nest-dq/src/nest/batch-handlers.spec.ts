import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  Inject,
  Injectable,
  Logger,
  Scope,
  UseGuards,
  UseInterceptors,
  type CanActivate,
  type CallHandler,
  type ExecutionContext,
  type ModuleMetadata,
  type NestInterceptor,
} from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { of, race, delay, type Observable } from 'rxjs';
import type { BatchHandlerOptions, DelayedJob } from '../api/job.js';
import { defineTube } from '../api/tube.js';
import { DqConsumer } from '../consumer/consumer.js';
import { DqProducer } from '../producer/producer.js';
import { DqTestKit } from '../test-kit/dq-test-kit.js';
import { schemaBy } from '../../spec-support/schemas.js';
import { DelayedHandler } from './delayed-handler.js';
import { DqModule } from './dq-module.js';
import type { DqOptions } from './options.js';
import { isDqContext } from './job-handlers.js';
import { Recurring } from './recurring.js';

const BATCH = { batch: { size: 10, wait: '200ms' } } satisfies BatchHandlerOptions;

describe('a method that takes batches', () => {
  let kit: DqTestKit;
  let close: (() => Promise<void>)[];

  beforeEach(() => {
    Logger.overrideLogger(false);
    kit = new DqTestKit();
    close = [];
  });
  afterEach(async () => {
    for (const each of close) await each();
    await kit.close();
  });

  async function start(metadata: ModuleMetadata, options: DqOptions = {}) {
    const builder = Test.createTestingModule({ ...metadata, imports: [DqModule.forRoot(options)] });
    const module = await kit.override(builder).compile();
    const app = module.createNestApplication();
    close.push(() => app.close());
    await app.init();
    return app;
  }

  it('never gets jobs of several tubes together', async () => {
    @Injectable()
    class Mails {
      readonly seen: [tubes: string[], payloads: string[]][] = [];
      @DelayedHandler(['welcome', defineTube<string>('farewell')], BATCH)
      send(payloads: string[], jobs: readonly DelayedJob<string>[]): void {
        this.seen.push([[...new Set(jobs.map(({ tube }) => tube))], payloads.toSorted()]);
      }
    }
    const app = await start({ providers: [Mails] });
    const dq = app.get(DqProducer);
    for (const tube of ['welcome', 'farewell', 'welcome']) await dq.delay(tube, `of ${tube}`, '1s');
    expect(await kit.advance('2s')).toMatchObject({ started: 3, completed: 3 });
    expect(app.get(Mails).seen.toSorted(([[a]], [[b]]) => a!.localeCompare(b!))).toEqual([
      [['farewell'], ['of farewell']],
      [['welcome'], ['of welcome', 'of welcome']],
    ]);
  });

  it('is inherited by classes with other tubes', async () => {
    abstract class Sync {
      readonly seen: number[] = [];
      abstract readonly tube: string;
      @DelayedHandler(({ tube }: Sync) => tube, BATCH)
      run(payloads: unknown[]): void {
        this.seen.push(payloads.length);
      }
    }
    @Injectable()
    class Users extends Sync {
      readonly tube = 'users';
    }
    @Injectable()
    class Orders extends Sync {
      readonly tube = 'orders';
    }
    const app = await start({ providers: [Users, Orders] });
    const dq = app.get(DqProducer);
    for (const tube of ['users', 'users', 'orders']) await dq.delay(tube, {}, '1s');
    await kit.advance('2s');
    expect([app.get(Users).seen, app.get(Orders).seen]).toEqual([[2], [1]]);
  });

  it('gets what the schema makes of the payloads; a refused job is dead, and holds up no other', async () => {
    const schema = schemaBy(async (value) =>
      value === 2 ? { issues: [{ message: 'no 2' }] } : { value: `n${String(value)}` },
    );
    const seen: unknown[] = [];
    const Numbers = defineTube('numbers', { schema });
    const given = { ...BATCH, batch: { ...BATCH.batch, size: 3 } };
    await kit.consumer.consume(
      Numbers,
      (payloads) => void seen.push((payloads as string[]).toSorted()),
      given,
    );
    for (const n of [1, 3]) await kit.producer.delay(Numbers, n, '1s');
    await kit.producer.delay('numbers', 2, '1s');
    expect(await kit.advance('1s')).toMatchObject({ completed: 2, dead: 1 });
    expect(seen).toEqual([['n1', 'n3']]);
  });

  it('runs once behind guards and interceptors, and for one request, whose items are the jobs', async () => {
    const seen: unknown[] = [];
    @Injectable()
    class OfDq implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        const [payloads, jobs] = context.getArgs<[unknown[], DelayedJob[]]>();
        seen.push(['guard', isDqContext(context), payloads.length, jobs.map(({ attempt }) => attempt)]);
        return true;
      }
    }
    @Injectable({ scope: Scope.REQUEST })
    class PerBatch {
      constructor(@Inject(REQUEST) readonly jobs: readonly DelayedJob[]) {}
      @UseGuards(OfDq)
      @DelayedHandler('tube', BATCH)
      run(payloads: unknown[], jobs: readonly DelayedJob[]): void {
        seen.push(['run', payloads.length, jobs === this.jobs]);
      }
    }
    const app = await start({ providers: [PerBatch] });
    for (let i = 0; i < 3; i++) await app.get(DqProducer).delay('tube', {}, '1s');
    await kit.advance('2s');
    expect(seen).toEqual([
      ['guard', true, 3, [1, 1, 1]],
      ['run', 3, true],
    ]);
  });

  it('aborts all signals if an interceptor gives up, and keeps its slot until the method returns', async () => {
    let end: () => void = () => undefined;
    let jobs: readonly DelayedJob[] = [];
    class Impatient implements NestInterceptor {
      intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
        return race(next.handle(), of('gave up').pipe(delay(0)));
      }
    }
    @Injectable()
    class Slow {
      begun = 0;
      @UseInterceptors(Impatient)
      @DelayedHandler('tube', { ...BATCH, concurrency: 1 })
      run(_payloads: unknown[], given: readonly DelayedJob[]): Promise<void> {
        this.begun++;
        jobs = given;
        return new Promise((resolve) => (end = resolve));
      }
    }
    const app = await start({ providers: [Slow] });
    for (let i = 0; i < 2; i++) await app.get(DqProducer).delay('tube', {}, '1s');
    await kit.advance('2s');
    expect(jobs.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    end();
  });

  it('of a series is refused, since that has one job', async () => {
    @Injectable()
    class Nightly {
      @Recurring('nightly', '0 3 * * *', { ...BATCH } as object)
      run(): void {}
    }
    await expect(start({ providers: [Nightly] })).rejects.toThrow(
      /DQ_CONFIG: Nightly\.run .*`batch` is \{.*\}: expected none, because a series has one job/,
    );
  });

  it('of a tube shared with go-queue is refused', async () => {
    const app = await start({});
    const Shared = defineTube('shared', { wire: 'go-queue' });
    await expect(app.get(DqConsumer).consume(Shared, () => undefined, BATCH)).rejects.toThrow(
      /DQ_BAD_OPTION: the `batch` of "shared", which go-queue uses, is \{.*\}: expected none/,
    );
  });
});
